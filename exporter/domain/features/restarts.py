"""What of a VM waits for its restart, and what KubeVirt's condition RestartRequired is worth.

`syncRestartRequired` in pkg/virt-controller/watch/vm of kubevirt/kubevirt compares the VM's template with the one that
its VMI started with, but for what is changed live; hotplugs that can't be done set the condition too.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.firmware import legacy
from ...facts.spec_facts import TOPOLOGY
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ..identity import next_boot

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
