"""VMs with a change that waits for a restart, as KubeVirt's condition RestartRequired reports it, and what that is.

A VMI goes on with the template that it started with. What KubeVirt can't change live waits, and while it does, KubeVirt
changes nothing else live: no CPU sockets, memory, node selector, affinity or tolerations. A live migration does not
apply the change either. Which of it can be changed live is up to vmRolloutStrategy of the KubeVirt object: everything
waits unless that is LiveUpdate.

Most of what a restart does beside that has findings of its own: SpecRunMismatch for a new identity, WillFailAtRestart
and StartBlocked for features that are refused, those of instancetype_vms for ControllerRevisions that are lost or of
another object, and feature_nodes where no node takes the VM. A VM that has one of these is not to be restarted before.

KubeVirt compares the template with that of the VM's start, and not with the VMI, which has the defaults too: a value
that it filled in then, and that somebody has written into the template since, counts as a change
(kubevirt/kubevirt#17610).

Not seen here: fields that no record has, such as the buses of disks; then KubeVirt's message is all that is known.
KubeVirt writes no second message while the condition stands, so it can be that of an earlier change.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.features.restarts import UUID, by_template, by_uuid, keeps_it, waiting
from ...domain.identity import owned
from ...facts.naming import listed, named
from ...findings.check import PER_VM, Check, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance


def find(view: View) -> Iterator[Finding]:
    vm = next(iter(view.all(VirtualMachine)), None)
    vmi = next(iter(view.all(VirtualMachineInstance)), None)
    own = owned(vmi, vm) if vm is not None else None
    if vm is None or own is None or not vm.restart_required or vm.deleting is not None or own.deleting is not None:
        return
    kubevirt = min(view.all(KubeVirt), key=lambda each: each.ref, default=None)
    if kubevirt is not None and by_uuid(vm, own, kubevirt):
        said = _TEXTS.message("RestartReportedOfUUID", version=kubevirt.upstream)
        yield _finding("RestartReportedOfUUID", vm, own, said, {})
        return
    differs = waiting(vm, own)
    changed = bool(differs) or not by_template(vm)
    reason = "ChangeWaitsForRestart" if changed else "RestartReportedOfNothing"
    variant = "identity" if UUID in differs else "differs" if differs else ""
    said = _TEXTS.message(reason, variant, reported=vm.restart_required, compared=_COMPARED, differs=named(differs))
    if kubevirt is not None and keeps_it(kubevirt):
        said += f" {_TEXTS.message(reason, 'kept', version=kubevirt.upstream)}"
    yield _finding(reason, vm, own, said, listed("differs", differs) if differs else {})


_TEXTS = Texts("restart_required")
_COMPARED = "networks, firmware, features, CPU, memory, machine type and PVCs"


def _finding(
    reason: str, vm: VirtualMachine, vmi: VirtualMachineInstance, message: str, evidence: dict[str, object]
) -> Finding:
    return Finding(
        reason=reason,
        severity=Severity.INFO,
        subject=vm.ref,
        related=(vmi.ref,),
        message=message,
        since=vm.restart_since,
        since_source=Since.CONDITION if vm.restart_since is not None else Since.FIRST_SEEN,
        evidence={"reported": vm.restart_required, **evidence},
    )


CHECK = Check(
    id="restart_required",
    title="VMs with a change that waits for a restart",
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND, KubeVirt.KIND),
    scope=PER_VM,
    reasons=reasons_of("restart_required"),
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND, KubeVirt.KIND),
    requires=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
)
