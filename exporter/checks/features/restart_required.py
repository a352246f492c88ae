"""VMs with a change that waits for a restart, as KubeVirt's condition RestartRequired reports it, and what that is.

A VMI goes on with the template that it started with. What KubeVirt can't change live waits, and while it does, KubeVirt
changes nothing else live: no CPU sockets, memory, node selector, affinity or tolerations. A live migration does not
apply the change either. Which of it can be changed live is up to vmRolloutStrategy of the KubeVirt object: everything
waits unless that is LiveUpdate, which is the default from 1.6 on (pkg/virt-config/virt-config.go).

Most of what a restart does beside that has findings of its own: SpecRunMismatch for a new identity, WillFailAtRestart
and StartBlocked for features that are refused, those of instancetype_vms for ControllerRevisions that are lost or of
another object, and feature_nodes where no node takes the VM. A VM that has one of these is not to be restarted before.

KubeVirt compares the template with that of the VM's start, and not with the VMI, which has the defaults too: a value
that it filled in then, and that somebody has written into the template since, counts as a change
(kubevirt/kubevirt#17610).

Not seen here: fields that no record has, such as the buses of disks; then KubeVirt's message is all that is known.
KubeVirt writes no second message while the condition stands, so it can be that of an earlier change.

`syncRestartRequired` in pkg/virt-controller/watch/vm of kubevirt/kubevirt sets the condition. It leaves out
the fields that are changed live. A hotplug that fails sets it too.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.identity import next_boot, owned
from ...facts.firmware import legacy
from ...facts.naming import listed, named
from ...facts.spec_facts import TOPOLOGY
from ...findings.check import PER_VM, Check, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance

UUID = "firmware UUID"

_OF_TEMPLATE = "a non-live-updatable field was changed in the template spec"
# Features whose fields KubeVirt gives to the VMI as the template has them, and changes in no running VMI.
_AS_WRITTEN = {"vsock", "gpu", "host_devices", "downward_metrics", "host_disk", "persistent_reservation", "sev", "tdx"}
_ADDED = "default"  # the pod network, which KubeVirt adds to the VMI


def waiting(vm: VirtualMachine, vmi: VirtualMachineInstance) -> tuple[str, ...]:
    """What the VM's template has otherwise than its VMI, as far as records say; there may be more.

    What an instancetype, a preference or a preset may have given to the VMI is left out.
    """
    return tuple(_waiting(vm, vmi))


def _waiting(vm: VirtualMachine, vmi: VirtualMachineInstance) -> Iterator[str]:
    if vmi.identity and next_boot(vm) not in ("", vmi.identity):
        yield UUID
    if vm.serial and vmi.serial and vm.serial != vmi.serial:
        yield "firmware serial"
    given = vm.preference is not None or vmi.presets
    if not given and vm.sealed != vmi.sealed:
        yield "persistent state of TPM or EFI"
    mine, its = ({name: nad for name, nad, _ in each.networks} for each in (vm, vmi))
    for name in sorted(mine.keys() | its.keys()):
        if mine.get(name) != its.get(name) and (name != _ADDED or not given):
            yield f"network {name}"
    asks, runs_with = ({rule for rule, _ in each.asks} & _AS_WRITTEN for each in (vm, vmi))
    gone = runs_with - asks if not given and vm.instancetype is None else set()
    for rule in sorted((asks - runs_with) | gone):
        yield f"feature {rule}"
    runs_on = dict(vmi.hardware)
    spread = vm.preference is not None  # which may share CPUs out otherwise
    for field, value in vm.hardware:
        if runs_on.get(field) != value and not (spread and field in TOPOLOGY):
            yield field
    yield from (f"PVC {name}" for name in vm.pvcs if name not in vmi.pvcs)


def keeps_it(kubevirt: KubeVirt) -> bool:
    """Whether this release keeps the condition until a restart, be the change taken back (before #16329 and #16606)."""
    patch, release = kubevirt.patch, kubevirt.release
    if release == (0, 0) or release > (1, 7):
        return False
    return release < (1, 6) or (0, 0, 0) < patch < (1, 6, 4) or (1, 7, 0) <= patch < (1, 7, 1)


def by_template(vm: VirtualMachine) -> bool:
    """Whether KubeVirt reports a change of the VM's own template, and not of an instancetype or preference, which may
    have changed instead, or of a hotplug.
    """
    return vm.restart_required == _OF_TEMPLATE and vm.instancetype is None and vm.preference is None


def by_uuid(vm: VirtualMachine, vmi: VirtualMachineInstance, kubevirt: KubeVirt) -> bool:
    """Whether all that changed may be the firmware UUID which KubeVirt itself wrote into the spec of a running VM:
    1.6.0 to 1.6.3 and 1.7.0 report that (kubevirt/kubevirt#16329).
    """
    writes = kubevirt.release >= (1, 6) and keeps_it(kubevirt)
    derived = legacy(vm.name)
    return (
        writes
        and vm.restart_required == _OF_TEMPLATE
        and vm.identity == vmi.identity == derived
        and not waiting(vm, vmi)
    )


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
