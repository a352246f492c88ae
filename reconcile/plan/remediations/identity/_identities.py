"""The firmware in a VM's template: how it is changed, and what forbids that.

KubeVirt's own synchronizer (pkg/virt-controller/watch/vm/firmware.go) changes it in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from exporter.domain.instancetypes.resolving import resolve, undecodable
from exporter.facts.matching import MatcherRole
from exporter.facts.record import Ref
from exporter.facts.specs import preference
from exporter.findings.finding import Finding
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.instancetypes import CLUSTER_PREFERENCE, PREFERENCE
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.pod import Pod
from exporter.store.kinds.snapshots import VirtualMachineSnapshotContent
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

from ...annotations import PREFIX
from ...guards import Needs, guard, refused
from ...plan import Add, Op, Patch, Plan, Refused, Risk, Test
from ...remediation import Remediation, Scene
from ...writes import Entries, Field, Patched, Write
from .._grounds import controller, ending, table, tables, under_way

PATH = "/spec/template/spec/domain/firmware"
IS_A_VM = Needs({"is_a_vm": "the subject is a VM: the firmware of a VMI is immutable"})
"""What `vm_of` refuses for a finding that may be of a VMI."""


class IdentityCase(NamedTuple):
    """A VM that is to be changed, as it is read and as it is stored, and the evidence of the finding, if one asks."""

    scene: Scene
    vm: VirtualMachine
    whole: Mapping[str, Any]
    evidence: Mapping[str, Any] = MappingProxyType({})


def vm_of(scene: Scene, ref: Ref, evidence: Mapping[str, Any] = MappingProxyType({})) -> IdentityCase | Refused:
    """Else why there is none to change."""
    if ref.kind != "VirtualMachine":
        return Refused("is_a_vm", f"{ref} has no VM, and firmware and interfaces of a VMI can't be changed")
    whole, vm = scene.of(ref), scene.named(VirtualMachine, ref.namespace, ref.name)
    if whole is None or vm is None:
        return Refused("same_object", f"{ref} does not exist")
    return IdentityCase(scene, vm, whole, evidence)


def firmware_of(vm: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What a VM's template says of the firmware; None where it says nothing."""
    found = _domain(vm).get("firmware")
    return None if found is None else table(found)


def put(firmware: Mapping[str, Any] | None, fields: Mapping[str, Any]) -> tuple[Op, ...]:
    """Sets fields of the firmware, where it still is what it was; its other fields stay."""
    if firmware is None:
        return (Add(path=PATH, value=dict(fields)),)
    return (Test(path=PATH, value=firmware), *(Add(path=f"{PATH}/{name}", value=fields[name]) for name in fields))


@guard(
    {
        "stands_alone": "no pool or other controller makes the VM from a template, which would have to change instead",
        "has_domain": "the VM has a template with a domain",
    },
    ending,
    under_way,
    {"not_migrating": "no migration of the VM is in progress, and none is awaited"},
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND, VirtualMachineInstanceMigration.KIND),
)
def forbidden(case: IdentityCase) -> Refused | None:
    """Why nobody may change the VM's firmware now, whatever it would be changed to."""
    scene, vm, whole, _ = case
    owner = controller(whole)
    if owner:
        return Refused("stands_alone", f"{vm.ref} is made by {owner}: change the firmware in its template")
    if not _domain(whole):
        return Refused("has_domain", f"{vm.ref} has no template with a domain")
    if refused := ending(scene, vm.ref, whole):
        return refused
    if refused := under_way(scene, vm.namespace, (vm.name,)):
        return refused
    if moving := next(_moving(scene, vm), ""):
        return Refused("not_migrating", f"{vm.ref} {moving}")
    return None


def _domain(vm: Mapping[str, Any]) -> Mapping[str, Any]:
    template = table(table(vm.get("spec")).get("template"))
    return table(table(template.get("spec")).get("domain"))


def _moving(scene: Scene, vm: VirtualMachine) -> Iterator[str]:
    vmi = scene.named(VirtualMachineInstance, vm.namespace, vm.name)
    if vm.run_strategy == "WaitAsReceiver" or (vmi is not None and vmi.phase == "WaitingForSync"):
        yield "awaits a VMI that migrates to it, with the UUID that this has"
    if vmi is not None and vmi.migrating:
        yield "has a VMI that is migrating"
    for each in scene.within(VirtualMachineInstanceMigration, vm.namespace):
        if each.vmi == vm.name and not each.finished:
            yield f"has a VMI of which migration {each.name} has not finished"


# Whether a VM keeps state of its guest that is bound to its UUID: libvirt stores it under that.


@guard(
    {"keeps_no_state": "neither its spec nor its preference gives it a persistent TPM or persistent EFI variables"},
    reads=(ControllerRevision.KIND, PREFERENCE, CLUSTER_PREFERENCE, KubeVirt.KIND),
)
def kept_state(case: IdentityCase) -> Refused | None:
    """Refuses for a VM that keeps state of its guest, or may do so by a preference."""
    scene, vm, *_ = case
    if vm.sealed:
        return Refused("keeps_no_state", f"{vm.ref} has a {vm.sealed}")
    found = resolve(vm, MatcherRole.PREFERENCE, scene.named, next(iter(scene.all(KubeVirt)), None))
    if found is None:
        return None
    broken = undecodable(found.revision, MatcherRole.PREFERENCE, (0, 0)) if found.revision is not None else ""
    if found.spec is None or broken:
        return Refused("keeps_no_state", f"the preference of {vm.ref}, which might give it a TPM, can't be read")
    for text in (found.spec, found.live.spec if found.live is not None else ""):
        wanted = preference(text)
        tpm, efi = wanted.devices and wanted.devices.preferred_tpm, wanted.firmware and wanted.firmware.preferred_efi
        if (tpm and tpm.persistent) or (efi and efi.persistent):
            return Refused("keeps_no_state", f"the preference of {vm.ref} gives it a persistent TPM or persistent EFI")
    return None


# Whether a VM is off and stays off: what its guest is known by may change only then.

_STAYS_DOWN = ("Halted", "Manual")


@guard(
    {"stopped": "the VM has no VMI and no launcher pod, and nothing starts it by itself"},
    reads=(VirtualMachineInstance.KIND, Pod.KIND),
)
def stopped(case: IdentityCase) -> Refused | None:
    """Refuses unless nothing of the VM runs, and nothing starts it by itself."""
    scene, vm, whole, _ = case
    vmi = scene.named(VirtualMachineInstance, vm.namespace, vm.name)
    if vmi is not None:
        return Refused("stopped", f"{vmi.ref} exists, in phase {vmi.phase or 'unknown'}: stop the VM first")
    launchers = [each.ref for each in scene.within(Pod, vm.namespace) if each.domain == vm.name]
    if launchers:
        return Refused("stopped", f"{launchers[0]} still runs, or might run, the guest of {vm.ref}")
    if vm.invalid or vm.run_strategy not in _STAYS_DOWN:
        strategy = vm.invalid or f"its run strategy is {vm.run_strategy or 'not set'}"
        return Refused("stopped", f"{vm.ref} can start at any moment: {strategy}")
    if tables(table(whole.get("status")).get("stateChangeRequests")):
        return Refused("stopped", f"{vm.ref} has a pending request to start or stop")
    return None


# Whether a VM is the copy of one that keeps what both share, so that the copy may get another value.
#
# The check says who is a copy, most likely, and who keeps the value. For a write that is not enough: a
# VirtualMachineClone names a VM that may have been deleted and made anew since, and whoever restores from a backup into
# an empty namespace brings back the VM that was there first.

ALLOWED = f"{PREFIX}copy-change-allowed"


@guard(
    {
        "is_a_vm": "the subject is a VM: the spec of a VMI is immutable",
        "keeper_known": "the check says that the VM is a copy, and which VM keeps what both have",
        "surely_the_copy": "the VM was cloned, or restored from a snapshot, in the namespace of the VM that keeps it "
        f'and after that was created, or has the annotation {ALLOWED}: "true"',
    },
    reads=(VirtualMachine.KIND,),
)
def not_the_copy(case: IdentityCase) -> Refused | None:
    """Refuses unless the VM is the copy."""
    scene, vm, whole, evidence = case
    key = str(evidence.get("keeper") or "")
    if not evidence.get("copy") or not key:
        why = "no VM is known to be the copy" if not evidence.get("copy") else "all that share it are copies"
        return Refused("keeper_known", f"{vm.ref} is left as it is: {why}")
    if table(table(whole.get("metadata")).get("annotations")).get(ALLOWED) == "true":
        return None
    if why := _unsure(scene, vm, key):
        allow = f'If its owner agrees to the change, set annotation {ALLOWED}: "true" on {vm.ref}'
        return Refused("surely_the_copy", f"{why}. {allow}")
    return None


def _unsure(scene: Scene, vm: VirtualMachine, key: str) -> str:
    namespace, _, name = key.partition("/")
    if namespace != vm.namespace:
        return f"{key}, which should keep it, is in another namespace"
    if vm.origin != "restore":
        return f"{vm.ref} has no annotation of a clone or of a snapshot's restore"
    keeper = scene.named(VirtualMachine, namespace, name)
    if keeper is None or keeper.created is None or vm.created is None or keeper.created >= vm.created:
        return f"no VM {key} that is older than {vm.ref} is there"
    return ""


# How a stopped VM gets another value of what its guest is known by: a UUID, a serial, a MAC address.


def change(
    name: str,
    title: str,
    *guards: Needs,
    what: str,
    old: Callable[[IdentityCase], str],
    ops: Callable[[IdentityCase], tuple[Op, ...]],
    writes: tuple[Field | Entries, ...],
    effect: Callable[[IdentityCase], str],
    heeds_others: str = "",
    note: str,
) -> Remediation:
    """`what` is the value in words, `old` the present one, and `ops` set the new one, once all guards hold."""

    @guard(*guards, saved)
    def plan(finding: Finding, scene: Scene) -> Plan | Refused:
        case = vm_of(scene, finding.subject, finding.evidence)
        if isinstance(case, Refused):
            return case
        return refused(guards, case) or made.planned(
            finding,
            Patch(target=finding.subject, ops=ops(case)),
            effect=effect(case) + saved(case, what),
            risk=Risk.IDENTITY,
            undo=f"put the old {what} {old(case)} back while the VM is stopped",
        )

    plan.__module__ = old.__module__  # whose docstring is the manual
    made = Remediation(
        id=name,
        title=title,
        writes=(Write("kubevirt.io", "virtualmachines", ("patch",), (Patched(*writes),)),),
        plan=plan,
        heeds_others=heeds_others,
        note=note,
        risk=Risk.IDENTITY,
        undo=f"put the old {what} back; exact while the VM has not been started since",
    )
    return made


def firmware_set(name: str, new: Callable[[IdentityCase], str]) -> Callable[[IdentityCase], tuple[Op, ...]]:
    return lambda case: put(firmware_of(case.whole), {name: new(case)})


@guard(reads=(VirtualMachineSnapshotContent.KIND,))
def saved(case: IdentityCase, what: str) -> str:
    """That a restore brings back what a snapshot has, as a sentence that goes on after another; empty without one."""
    found = case.scene.within(VirtualMachineSnapshotContent, case.vm.namespace)
    names = sorted(each.snapshot or each.name for each in found if each.source == case.vm.name)
    return f" Restoring snapshot {names[0]} brings the {what} of its time back." if names else ""
