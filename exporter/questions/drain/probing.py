"""What the answer to a dry-run eviction means, and whether it is the expected one.

The webhook's denials are known by their text alone: all are 429, without a reason.
"""

from __future__ import annotations

from enum import StrEnum

from ...domain.drains.departure import DrainState
from ...domain.drains.eviction import EvictionAnswer
from ...store.cluster import Cluster
from ...store.kinds.kube_virt import KubeVirt
from .report import Drain, Probed, VMReport


class EvictionProbeAnswer(StrEnum):
    PASSES = "passes"  # the pod would go, and the guest with it
    REQUESTS = "requests"  # its evacuation would be requested
    REQUESTED = "requested"  # it is requested already
    NOT_MIGRATABLE = "notMigratable"
    OTHER_POD = "otherPod"  # the VM is not in this pod
    ORPHAN = "orphan"  # the webhook does not find its VMI
    PDB = "pdb"
    PDBS = "pdbs"
    WEBHOOK_DOWN = "webhookDown"
    FORBIDDEN = "forbidden"  # our ServiceAccount may not ask
    GONE = "gone"
    UNCLEAR = "unclear"


_TEXTS = (
    (429, "Evacuation in progress", EvictionProbeAnswer.REQUESTED),  # it goes on with the text of the next one
    (429, "Eviction triggered evacuation", EvictionProbeAnswer.REQUESTS),
    (429, "not live-migratable", EvictionProbeAnswer.NOT_MIGRATABLE),
    (429, "Eviction request for target Pod", EvictionProbeAnswer.OTHER_POD),
    (429, "failed getting the vmi", EvictionProbeAnswer.ORPHAN),
    (429, "disruption budget", EvictionProbeAnswer.PDB),
    (500, "more than one PodDisruptionBudget", EvictionProbeAnswer.PDBS),
    (500, "failed calling webhook", EvictionProbeAnswer.WEBHOOK_DOWN),
    (403, "", EvictionProbeAnswer.FORBIDDEN),
    (404, "", EvictionProbeAnswer.GONE),
    (409, "", EvictionProbeAnswer.GONE),  # a pod of that name is another one
)
_BY_ANSWER = {
    EvictionAnswer.MIGRATES: (EvictionProbeAnswer.REQUESTS, EvictionProbeAnswer.REQUESTED),
    EvictionAnswer.EXTERNAL: (EvictionProbeAnswer.REQUESTS, EvictionProbeAnswer.REQUESTED),
    EvictionAnswer.NOT_MIGRATABLE: (EvictionProbeAnswer.NOT_MIGRATABLE,),
    EvictionAnswer.NOT_EVALUATED: (EvictionProbeAnswer.NOT_MIGRATABLE,),
    EvictionAnswer.SHUTS_DOWN: (EvictionProbeAnswer.PASSES,),
    EvictionAnswer.PDB: (EvictionProbeAnswer.PDB,),
    EvictionAnswer.PDBS: (EvictionProbeAnswer.PDBS,),
}
_NOTHING_SAID = frozenset({EvictionProbeAnswer.FORBIDDEN, EvictionProbeAnswer.GONE, EvictionProbeAnswer.UNCLEAR})


_DRY_RUNS = (1, 4)  # since then the webhook takes every dry run for one


def unsafe(cluster: Cluster) -> str:
    """Why no probe may be sent, in one sentence; empty where they may."""
    kubevirt = next(cluster.all(KubeVirt), None)
    if kubevirt is None or kubevirt.release == (0, 0):
        return (
            "no probe is sent while KubeVirt's release is not known: before 1.4 a dry run could request an evacuation"
        )
    if kubevirt.release < _DRY_RUNS:
        return f"no probe is sent to KubeVirt {kubevirt.version}: before 1.4 a dry run could request an evacuation"
    return ""


def probed(vm: VMReport, code: int, text: str, *, down: bool) -> Probed:
    """`down` says that the webhook is known not to answer."""
    passes = EvictionProbeAnswer.PASSES if code < 400 else EvictionProbeAnswer.UNCLEAR
    said = next((each for of, part, each in _TEXTS if code == of and part in text), passes)
    expected = _expected(vm, down=down)
    contradicts = bool(expected) and said not in _NOTHING_SAID and said not in expected
    return Probed(said, f"{code} {text}".strip(), contradicts)


def _expected(vm: VMReport, *, down: bool) -> tuple[EvictionProbeAnswer, ...]:
    """Empty where no answer is expected."""
    if vm.state is DrainState.UNKNOWN and not vm.reason:
        return ()
    if down:
        return (EvictionProbeAnswer.WEBHOOK_DOWN,)
    if vm.reason == "OrphanLauncherPod":
        return (EvictionProbeAnswer.ORPHAN,)
    return _BY_ANSWER.get(EvictionAnswer(vm.answer), ()) if vm.answer else ()


def unsettled(drain: Drain) -> bool:
    """Whether a probe contradicts, or got no answer that means something."""
    probes = (vm.probe for node in drain.nodes for vm in node.vms)
    return any(
        each.contradicts or each.said in (EvictionProbeAnswer.FORBIDDEN, EvictionProbeAnswer.UNCLEAR)
        for each in probes
        if each is not None
    )
