"""Changes of the KubeVirt object: feature gates, its version and any setting, all of them one record as it would be.

Its configuration is kept as text, and whatever follows from it is derived anew, as if the object had been read so.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import msgspec

from ...counts.eviction_strategies import STRATEGIES
from ...domain.features.configuration import Effective, chosen, understood
from ...domain.features.gates import NEWEST, OLDEST, Gates
from ...domain.features.hco import REVERTED, way_of_gate, way_of_setting
from ...domain.features.settings import problems
from ...facts.nesting import misfit
from ...facts.versions import Version, parse
from ...store.cluster import Cluster
from ...store.kinds.kube_virt import EVEN_PARITY, KubeVirt, changed
from ...store.kinds.node import Node
from ...store.overlay import Edit
from ...store.source import UNREADABLE, Source, Undecodable
from ..nearest import nearest
from ..question import NotThereError
from .paths import Path, Tree, assigned, at, named, put, shortened, written
from .proposals import ProposedChange

# Feature gates switched on and off in a configuration, as an administrator has to do it so that it has an effect.
#
# From v1.9 on only `disabledFeatureGates` switches a Beta gate off; nothing switches off one that is GA; and beside
# some a setting decides in place of the lists.

_ENABLED: Path = ("developerConfiguration", "featureGates")
_DISABLED: Path = ("developerConfiguration", "disabledFeatureGates")

# By the gate and its state: the setting that decides, and what it is while the gate is on.
_SETTINGS: dict[tuple[str, str], tuple[Path, bool]] = {
    ("PersistentReservation", "GA"): (("persistentReservationConfiguration", "enabled"), True),
    ("CommonInstancetypesDeploymentGate", "GA"): (("commonInstancetypesDeployment", "enabled"), True),
    ("ClusterProfiler", "GA"): (("developerConfiguration", "clusterProfiler"), True),
    ("DisableMDEVConfiguration", "DEP"): (("mediatedDevicesConfiguration", "enabled"), False),
}
# Why a gate is not as its lists would have it, with what it is then.
_HELD = {
    ("AlignCPUs", False): f"without the annotation {EVEN_PARITY} of the KubeVirt object it stays off",
    ("DeclarativeHotplugVolumes", False): "while HotplugVolumes is on it stays off",
    ("Template", False): "virtTemplateDeployment.enabled is false, and keeps it off",
    ("EnableVirtioFsConfigVolumes", True): "ExperimentalVirtiofsSupport keeps it on",
    ("EnableVirtioFsStorageVolumes", True): "ExperimentalVirtiofsSupport keeps it on",
}


def refuse_unknown(gate: str, versions: Iterable[Gates]) -> None:
    """Raises ValueError for a gate that none of the versions has, with the names that are most like it."""
    known = tuple(versions)
    if any(each.known(gate) for each in known):
        return
    of = " and ".join(dict.fromkeys(f"{each.version}" for each in known))
    near = dict.fromkeys(name for each in known if (name := each.nearest(gate)))
    guess = f"; did you mean {' or '.join(near)}?" if near else ""
    raise ValueError(f"KubeVirt {of} knows no feature gate {shortened(gate)!r}; names are case-sensitive{guess}")


def switched(tree: Tree, gate: str, gates: Gates, *, on: bool) -> tuple[Tree, str]:
    """The configuration with the gate on or off, and in words what was done. `gates` are those of its version."""
    said = []
    if on:
        tree, listed = _listed(tree, _DISABLED, gate, there=False)
        said += ["removed from disabledFeatureGates"] if listed else []
    else:
        tree, listed = _listed(tree, _ENABLED, gate, there=False)
        said += ["removed from featureGates"] if listed else []
    setting = _SETTINGS.get((gate, gates.state(gate)))
    if setting is not None:
        path, value = setting[0], setting[1] is on
        if at(tree, path) is not value:
            tree = put(tree, path, value)
            said.append(f"switched {_word(on)} by {'.'.join(path)}: {str(value).lower()}")
    elif on or gates.disabling:  # before, KubeVirt reads featureGates alone
        path = _ENABLED if on else _DISABLED
        tree, added = _listed(tree, path, gate, there=True)
        said += [f"added to {path[-1]}"] if added else []
    done = " and ".join(said) if said else "unchanged"
    return tree, f"feature gate {gate} is {done}"


def _listed(tree: Tree, path: Path, gate: str, *, there: bool) -> tuple[Tree, bool]:
    """With the gate in a list or not, and whether that is another one. Raises ValueError for what is no list."""
    names = at(tree, path)
    if names is not None and not isinstance(names, list):
        raise ValueError(f"{named(path)} is no list")
    present = gate in (names or ())
    if present is there:
        return tree, False
    rest = [name for name in names or () if name != gate]
    return put(tree, path, [*rest, gate] if there else rest), True


def why_not(gate: str, before: Effective, after: Effective, *, on: bool) -> str:
    """What somebody has to know who thinks that this switches it: that it was so, or that it has no effect."""
    if after.on(gate) is on:
        return f"which changes nothing: it is {_word(on)} already" if before.on(gate) is on else ""
    if not after.gates.known(gate):
        return f"which has no effect: KubeVirt {after.version} does not have it"
    if not on and after.gates.source(gate) == "always" and (gate, "GA") not in _SETTINGS:
        return f"which has no effect: it is GA in {after.version}, and nothing switches it off"
    return f"but {_HELD.get((gate, not on), f'it stays {_word(not on)}')}"


def _word(on: bool) -> str:
    return "on" if on else "off"


# Settings that take one of a few words. Of the first the admitter of VMIs refuses each new VMI that has another one
# (vmi-create-admitter.go in pkg/virt-api/webhooks/validating-webhook/admitters), the others the API server by the CRD.
_WORDS: Mapping[Path, tuple[str, ...]] = {
    ("evictionStrategy",): STRATEGIES,
    ("instancetype", "referencePolicy"): ("reference", "expand", "expandAll"),
    ("roleAggregationStrategy",): ("AggregateToDefault", "Manual"),
    ("tlsConfiguration", "minTLSVersion"): ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13"),
    ("vmRolloutStrategy",): ("Stage", "LiveUpdate"),
}


def _refuse_no_word(before: Tree, after: Tree) -> None:
    """Raises ValueError for a setting that gets a value which is none of its words."""
    for path, words in _WORDS.items():
        value = at(after, path)
        if value not in (None, "", *words) and value != at(before, path):
            near = nearest(value, words) if isinstance(value, str) else None
            hint = f"did you mean {near}?" if near else f"it is one of {', '.join(words)}"
            raise ValueError(f"{named(path)} can't be {written(value)}; {hint}")


_UNSPECIFIC = re.compile(r"v?[0-9]{1,6}\.[0-9]{1,6}")  # a release without its patch
_MOST = 100  # gates and settings in one question: each is applied by itself
_GATES_OFF = (
    "Before you disable the feature gate, remove the feature from these VMs, all rejected fields of a VM in one edit, "
    "and restart the running VMs. Afterwards, KubeVirt rejects their start and most of their edits."
)
_GATES_ON = "Before you enable the feature gate, check that nodes offer what launcher pods will request."
_UPGRADE = (
    "Before you upgrade, add feature gates that have to stay off to disabledFeatureGates, and the feature gates that "
    "these VMs need to featureGates, or remove the features from the VMs."
)
_UPGRADE_BELOW_1_9 = (
    "Before you upgrade, add the feature gates that these VMs need to featureGates, or remove the features from the "
    "VMs."
)
_SETTING = "Before you change the setting, remove what it no longer allows from these VMs, and restart the running VMs."


@dataclass(frozen=True)
class Wish:
    """Names of gates, a version or empty text, and assignments `PATH=VALUE`."""

    disable: tuple[str, ...] = ()
    enable: tuple[str, ...] = ()
    upgrade_to: str | None = None
    settings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.disable or self.enable or self.upgrade_to is not None or self.settings)


@dataclass
class _Draft:
    """The KubeVirt object as it is made, change by change, with a sentence for each."""

    record: KubeVirt
    tree: Tree
    changes: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def gates(self) -> Gates | None:
        known = understood(self.record)
        return known.gates if isinstance(known, Effective) else None

    def upgrade(self, text: str) -> None:
        unspecific = _UNSPECIFIC.fullmatch(text) is not None
        version = parse(f"{text}.0" if unspecific else text)
        if version is None or version.between:
            raise ValueError(f"{shortened(text)!r} is no version of an upstream release; write it as 1.9 or v1.9.0")
        _refuse_unheard(version)
        before, was = self.record.upstream, parse(self.record.upstream)
        if was is not None and version < was:
            if not unspecific or version.release < was.release:
                raise ValueError(f"KubeVirt {was.tag} is running, and KubeVirt can't be downgraded to {version.tag}")
            version = was  # of that release already
        self.record = changed(self.record, version=version.tag)
        said = f"KubeVirt is upgraded from {before or 'an unknown version'} to {version.tag}"
        if was == version:
            said = f"KubeVirt stays at {version.tag}"
        if (gates := self.gates) is not None and gates.newer:
            said += ", whose feature gates are taken for those of the newest known release"
        self.changes.append(said)

    def set(self, text: str) -> None:
        path, value = assigned(text)
        before = understood(self.record)
        record, present = self.record, self.tree
        self._take(put(present, path, value))
        _refuse_no_word(present, self.tree)
        said, known = (
            f"{named(path)} is {'removed' if value is None else f'set to {written(value)}'}",
            understood(self.record),
        )
        if self.record == record:
            said += ", which changes nothing"
        elif isinstance(before, Effective):
            if isinstance(known, str):
                raise ValueError(f"{named(path)} can't be {written(value)}: {known}")
            if _unread(record, self.record, before, known):
                said += ", which no check reads"
                self.unread.append(f"no check reads {named(path)}, so that nothing can be said of what it does")
        self.changes.append(self._noted(said, way_of_setting(".".join(path)).sentence(None)))

    def switch(self, gate: str, *, on: bool) -> None:
        before = understood(self.record)
        if not isinstance(before, Effective):
            raise NotThereError(before)
        tree, said = switched(self.tree, gate, before.gates, on=on)
        self._take(tree)
        after = understood(self.record)
        more = why_not(gate, before, after, on=on) if isinstance(after, Effective) else ""
        said = f"{said}, {more}" if more else said
        self.changes.append(self._noted(said, way_of_gate(gate).sentence(on)))

    def _noted(self, said: str, way: str) -> str:
        """With where to change it, where another object is the one to be changed."""
        return f"{said} ({way} {REVERTED})" if self.record.managed_by_hco else said

    def _take(self, tree: Tree) -> None:
        try:
            self.record = changed(self.record, configuration=msgspec.json.encode(tree).decode())
        except msgspec.DecodeError as error:
            raise ValueError(f"the API server would refuse spec.configuration: {misfit(error)}") from None
        self.tree = tree


def _refuse_unheard(version: Version) -> None:
    """Raises ValueError for a release whose feature gates nobody knows."""
    if not OLDEST.release <= version.release <= NEWEST:
        first, last = (".".join(map(str, each)) for each in (OLDEST.release, NEWEST))
        raise ValueError(f"the feature gates of {version.tag} are not known; those of {first} to {last} are")


def _unread(before: KubeVirt, after: KubeVirt, was: Effective, known: Effective) -> bool:
    """Whether the text of the configuration is all that differs, and nothing that is made of it."""
    same = (known.settings, known.gates) == (was.settings, was.gates)
    return same and msgspec.structs.replace(after, configuration=before.configuration) == before


def configured(cluster: Cluster, wish: Wish) -> ProposedChange:
    """The KubeVirt object with all that is wished for: first the version, then settings, then gates.

    Raises ValueError for what can't be done, and NotThereError where there is no such object, or none can be seen.
    """
    if (number := sum(map(len, (wish.disable, wish.enable, wish.settings)))) > _MOST:
        raise ValueError(f"{number} changes of KubeVirt are asked for; there may be {_MOST} at once")
    if both := sorted({*wish.disable} & {*wish.enable}):
        raise ValueError(f"feature gate {shortened(both[0])!r} can't be enabled and disabled at once")
    record = _kubevirt(cluster)
    draft = _Draft(record, msgspec.json.decode(record.configuration or "{}"))
    present = draft.gates
    if wish.upgrade_to is not None:
        draft.upgrade(wish.upgrade_to)
    for text in wish.settings:
        draft.set(text)
    versions = [each for each in (present, draft.gates) if each is not None]
    for gate in (*wish.disable, *wish.enable):
        if versions:
            refuse_unknown(gate, versions)
        draft.switch(gate, on=gate in wish.enable)
    _refuse_invalid(draft.record)
    edits = (Edit.put(draft.record), *_without_devices(cluster, record, draft.record))
    beforehand = _beforehand(wish, disabling=draft.gates is not None and draft.gates.disabling)
    return ProposedChange(tuple(draft.changes), edits, beforehand=beforehand, unread=tuple(draft.unread))


def _without_devices(cluster: Cluster, before: KubeVirt, after: KubeVirt) -> Iterator[Edit]:
    """Nodes as they would be: virt-handler stops its device plugin of what is no longer permitted, without which
    nothing else refuses a device (updatePermittedHostDevicePlugins in pkg/virt-handler/device-manager).
    """
    was, then = understood(before), understood(after)
    if not isinstance(was, Effective) or not isinstance(then, Effective):
        return
    lost = (was.permitted_devices or frozenset()) - was.external_devices - (then.permitted_devices or frozenset())
    for node in cluster.all(Node) if lost else ():
        left = tuple(pair for pair in node.allocatable if pair[0] not in lost)
        if len(left) < len(node.allocatable):
            yield Edit.put(msgspec.structs.replace(node, allocatable=left))


def _kubevirt(cluster: Cluster) -> KubeVirt:
    source = cluster.get(Source, "", KubeVirt.KIND.name)
    if source is None or not source.readable:
        why = source.why if source is not None else "nobody looks for it"
        raise NotThereError(f"the KubeVirt object can't be seen, so the effect of the change can't be evaluated: {why}")
    undecodable = cluster.first(UNREADABLE, KubeVirt.KIND.name)
    if isinstance(undecodable, Undecodable):
        raise NotThereError(f"{undecodable.sentence}; so the effect of the change can't be evaluated")
    record = chosen(cluster.all(KubeVirt))
    if isinstance(record, str):
        raise NotThereError(f"{record}, so the effect of the change can't be evaluated")
    return record


def _refuse_invalid(record: KubeVirt) -> None:
    known = understood(record)
    if not isinstance(known, Effective):
        raise ValueError(known)
    if wrong := problems(known.settings):
        raise ValueError(
            f"spec.configuration.{wrong[0].path}: {wrong[0].why}; KubeVirt ignores such a configuration as a whole, "
            "and goes on with the last valid one"
        )


def _beforehand(wish: Wish, *, disabling: bool) -> tuple[str, ...]:
    kinds = (
        (wish.upgrade_to, _UPGRADE if disabling else _UPGRADE_BELOW_1_9),
        (wish.settings, _SETTING),
        (wish.disable, _GATES_OFF),
        (wish.enable, _GATES_ON),
    )
    return tuple(text for asked, text in kinds if asked)
