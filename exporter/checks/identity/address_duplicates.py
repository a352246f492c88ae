"""VMIs whose guests report one IP address on one network, where nobody gives out addresses or a guest took its own.

Guests on a secondary network often have their addresses from a DHCP server or set them themselves, and a copied disk
brings both along: a static address, or the machine-id from which systemd-networkd and NetworkManager make the client
id by which a DHCP server knows them (`ClientIdentifier=duid` in systemd.network(5)). Two guests with one address answer
for it in turn, and connections to it break.

Compared is what the guest agent reports of interfaces that the spec has, on a NAD of which the network is known (as in
mac_duplicates). An interface with several addresses of one family is left out, since one may be a virtual IP, and so is
one whose MAC address others in the guest have, since the addresses may be those of a VLAN or bridge there. Loopback,
link-local and multicast addresses don't count, nor does the pod network. Certain are networks of OVN-Kubernetes, and
guests on one node; that bridges of two nodes are one network is not, and only informs.

Not seen here: guests without a guest agent, addresses of pods and of hosts, and addresses that a guest answers for
without having them on an interface. Two guests that share an address on purpose, as anycast has it, are reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.identity.firmware import group_id
from ...domain.networks.guest_interfaces import parted
from ...findings.causes import Cause
from ...findings.check import Check, Family, Reason, Scope, View
from ...findings.finding import Finding, Severity
from ...store.indexes.links import IP_ON_LINK, link_in
from ...store.indexes.networks import VM
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_clone import VirtualMachineClone
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...store.kinds.virtual_machine_snapshot_content import VirtualMachineSnapshotContent
from ...store.record import Record
from ...store.text.naming import the
from ._collisions import Collisions, copies_in, copy_among, of_copy, of_one_vm
from .firmware_duplicates.members import Member, MemberRole, group_of

__all__ = ["CHECK"]

_ADDRESS = Family(
    "kubevirt_vm_ip_duplicate",
    "The guest of a VM reports an IP address that another guest on the same network reports too.",
)
_VMIS = (
    "kubectl get virtualmachineinstances.kubevirt.io -A -o custom-columns='NS:.metadata.namespace,VMI:.metadata.name,"
    "ON:.status.nodeName,MACS:.status.interfaces[*].mac,IPS:.status.interfaces[*].ipAddresses' "
    "| grep -F -e 'IPADDRESS'"
)
_REASONS = {
    "DuplicateGuestIP": Reason(
        (Severity.WARNING, Severity.INFO),
        "Another guest on the same network reports the same IP address; information where it takes bridges of two "
        "nodes to be one network.",
        _ADDRESS,
        grace=300,  # an address that is handed over is with both until each guest agent has reported
        next="Find out which guest should have the address, and give the other one an address, a machine-id and a DHCP "
        "client id of its own.",
        commands=(_VMIS, "virtctl guestosinfo -n NAMESPACE NAME"),
        alert="VMIPAddressDuplicate",
    ),
}


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
    return Finding(
        reason="DuplicateGuestIP",
        severity=Severity.WARNING if found.sure(member) else Severity.INFO,
        subject=member.ref,
        related=tuple(each.ref for each in others),
        group=group_id(view.partition),
        message=f"{the(member.ref.kind)}'s guest reports the same IP address as that of {found.who(others, member)} on "
        f"{found.where(member)}{of_copy(found.copies, member, others)}",
        evidence={
            "ipAddress": view.partition.rpartition(" ")[2],
            **found.facts(member, others),
            "hints": _hints(found, member, others),
        },
    )


def _hints(found: Collisions, member: Member, others: list[Member]) -> list[str]:
    """Where it may come from."""
    same = any(_macs(member) & _macs(each) for each in others)
    hints = ["they have the same MAC address too, and a DHCP server may know them by that"] if same else []
    if copy_among(found.copies, member, others) is not None:
        return [*hints, "the copy has the address, the machine-id and the DHCP client id of the disk that was copied"]
    return hints or ["disks that were copied have one machine-id, and so one DHCP client id, or one static address"]


def _macs(member: Member) -> set[str]:
    return {mac for _, mac in map(parted, member.vmi.macs)} if member.vmi is not None else set()


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
    fields_read={
        VirtualMachine.KIND: ("created", "deleting", "origin", "run_strategy"),
        VirtualMachineInstance.KIND: ("addresses", "deleting", "macs", "node", "phase", "vm_uid"),
        NetworkAttachmentDefinition.KIND: ("link",),
    },
    requires=(VirtualMachine.KIND, VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
)
