"""Restores and clones that have not made their VM yet, and will give it what another VM has: a UUID, a serial, a MAC
address.

A VirtualMachineRestore under a new name keeps all three as the snapshot has them, but for what its `patches` change;
into the VM that was saved it duplicates nothing. KubeVirt's webhook takes no patch with a colon in its value
(`validatePatches` in pkg/storage/admitters/vmrestore.go of kubevirt/kubevirt): a MAC address there is spelled with
dashes. A VM without a UUID or a serial gets new ones. A VirtualMachineClone keeps none (`generatePatches` in
pkg/virt-controller/watch/clone/vm-target.go), but sets what its `newMacAddresses`, `newSMBiosSerial` and, from 1.6 on,
`patches` say, in that order. Their specs can't be changed: whoever wants another one deletes the object first.

Not duplicated by either: IPAMClaims, which are made by the name of the VM, and PVCs, of which there are new ones.

Not seen here: a restore over another VM that exists; MAC addresses on the pod network; patches that replace the domain
as a whole; what Velero restores.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...domain.acts import Act
from ...domain.identity import COPYING, IDENTITY, MAC_ON_LINK, SERIAL, UNDER_WAY
from ...facts.addresses import comparable as comparable_mac
from ...facts.firmware import DOMAIN, Changes, after, comparable, serial_key
from ...facts.record import Record
from ...findings.advice import filled
from ...findings.check import Check, Presence, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, command, reasons_of
from ...findings.severity import Severity
from ...store.indexes.networks import NAD_KEY, VM, vm_key
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.snapshots import VirtualMachineClone, VirtualMachineRestore, VirtualMachineSnapshotContent
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance

_UUID, _SERIAL = f"{DOMAIN}/firmware/uuid", f"{DOMAIN}/firmware/serial"
_DELETE = command("delete_resource")
_RESTORE = """\
kubectl create -f - <<'RESTORE'
apiVersion: snapshot.kubevirt.io/v1beta1
kind: VirtualMachineRestore
metadata: {namespace: NAMESPACE, generateName: NAME-}
spec:
  target: {apiGroup: kubevirt.io, kind: VirtualMachine, name: TARGET}
  virtualMachineSnapshotName: SNAPSHOT
  patches:
"""
_TEXTS = Texts("copies_ahead")


class _Same(NamedTuple):
    """What the copy will have, who has it by now, and where it comes from: a field, or what takes it out."""

    what: str
    value: str
    of: list[Record]
    place: str


def find(view: View) -> Iterator[Finding | None]:
    contents = view.members(COPYING, view.partition, VirtualMachineSnapshotContent)
    content = min((each for each in contents if each.deleting is None), key=lambda each: each.name, default=None)
    for restore in view.all(VirtualMachineRestore):
        if content is not None and restore.deleting is None and _ahead(view, restore.target, restore):
            yield from view.apart(_of_restore(view, restore, content))
    for clone in view.all(VirtualMachineClone):
        if clone.deleting is None and _ahead(view, clone.target, clone):
            yield from view.apart(_of_clone(view, clone, content))


def _ahead(view: View, target: str, of: Record) -> bool:
    """Whether the VM is yet to be made; a clone's may have no name by then."""
    return not target or view.named(VirtualMachine, of.namespace, target) is None


def _of_restore(
    view: View, restore: VirtualMachineRestore, content: VirtualMachineSnapshotContent
) -> Iterator[Finding]:
    if restore.target == content.source:
        return
    found = list(_marks(view, restore.changes, content))
    if not found:
        return
    places = [each.place for each in found if not (each.place == _UUID and any(map(_keeps_state, each.of)))]
    values = {"TARGET": restore.target, "SNAPSHOT": restore.snapshot, "NAMESPACE": restore.namespace}
    patches = (f'  - \'{{"op": "replace", "path": "{place}", "value": ""}}\'\n' for place in places)
    anew = filled(_RESTORE, values | {"NAME": restore.name}) + "".join(patches) + "RESTORE"
    # A command that dropped patches of its own would make another VM than it.
    own = {path for path, _ in restore.changes} - set(places)
    message = _TEXTS.message(
        "RestoreWillDuplicate", snapshot=restore.snapshot, target=restore.target, values=_said(found)
    )
    yield _finding(
        "RestoreWillDuplicate", restore, restore.target, message, found, *((anew,) if places and not own else ())
    )


def _keeps_state(one: Record) -> bool:
    """Whether another UUID empties its TPM, as that of a copy of it."""
    return isinstance(one, VirtualMachine | VirtualMachineInstance) and one.sealed == "persistent TPM"


def _of_clone(
    view: View, clone: VirtualMachineClone, content: VirtualMachineSnapshotContent | None
) -> Iterator[Finding]:
    found = list(_set(view, clone, content))
    if not found:
        return
    message = _TEXTS.message(
        "CloneWillDuplicate", "" if clone.target else "unnamed", target=clone.target, values=_said(found)
    )
    yield _finding("CloneWillDuplicate", clone, clone.target, message, found)


def _marks(view: View, changes: Changes, content: VirtualMachineSnapshotContent) -> Iterator[_Same]:
    """What a restore keeps."""
    uuid = comparable(after(changes, _UUID, content.identity) or "")
    if uuid and (others := list(view.sharing(IDENTITY, uuid))):
        yield _Same("the firmware UUID", uuid, others, _UUID)
    serial = after(changes, _SERIAL, content.serial) or ""
    if serial_key(serial) and (others := list(view.sharing(SERIAL, serial_key(serial)))):
        yield _Same("the serial", serial, others, _SERIAL)
    for at, name, nad, saved in content.macs:
        place = f"{DOMAIN}/devices/interfaces/{at}/macAddress"
        mac = comparable_mac(after(changes, place, saved))
        if mac and (others := _on_link(view, nad, mac)):
            yield _Same(f"the MAC address of interface {name}", mac, others, place)


def _set(view: View, clone: VirtualMachineClone, content: VirtualMachineSnapshotContent | None) -> Iterator[_Same]:
    """What a clone sets."""
    uuid = comparable(after(clone.changes, _UUID, "") or "")
    if uuid and (others := list(view.sharing(IDENTITY, uuid))):
        yield _Same("the firmware UUID", uuid, others, "patches")
    serial = after(clone.changes, _SERIAL, clone.serial) or ""
    if serial_key(serial) and (others := list(view.sharing(SERIAL, serial_key(serial)))):
        yield _Same("the serial", serial, others, "newSMBiosSerial" if serial == clone.serial else "patches")
    nads = _nads(view, clone, content)
    for name, mac in clone.macs:
        if others := _on_link(view, nads.get(name, ""), mac):
            yield _Same(f"the MAC address of interface {name}", mac, others, "newMacAddresses")


def _nads(view: View, clone: VirtualMachineClone, content: VirtualMachineSnapshotContent | None) -> dict[str, str]:
    """The NADs of the interfaces that it copies, by their names."""
    if content is not None:
        return {name: nad for _, name, nad, _ in content.macs}
    vm = view.named(VirtualMachine, clone.namespace, clone.source) if clone.source else None
    return {name: nad for name, nad, absent in vm.networks if not absent} if vm is not None else {}


def _on_link(view: View, nad: str, mac: str) -> list[Record]:
    """Who has a MAC address on the network of a NAD."""
    namespace, _, name = nad.partition("/")
    found = view.named(NetworkAttachmentDefinition, namespace, name) if nad else None
    return list(view.sharing(MAC_ON_LINK, f"{found.link} {mac}")) if found is not None and found.link else []


def _said(found: list[_Same]) -> str:
    parts = [f"{each.what} of {min(vm_key(one.namespace, one.name) for one in each.of)}" for each in found]
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _finding(
    reason: str,
    subject: VirtualMachineRestore | VirtualMachineClone,
    target: str,
    message: str,
    found: list[_Same],
    *anew: str,
) -> Finding:
    values = {"RESOURCE": subject.KIND.resource, "NAMESPACE": subject.namespace, "NAME": subject.name}
    fields = sorted({each.place for each in found})
    return Finding(
        reason=reason,
        severity=Severity.INFO,
        subject=subject.ref,
        related=tuple(sorted({one.ref for each in found for one in each.of})[:_MOST]),
        vm=target,
        message=message,
        next=_TEXTS.next(reason, "fields", fields=", ".join(fields)) if reason == "CloneWillDuplicate" else "",
        commands=(filled(_DELETE, values), *anew),
        does=(Act.DELETE,),
        evidence={
            "target": target,
            "source": _source(subject),
            "will": [
                {"what": each.what, "value": each.value, "of": sorted({one.ref.path for one in each.of})[:_MOST]}
                for each in found
            ],
            "fields": fields,
        },
    )


_MOST = 5


def _source(subject: VirtualMachineRestore | VirtualMachineClone) -> str:
    return subject.snapshot if isinstance(subject, VirtualMachineRestore) else subject.source or subject.saved


CHECK = Check(
    id="copies_ahead",
    title="Restores and clones that will duplicate what identifies a VM",
    reads=(
        VirtualMachineRestore.KIND,
        VirtualMachineClone.KIND,
        VirtualMachineSnapshotContent.KIND,
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        NetworkAttachmentDefinition.KIND,
    ),
    scope=Scope("what a restore or clone in progress copies", UNDER_WAY),
    # Few are in progress, and what they will have may be any VM's.
    looks_up=(COPYING, *(Presence(each, whatever=True) for each in (IDENTITY, SERIAL, MAC_ON_LINK, VM, NAD_KEY))),
    reasons=reasons_of("copies_ahead"),
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
    requires=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
)
