"""Feature gates switched on and off in a configuration, as an administrator has to do it so that it has an effect.

From v1.9 on only `disabledFeatureGates` switches a Beta gate off; nothing switches off one that is GA; and beside some
a setting decides in place of the lists.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...domain.features.configuration import Effective
from ...domain.features.gates import Gates
from ...store.kinds.kube_virt import EVEN_PARITY
from .paths import Path, Tree, at, named, put, shortened

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
        said += ["taken out of disabledFeatureGates"] if listed else []
    else:
        tree, listed = _listed(tree, _ENABLED, gate, there=False)
        said += ["taken out of featureGates"] if listed else []
    setting = _SETTINGS.get((gate, gates.state(gate)))
    if setting is not None:
        path, value = setting[0], setting[1] is on
        if at(tree, path) is not value:
            tree = put(tree, path, value)
            said.append(f"switched {_word(on)} by {'.'.join(path)}: {str(value).lower()}")
    elif on or gates.disabling:  # before, KubeVirt reads featureGates alone
        path = _ENABLED if on else _DISABLED
        tree, added = _listed(tree, path, gate, there=True)
        said += [f"put into {path[-1]}"] if added else []
    done = " and ".join(said) if said else "left as it is"
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
