"""VMIs whose guests report one IP address on one network, where nobody gives out addresses or a guest took its own.

Guests on a secondary network often have their addresses from a DHCP server or set them themselves, and a copied disk
brings both along: a static address, or the machine-id from which systemd-networkd and NetworkManager make the client
id by which a DHCP server knows them (`ClientIdentifier=duid` in systemd.network(5)). Two guests with one address answer
for it in turn, and connections to it break.

Compared is what the guest agent reports of interfaces that the spec has, on a NAD of which the network is known (as in
mac_duplicates). An interface with several addresses of one family is left out, since one may be a virtual IP, and so is
one whose MAC address others in the guest have, since the addresses may be those of a VLAN or bridge there. Loopback,
link-local and multicast addresses don't count, nor does the pod network. Certain are networks of OVN-Kubernetes, and
guests on one node; that bridges of two nodes are one network is not, and only informs, but where `whereabouts` gives
the addresses out: its ranges are the cluster's, so its NADs are meant to be one network.

Whereabouts leases an address to a pod. A live migration has a second pod, which gets another address, and the first one
is free for the next pod, while the guest goes on with it (kubevirt/kubevirt#13709).

Not seen here: guests without a guest agent, addresses of pods and of hosts, and addresses that a guest answers for
without having them on an interface. Two guests that share an address on purpose, as anycast has it, are reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.acts import Act
from ...domain.identity import IP_ON_LINK, link_in
from ...facts.firmware import group_id
from ...facts.naming import kind_word
from ...facts.record import Record
from ...facts.vm_networks import parted
from ...findings.advice import filled
from ...findings.causes import Cause
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, reasons_of
from ...findings.severity import Severity
from ...store.indexes.networks import VM
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.snapshots import VirtualMachineClone, VirtualMachineSnapshotContent
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ._collisions import Collisions, copies_in, copy_among, of_copy, of_one_vm
from .firmware_duplicates.members import Member, MemberRole, group_of

_TEXTS = Texts("address_duplicates")
_CLUSTER_WIDE = "whereabouts"


def find(view: View) -> Iterator[Finding | None]:
    vmis = list(view.sharing(IP_ON_LINK, view.partition))
    if of_one_vm(vmis):
        return
    group = yield from group_of(view, [*vmis, *_vms(view, vmis)], lambda _: None)
    copies = yield from copies_in(view, group.members)
    found = Collisions(group, link_in(view.partition), copies)
    for member in group.members:
        if found.standing(member) is MemberRole.RUNS_TOGETHER:
            yield _finding(view, found, member)
        yield None


def _vms(view: View, vmis: list[Record]) -> Iterator[VirtualMachine]:
    for vmi in vmis:
        vm = view.named(VirtualMachine, vmi.namespace, vmi.name)
        if vm is not None and isinstance(vmi, VirtualMachineInstance) and vm.uid == vmi.vm_uid:
            yield vm


def _finding(view: View, found: Collisions, member: Member) -> Finding:
    others = found.others(member)
    leased = _leased(view, member)
    moved = [each for each in (member, *others) if leased and _migrated(each)]
    copy = of_copy(found.copies, member, others)
    changed = moved[0] if moved else copy_among(found.copies, member, others)  # which gets another address, if known
    step = "moved" if moved else "copy"
    about, address = (changed or member).ref, view.partition.rpartition(" ")[2]
    values = {"NAMESPACE": about.namespace, "NAME": about.name, "IPADDRESS": address}
    return Finding(
        reason="DuplicateGuestIP",
        severity=Severity.WARNING if leased or found.sure(member) else Severity.INFO,
        subject=member.ref,
        related=tuple(each.ref for each in others),
        group=group_id(view.partition),
        message=_TEXTS.message(
            "DuplicateGuestIP",
            "copy" if copy else "",
            kind=kind_word(member.ref.kind),
            others=found.who(others, member),
            network=found.where(member),
            **copy,
        ),
        next=_TEXTS.next("DuplicateGuestIP", step, vm=changed.key, copy=changed.key) if changed else "",
        does=(Act.RESTART,) if moved else None,
        commands=tuple(filled(each, values) for each in _REASONS["DuplicateGuestIP"].commands),
        evidence={
            "ipAddress": address,
            **found.facts(member, others),
            "hints": [*map(_moved, moved), *_hints(found, member, others)],
        },
    )


def _leased(view: View, member: Member) -> bool:
    """Whether it has the address by a NAD for which the cluster gives out addresses."""
    address = view.partition.rpartition(" ")[2]
    for nad, found in map(parted, member.vmi.addresses if member.vmi is not None else ()):
        namespace, _, name = nad.partition("/")
        record = view.named(NetworkAttachmentDefinition, namespace, name) if found == address else None
        if record is not None and record.ipam == _CLUSTER_WIDE:
            return True
    return False


def _migrated(member: Member) -> bool:
    last = member.vmi.migration if member.vmi is not None else None
    return last is not None and last.ended is not None and not last.failed


def _moved(member: Member) -> str:
    return f"{member.key} was migrated, and {_CLUSTER_WIDE} gives the address of a pod that ended to the next one"


def _hints(found: Collisions, member: Member, others: list[Member]) -> list[str]:
    """Where it may come from."""
    same = any(_macs(member) & _macs(each) for each in others)
    hints = ["they have the same MAC address too, and a DHCP server may know them by that"] if same else []
    if copy_among(found.copies, member, others) is not None:
        return [*hints, "the copy has the address, the machine-id and the DHCP client id of the disk that was copied"]
    return hints or ["disks that were copied have one machine-id, and so one DHCP client id, or one static address"]


def _macs(member: Member) -> set[str]:
    return {mac for _, mac in map(parted, member.vmi.macs)} if member.vmi is not None else set()


_REASONS = reasons_of("address_duplicates")

CHECK = Check(
    id="address_duplicates",
    title="Guests with one IP address on one network",
    reads=(
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        VirtualMachineInstanceMigration.KIND,
        NetworkAttachmentDefinition.KIND,
        VirtualMachineClone.KIND,
        VirtualMachineSnapshotContent.KIND,
    ),
    scope=Scope("one IP address on one network", IP_ON_LINK),
    looks_up=(VM,),
    cause=Cause.GROUP,
    reasons=_REASONS,
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
    requires=(VirtualMachine.KIND, VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
)
