"""Where a feature is allowed: in KubeVirt, or in what owns it. Whether it is concerns the whole cluster."""

from __future__ import annotations

from functools import lru_cache

from ....domain.features.configuration import Effective
from ....domain.features.hco import REVERTED, way_of_gate, way_of_setting
from ....domain.features.rule import Rule
from .reasons import OR_ALLOWED

_SETTINGS = {"PersistentReservation": "persistentReservationConfiguration.enabled"}  # once the gate is GA
_CLAIMS = "virt-controller restarts then."
_RESTARTS = {
    "PersistentReservation": "virt-handler restarts then, on every node.",
    **dict.fromkeys(("GPUsWithDRA", "HostDevicesWithDRA", "NetworkDevicesWithDRA"), _CLAIMS),
}
_LEFT = "A PVC that KubeVirt has made of the missing StorageClass has to be deleted first."


@lru_cache(1024)
def next_step(advice: str, rule: Rule, known: Effective, by_hco: bool) -> str:
    """The advice with where the feature can be allowed; empty for an advice to which that does not matter."""
    if OR_ALLOWED not in advice:
        return ""
    if way := _way(rule, known, by_hco):
        return f"{advice} {way}"
    return f"{advice.replace(OR_ALLOWED, '')} KubeVirt {known.version} has no way to allow it."


def _way(rule: Rule, known: Effective, by_hco: bool) -> str:
    """Where what is not allowed now can be allowed, and what happens then; empty where nothing does that."""
    if rule.gate and not (known.gates if rule.plain else known).on(rule.gate):
        return _gate(rule.gate, known, by_hco)
    if not rule.decides:
        return ""
    if by_hco:
        way = f"{' '.join(dict.fromkeys(map(_sentence, rule.decides)))} {REVERTED}"
    else:
        *others, last = rule.decides
        way = f"In KubeVirt {', '.join(others)} and {last} decide it." if others else f"In KubeVirt {last} decides it."
    return f"{way} {_LEFT}" if rule.storage and known.state_storage_class else way


def _sentence(decides: str) -> str:
    """Names of gates begin with a capital, paths of settings do not."""
    return (way_of_gate if decides[0].isupper() else way_of_setting)(decides).sentence(None)


def _gate(gate: str, known: Effective, by_hco: bool) -> str:
    gates, then = known.gates, _RESTARTS.get(gate, "")
    if gates.state(gate) in ("-", "DISC"):
        return ""
    if by_hco:
        way = f"{way_of_gate(gate).sentence(True)} {REVERTED}"
    elif gates.state(gate) == "GA":
        way = f"In KubeVirt {_SETTINGS[gate]} decides it." if gate in _SETTINGS else ""
    elif gates.source(gate) == "disabled":
        way = f"To allow it, remove {gate} from disabledFeatureGates of KubeVirt."
    else:
        way = f"To allow it, add {gate} to featureGates of KubeVirt."
    return f"{way} {then}" if way and then else way
