"""What the answer to a dry-run eviction means, and whether it is the expected one.

The webhook's denials are known by their text alone: all are 429, without a reason.
"""

from __future__ import annotations

from enum import StrEnum

from ...domain.drains.departure import DrainState
from ...domain.drains.eviction import Answer
from ...store.cluster import Cluster
from ...store.kinds.kube_virt import KubeVirt
from .report import Drain, Probed, VMReport

__all__ = ["Said", "probed", "unsafe", "unsettled"]


class Said(StrEnum):
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
_BY_ANSWER = {
    Answer.MIGRATES: (Said.REQUESTS, Said.REQUESTED),
    Answer.EXTERNAL: (Said.REQUESTS, Said.REQUESTED),
    Answer.NOT_MIGRATABLE: (Said.NOT_MIGRATABLE,),
    Answer.NOT_EVALUATED: (Said.NOT_MIGRATABLE,),
    Answer.SHUTS_DOWN: (Said.PASSES,),
    Answer.PDB: (Said.PDB,),
    Answer.PDBS: (Said.PDBS,),
}
_NOTHING_SAID = frozenset({Said.FORBIDDEN, Said.GONE, Said.UNCLEAR})


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
    passes = Said.PASSES if code < 400 else Said.UNCLEAR
    said = next((each for of, part, each in _TEXTS if code == of and part in text), passes)
    expected = _expected(vm, down=down)
    contradicts = bool(expected) and said not in _NOTHING_SAID and said not in expected
    return Probed(said, f"{code} {text}".strip(), contradicts)


def _expected(vm: VMReport, *, down: bool) -> tuple[Said, ...]:
    """Empty where no answer is expected."""
    if vm.state is DrainState.UNKNOWN and not vm.reason:
        return ()
    if down:
        return (Said.WEBHOOK_DOWN,)
    if vm.reason == "OrphanLauncherPod":
        return (Said.ORPHAN,)
    return _BY_ANSWER.get(Answer(vm.answer), ()) if vm.answer else ()


def unsettled(drain: Drain) -> bool:
    """Whether a probe contradicts, or got no answer that means something."""
    probes = (vm.probe for node in drain.nodes for vm in node.vms)
    return any(each.contradicts or each.said in (Said.FORBIDDEN, Said.UNCLEAR) for each in probes if each is not None)
