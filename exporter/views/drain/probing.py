"""What a dry-run eviction's answer means, and whether it fits what was worked out (verified 6; firmware-eviction B.2).

The webhook's denials are known by their text alone: all are 429, without a reason.
"""

from __future__ import annotations

from enum import StrEnum

from ...model.cluster import Cluster
from ...model.kinds.kube_virt import KubeVirt
from .report import Drain, Outcome, Probed, Reason, VMReport

__all__ = ["Said", "probed", "unsafe", "unsettled"]


class Said(StrEnum):
    PASSES = "passes"  # the pod would go, and the guest with it
    REQUESTS = "marks"  # it would be marked, to be moved
    REQUESTED = "requested"  # it is marked already
    NOT_MIGRATABLE = "notMigratable"
    OTHER_POD = "otherPod"  # the VM is not in this pod
    ORPHAN = "orphan"  # the webhook does not find its VMI
    PDB = "pdb"
    PDBS = "budgets"
    WEBHOOK_DOWN = "webhookDown"
    FORBIDDEN = "forbidden"  # our account may not ask
    GONE = "gone"
    UNCLEAR = "unclear"


_TEXTS = (
    (429, "Evacuation in progress", Said.REQUESTED),  # it goes on with the text of the next one
    (429, "Eviction triggered evacuation", Said.REQUESTS),
    (429, "not live-migratable", Said.NOT_MIGRATABLE),
    (429, "Eviction request for target Pod", Said.OTHER_POD),
    (429, "failed getting the vmi", Said.ORPHAN),
    (429, "disruption budget", Said.PDB),
    (500, "more than one PodDisruptionBudget", Said.PDBS),
    (500, "failed calling webhook", Said.WEBHOOK_DOWN),
    (403, "", Said.FORBIDDEN),
    (404, "", Said.GONE),
    (409, "", Said.GONE),  # a pod of that name is another one
)
_MARKS = frozenset({Said.REQUESTS, Said.REQUESTED})
_BY_REASON = {
    Reason.NOT_MIGRATABLE: frozenset({Said.NOT_MIGRATABLE}),
    Reason.NOT_EVALUATED: frozenset({Said.NOT_MIGRATABLE}),
    Reason.USER_PDB: frozenset({Said.PDB}),
    Reason.MULTIPLE_PDB: frozenset({Said.PDBS}),
    Reason.ORPHAN_LAUNCHER_POD: frozenset({Said.ORPHAN}),
}
_NOTHING_SAID = frozenset({Said.FORBIDDEN, Said.GONE, Said.UNCLEAR})


_DRY_RUNS = (1, 4)  # since then the webhook takes every dry run for one (B.2)


def unsafe(cluster: Cluster) -> str:
    """Why no probe may be sent, in one sentence; empty where they may."""
    kubevirt = next(cluster.all(KubeVirt), None)
    if kubevirt is None or kubevirt.release == (0, 0):
        return "no probe is sent while KubeVirt's release is not known: before 1.4 a dry run could mark a VM"
    if kubevirt.release < _DRY_RUNS:
        return f"no probe is sent to KubeVirt {kubevirt.version}: before 1.4 a dry run could mark a VM"
    return ""


def probed(vm: VMReport, code: int, text: str, *, down: bool) -> Probed:
    """`down` says that the webhook is known not to answer."""
    passes = Said.PASSES if code < 400 else Said.UNCLEAR
    said = next((each for of, part, each in _TEXTS if code == of and part in text), passes)
    expected = _expected(vm, down=down)
    contradicts = bool(expected) and said not in _NOTHING_SAID and said not in expected
    return Probed(said, f"{code} {text}".strip(), contradicts)


def _expected(vm: VMReport, *, down: bool) -> frozenset[Said]:
    """Empty where nothing was worked out."""
    if vm.outcome is Outcome.UNKNOWN:
        return frozenset()
    if down:
        return frozenset({Said.WEBHOOK_DOWN})
    if vm.outcome is Outcome.SHUTS_DOWN:
        return frozenset({Said.PASSES})
    return _BY_REASON.get(Reason(vm.reason), _MARKS) if vm.reason else _MARKS


def unsettled(drain: Drain) -> bool:
    """Whether a probe contradicts, or got no answer that says something."""
    probes = (vm.probe for node in drain.nodes for vm in node.vms)
    return any(each.contradicts or each.said in (Said.FORBIDDEN, Said.UNCLEAR) for each in probes if each is not None)
