"""Changes of the KubeVirt object: feature gates, its version and any setting, all of them one record as it would be.

Its configuration is kept as text, and whatever follows from it is derived anew, as if the object had been read so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from ...domain.features.configuration import Effective, chosen, understood
from ...domain.features.gates import NEWEST, Gates
from ...domain.features.hco import REVERTED, way_of_gate, way_of_setting
from ...domain.features.releases import OLDEST
from ...domain.features.settings import problems
from ...domain.features.versions import Version, parse
from ...store.cluster import Cluster
from ...store.kinds.kube_virt import KubeVirt, changed
from ...store.kinds.node import Node
from ...store.overlay import Edit
from ...store.source import UNREADABLE, Source, Undecodable
from ...store.text.misfits import misfit
from .gate_changes import refuse_unknown, switched, why_not
from .paths import Tree, assigned, named, put, shortened, written
from .proposals import NoSuchObjectError, ProposedChange

_UNSPECIFIC = re.compile(r"v?[0-9]{1,6}\.[0-9]{1,6}")  # a release without its patch
_MOST = 100  # gates and settings in one question: each is applied by itself
_GATES_OFF = (
    "Before you switch it off, take the feature out of these VMs, all that is refused in one edit of each, and restart "
    "those that run: afterwards KubeVirt refuses to start them, and most of their edits."
)
_GATES_ON = "Before you switch it on, see that nodes offer what launcher pods will ask them for."
_UPGRADE = (
    "Before you upgrade, put gates that have to stay off into disabledFeatureGates and those that these VMs need into "
    "featureGates, or take the features out of the VMs."
)
_UPGRADE_BELOW_1_9 = (
    "Before you upgrade, put gates that these VMs need into featureGates, or take the features out of the VMs."
)
_SETTING = "Before you set it, take what it no longer allows out of these VMs, and restart those that run."


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
        record = self.record
        self._take(put(self.tree, path, value))
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
            raise NoSuchObjectError(before)
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

    Raises ValueError for what can't be done, and NoSuchObjectError where there is no such object, or none can be seen.
    """
    if (number := sum(map(len, (wish.disable, wish.enable, wish.settings)))) > _MOST:
        raise ValueError(f"{number} changes of KubeVirt are asked for; there may be {_MOST} at once")
    if both := sorted({*wish.disable} & {*wish.enable}):
        raise ValueError(f"feature gate {shortened(both[0])!r} can't be switched on and off at once")
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
        raise NoSuchObjectError(f"the KubeVirt object can't be seen, so nobody can say what changing it does: {why}")
    undecodable = cluster.first(UNREADABLE, KubeVirt.KIND.name)
    if isinstance(undecodable, Undecodable):
        raise NoSuchObjectError(f"{undecodable.sentence}; so nobody can say what changing it does")
    record = chosen(cluster.all(KubeVirt))
    if isinstance(record, str):
        raise NoSuchObjectError(f"{record}, so nobody can say what a change does")
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
