"""Writes the firmware UUID that a VM has in use into its spec, so that no restart or upgrade changes it.

That is the UUID of its VMI, or without one the UUID that KubeVirt derives from its name; virt-controller from 1.6 on
writes the same. Where the spec has lost or changed what the VMI runs with, it gets back the UUID, and where they are
missing the serial and the bootloader that it had at the start. The guest sees no difference. A kernel to boot and ACPI
tables are never put back: KubeVirt adds neither, so a person took them out.

A UUID that was changed while the VM runs may be meant: it is not taken back where an applied manifest sets it, nor
where another VM has the one that runs, nor where managedFields show that somebody wrote it since the VMI was created,
or do not show who did. virt-controller means nothing by the UUID that it derives from the name, where it finds none.

Undo: put the old firmware back, as the ledger has it. Where it had no UUID KubeVirt from 1.6 on writes one again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from exporter.domain.drains.departure.vmi import text
from exporter.domain.identity import IDENTITY, next_boot
from exporter.facts.firmware import comparable, invalid, legacy
from exporter.facts.record import epoch
from exporter.findings.finding import Finding
from exporter.store.kinds import snapshots
from exporter.store.kinds.controller_revision import ControllerRevision
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.snapshots import VirtualMachineRestore
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...guards import guard
from ...managed_fields import writers
from ...patterns import ANYTHING, BLANK, EMPTY, PRESENT, Both, Exactly
from ...plan import Patch, Plan, Refused, Risk
from ...remediation import Remediation, Scene
from ...undo import UndoRequest
from ...writes import Field, Patched, Write
from .._grounds import table, wholes
from ._identities import PATH, IdentityCase, firmware_of, forbidden, put, vm_of
from ._taken_back import uuid_back

_SETTLED = 3600.0  # seconds in which whoever restored a VM may still write the UUID that it had
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_UNSEEN = 60.0  # seconds before the VMI was created in which virt-controller may not have seen a write of the VM
_CONTROLLER = "virt-controller"


@guard(
    forbidden,
    {
        "vmi_is_its_own": "a VMI of the VM's name belongs to the VM",
        "uuid_identifies": "the UUID in use is a valid one, and no placeholder",
        "restored_long_ago": "no restore of the VM ended within the last hour",
        "set_by_no_manifest": "the manifest that was applied for the VM does not set the UUID that its spec has",
        "shared_with_none": "no other VM has the UUID that replaces another one in the spec",
        "not_edited_since_start": "by managedFields the UUID that is replaced in the spec was written before the VMI "
        "was created, or by virt-controller, which derived it from the name",
    },
    reads=(KubeVirt.KIND, ControllerRevision.KIND),
    indexes=(IDENTITY,),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref, case = finding.subject, vm_of(scene, finding.subject)
    if isinstance(case, Refused):
        return case
    _, vm, whole, _ = case
    vmi = scene.named(VirtualMachineInstance, ref.namespace, ref.name)
    uuid = (vmi.uuid if vmi is not None else "") or legacy(vm.name)
    refused = forbidden(case) or _unclear(scene, vm, vmi, uuid) or _meant(scene, vm, whole, uuid)
    if refused is None and vmi is not None and vm.uuid.strip():
        refused = _edited(vm, whole, vmi)
    if refused is not None:
        return refused
    old, started = firmware_of(whole), _started(scene, vmi)
    fields = {"uuid": uuid} | (
        _lost(scene, old or {}, vmi, started) if vmi and comparable(uuid) != next_boot(vm) else {}
    )
    return REMEDIATION.planned(
        finding,
        Patch(target=ref, ops=put(old, fields)),
        effect=_effect(scene, vmi, as_started=started == {**(old or {}), **fields}),
        undo="restore the earlier firmware of the spec, which the ledger keeps; if that has no UUID, KubeVirt 1.6 and "
        "later writes a UUID derived from the VM's name",
    )


def _unclear(scene: Scene, vm: VirtualMachine, vmi: VirtualMachineInstance | None, uuid: str) -> Refused | None:
    """Refuses where it can't be said which UUID the VM should have."""
    if vmi is not None and vmi.vm_uid != vm.uid:
        return Refused("vmi_is_its_own", f"{vmi.ref} has the VM's name and does not belong to it")
    if cause := invalid(uuid):
        return Refused("uuid_identifies", f"the UUID that {vm.ref} runs with is {cause.value.lower()}")
    restores = (each for each in scene.within(VirtualMachineRestore, vm.namespace) if each.target == vm.name)
    for restore in wholes(scene, snapshots.RESTORE, restores):
        if scene.now - _restored(restore, scene.now) < _SETTLED:
            why = f"{vm.ref} was restored within the hour: the restore might still write its earlier UUID"
            return Refused("restored_long_ago", why)
    return None


def _restored(restore: Mapping[str, Any], now: float) -> float:
    """When, in seconds since 1970; now where nothing says when."""
    text = table(restore.get("status")).get("restoreTime") or table(restore.get("metadata")).get("creationTimestamp")
    try:
        return epoch(text if isinstance(text, str) else None) or now
    except ValueError:
        return now


def _meant(scene: Scene, vm: VirtualMachine, whole: Mapping[str, Any], uuid: str) -> Refused | None:
    """Refuses where somebody wants the other UUID that is in the spec, or may want it."""
    if not vm.identity:
        return None
    notes = table(table(whole.get("metadata")).get("annotations"))
    if vm.uuid in str(notes.get(_APPLIED)):
        return Refused("set_by_no_manifest", f"the manifest that was applied for {vm.ref} sets the UUID in its spec")
    others = {each.ref.path for each in scene.sharing(IDENTITY, comparable(uuid))} - {vm.ref.path}
    if others:
        why = f"{min(others)} has the UUID that {vm.ref} runs with. The UUID in the spec might be the fix for that"
        return Refused("shared_with_none", why)
    return None


def _edited(vm: VirtualMachine, whole: Mapping[str, Any], vmi: VirtualMachineInstance) -> Refused | None:
    """Refuses unless the UUID in the spec is older than the VMI, or is what virt-controller derived from the name.

    A time in managedFields is of the manager's last write of any field. So one that is earlier proves that this field
    was not written since; one that is later proves nothing, and the VM may have been edited.
    """
    found = writers(whole, f"{PATH}/uuid")
    if not found:
        why = f"managedFields do not say who wrote the UUID in the spec of {vm.ref}: it might have been edited"
        return Refused("not_edited_since_start", why)
    derived = vm.identity == legacy(vm.name)
    for each in found:
        if derived and each.manager == _CONTROLLER:
            continue
        if vmi.created is None:
            why = f"it is not known when its VMI was created, and {each.manager} wrote the UUID in the spec of {vm.ref}"
            return Refused("not_edited_since_start", why)
        if each.time is None or each.time > vmi.created - _UNSEEN:
            at = "an unknown time" if each.time is None else text(each.time)
            why = (
                f"{each.manager} wrote the UUID in the spec of {vm.ref} at {at}, and its VMI is of {text(vmi.created)}"
            )
            return Refused("not_edited_since_start", f"{why}: it might be meant for the next start")
    return None


def _started(scene: Scene, vmi: VirtualMachineInstance | None) -> Mapping[str, Any]:
    """The firmware in the spec that the VMI started with; empty where that is not known."""
    name = vmi.started_with if vmi is not None else ""
    revision = scene.whole(ControllerRevision.KIND, vmi.namespace, name) if vmi is not None and name else None
    return firmware_of(table(table(revision).get("data"))) or {}


def _lost(
    scene: Scene, old: Mapping[str, Any], vmi: VirtualMachineInstance, started: Mapping[str, Any]
) -> dict[str, Any]:
    """The serial that the VMI has and the bootloader that the VM started with, where the spec has none any more.

    The bootloader of a VMI may be from a preference, or from KubeVirt's defaults, and is not taken from there.
    """
    domain = table(table(table(scene.of(vmi.ref)).get("spec")).get("domain"))
    runs = {"serial": table(domain.get("firmware")).get("serial"), "bootloader": started.get("bootloader")}
    return {name: value for name, value in runs.items() if value not in (None, "") and old.get(name) in (None, "")}


def _effect(scene: Scene, vmi: VirtualMachineInstance | None, *, as_started: bool) -> str:
    if vmi is None or vmi.final:
        return "The VM starts with the UUID that it has in use: nothing changes for its guest."
    same = "Nothing changes for the guest, which runs with it already"
    asking = [each.version or "of an unknown version" for each in scene.all(KubeVirt) if not _ignores_equal(each)]
    if not asking:
        goes = "; its condition RestartRequired goes, unless something else in the spec differs" if as_started else ""
        return f"{same}{goes}."
    what = "keeps a condition RestartRequired that it has reported" if as_started else "might report RestartRequired"
    return (
        f"{same}; but KubeVirt {asking[0]} {what}, and then changes no CPUs, memory, affinity or tolerations while it "
        "runs."
    )


def _ignores_equal(kubevirt: KubeVirt) -> bool:
    """Whether it reports no RestartRequired for the UUID that the VMI has, and takes back one that is over
    (kubevirt/kubevirt#16329, #16606). Before, a VM has it until it is started again.
    """
    patch = kubevirt.patch
    return patch >= (1, 8, 0) or (1, 7, 1) <= patch < (1, 8, 0) or (1, 6, 4) <= patch < (1, 7, 0)


# Empty is not absent: `efi: {}` boots by UEFI. So the bootloader is one field, and not a map to look into.
_BOOTLOADER = Exactly(efi=Exactly(secureBoot=ANYTHING, persistent=ANYTHING), bios=Exactly(useSerial=ANYTHING))
_PERSISTED = Patched(
    Field(f"{PATH}/uuid", to=PRESENT),
    Field(f"{PATH}/serial", was=BLANK, to=PRESENT),
    Field(f"{PATH}/bootloader", was=EMPTY, to=Both(PRESENT, _BOOTLOADER)),
)
REMEDIATION = Remediation(
    id="persist_firmware_uuid",
    title="Write the firmware UUID in use into the VM's spec",
    writes=(Write("kubevirt.io", "virtualmachines", ("patch",), (_PERSISTED,)),),
    plan=_plan,
    risk=Risk.NONE,
    undo="restore the earlier firmware of the spec from the ledger; KubeVirt 1.6 and later writes a missing UUID",
)


# The UUID that was written is the one in use: where another one is put back, the guest sees that at its next start.


@guard()
def _in_use(_: UndoRequest, case: IdentityCase) -> str:
    return f"{case.vm.ref} had it in use when it was written"


UNDO = uuid_back("persist_firmware_uuid", _in_use)
