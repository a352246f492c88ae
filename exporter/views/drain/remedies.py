"""What somebody has to do about a VM that does not leave by itself: one sentence each (firmware-eviction B.12).

Commands are safe to paste: names go through a shell's quoting. None deletes what a PDB or the webhook protects
without saying what is lost, and none goes round them.
"""

from __future__ import annotations

import json
from shlex import quote

from ...model.eviction import Answer, Refusal, Verdict
from ...model.kinds.kube_virt import KubeVirt
from ...model.kinds.pod import Pod
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ...model.record import Record

__all__ = [
    "WEBHOOK",
    "cancelled",
    "evaluated",
    "handled",
    "made_room",
    "migrated",
    "of_pdb",
    "of_shutdown",
    "orphan",
    "shortened",
    "started",
    "stopped",
    "succeeded",
    "unblocked",
]

_CANCEL = (1, 7)  # the first release that serves evacuate/cancel
_SUBRESOURCES = "/apis/subresources.kubevirt.io/v1"
WEBHOOK = "bring virt-api back (kubectl get pods -A -l kubevirt.io=virt-api); do not remove its webhook"


def _of(record: Record) -> str:
    return f"{quote(record.name)} -n {quote(record.namespace)}"


def stopped(vmi: VirtualMachineInstance) -> str:
    """The way out of everything that can't migrate: its owner agrees to a shutdown."""
    if vmi.vm_uid:
        return (
            f"with its owner's consent shut it down: virtctl stop {_of(vmi)} (it stays off until it is started again)"
        )
    return f"with its owner's consent end it: kubectl delete vmi {_of(vmi)} (no VirtualMachine makes it again)"


def migrated(vmi: VirtualMachineInstance) -> str:
    return f"virtctl migrate {_of(vmi)}"


def unblocked(vmi: VirtualMachineInstance) -> str:
    return f"remove what hinders its migration, or {stopped(vmi)}"


def evaluated(vmi: VirtualMachineInstance) -> str:
    if not vmi.node or vmi.phase != "Running":
        return f"wait until it runs (kubectl get vmi {_of(vmi)}), or {stopped(vmi)}"
    return f"see whether virt-handler runs on {quote(vmi.node)}: it has not said yet whether this VM can migrate"


def of_pdb(vmi: VirtualMachineInstance, verdict: Verdict) -> str:
    names = " ".join(quote(each.name) for each in verdict.pdbs)
    edit = f"kubectl edit pdb {names} -n {quote(vmi.namespace)}"
    if verdict.answer is Answer.PDBS:
        return f"narrow their selectors so that one of them selects it: {edit}"
    if verdict.refusal is Refusal.SYNC_FAILED:
        return f"replace maxUnavailable or the percentage by a number as minAvailable: {edit}"
    if verdict.refusal is Refusal.BEHIND:
        return "wait until the PDB's controller has seen its last change; if that lasts, see kube-controller-manager"
    if verdict.refusal is Refusal.MIN_AVAILABLE_TOO_HIGH:
        return f"ask its owner to lower minAvailable: {edit}; or {stopped(vmi)}"
    if vmi.paused:
        return f"unpause it, since a paused VM is not ready: virtctl unpause vmi {_of(vmi)}; or {stopped(vmi)}"
    return f"make more of the PDB's pods ready, or ask its owner to lower it: {edit}; or {stopped(vmi)}"


def of_shutdown(vmi: VirtualMachineInstance) -> str:
    if vmi.migratable == "True":
        return f"to keep the guest running move it before the drain: {migrated(vmi)}"
    return f"tell its owner, or {stopped(vmi)}"


def cancelled(vmi: VirtualMachineInstance, *, node_exists: bool, kubevirt: KubeVirt | None) -> str:
    """For a mark for another node: a migration takes it off, and so does cancelling with the name that is marked."""
    move = f"move it, which takes the mark off: {migrated(vmi)}"
    if not node_exists or kubevirt is None or kubevirt.release < _CANCEL:
        return move
    path = f"{_SUBRESOURCES}/namespaces/{vmi.namespace}/virtualmachineinstances/{vmi.name}/evacuate/cancel"
    body = json.dumps({"evacuationNodeName": vmi.evacuation})
    return f"{move}; or cancel the mark: echo {quote(body)} | kubectl replace --raw {quote(path)} -f -"


def started(vmi: VirtualMachineInstance, *, several: bool) -> str:
    if several:
        return f"see which of its pods is left over: kubectl get pods -n {quote(vmi.namespace)} -l {_label(vmi)}"
    return f"see whether virt-controller runs (kubectl get pods -A -l kubevirt.io=virt-controller), or {migrated(vmi)}"


def _label(vmi: VirtualMachineInstance) -> str:
    return quote(f"kubevirt.io/created-by={vmi.uid}")


def succeeded(vmi: VirtualMachineInstance, rejections: tuple[str, ...]) -> str:
    """What a migration waits for, by the condition that holds it up; without one, what its failures come from."""
    if "migrationRejectedByResourceQuota" in rejections:
        return f"raise the quota for a second pod of its size: kubectl describe quota -n {quote(vmi.namespace)}"
    if "migrationBlockedByBackup" in rejections:
        return "wait until its backup has ended, or end that"
    if "migrationBlockedByUtilityVolumes" in rejections:
        return f"remove its utility volumes: kubectl get vmi {_of(vmi)} -o jsonpath='{{.spec.utilityVolumes}}'"
    events = f"kubectl events --for vmi/{quote(vmi.name)} -n {quote(vmi.namespace)}"
    return f"remove the cause of the failures ({events}); it is tried again by itself; or {stopped(vmi)}"


def made_room(vmi: VirtualMachineInstance) -> str:
    return f"make room on, or allow it on, a node that stays, or {stopped(vmi)}"


def shortened(vmi: VirtualMachineInstance) -> str:
    return f"a name of more than 63 characters can't migrate: {stopped(vmi)}"


def handled(vmi: VirtualMachineInstance) -> str:
    return f"find who answers for it, since KubeVirt does not (kubectl get vmi {_of(vmi)} -o yaml), or {stopped(vmi)}"


def orphan(pod: Pod) -> str:
    vmi = f"{quote(pod.domain)} -n {quote(pod.namespace)}"
    return f"when kubectl get vmi {vmi} answers NotFound: kubectl delete pod {_of(pod)} (a guest in it ends)"
