"""VMs with one MAC address on one network, whose switches then send the traffic of both to either of them.

A MAC address has to be unique on a layer-2 network, and nowhere else: VMs on networks that never meet may share it.
Two NADs are of one network if they name the same layer-2 network of OVN-Kubernetes, as those of a CUDN do, or the same
physical network or bridge with the same VLAN, whatever namespaces they are in. Interfaces on the pod network count
where that is a primary layer-2 network, and the guest is on it by itself (`bridge`, `l2bridge`), with the MAC address
that their spec sets. A VMI counts with what it reports, a VM with what it starts with next. Spelling does not matter.

That two VMs run on one network of OVN-Kubernetes, or on one bridge of one node, is certain. Bridges of one name on two
nodes are one network where they have uplinks to it, so that is a warning. KubeVirt's snapshots keep MAC addresses, and
so do restores to another name, backups and copied manifests; a VirtualMachineClone keeps none, but sets those of its
`newMacAddresses`. KubeMacPool gives out unique ones, yet leaves those alone that a manifest sets in a namespace that
it does not manage.

Not seen here: what pods and hosts have on the network, VMs of other clusters on it, MAC addresses that guests have set
themselves, trunks, a NAD in the place of the pod network, and networks of other plugins. Two interfaces of one VM may
share a MAC address, as bonds do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from ...domain.acts import Act, acts_of
from ...domain.identity import MAC_ON_LINK, POD_NETWORK, PRIMARY, link_in
from ...facts.firmware import group_id
from ...facts.naming import kind_word
from ...facts.record import Record
from ...facts.vm_networks import parted
from ...findings.advice import filled
from ...findings.causes import Cause
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding, Since
from ...findings.pages import Texts, command, reasons_of
from ...findings.severity import Severity
from ...store.indexes.networks import VM, primary
from ...store.kinds.network_attachment_definition import NetworkAttachmentDefinition
from ...store.kinds.snapshots import VirtualMachineClone, VirtualMachineSnapshotContent
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ._collisions import Collisions, copies_in, copy_among, of_copy, of_one_vm, vm_of
from .firmware_duplicates.members import Member, MemberRole, group_of

_TEXTS = Texts("mac_duplicates")


def find(view: View) -> Iterator[Finding | None]:
    for link, records in _by_link(view).items():
        if of_one_vm(records):
            continue
        group = yield from group_of(view, records, lambda _: None)
        if len(group.members) > 1:
            copies = yield from copies_in(view, group.members)
            yield from _shared(view, Collisions(group, link, copies))


def _by_link(view: View) -> dict[str, list[Record]]:
    """The records of the partition by their links, which of the pod network differ by namespace."""
    link, records = link_in(view.partition), list(view.sharing(MAC_ON_LINK, view.partition))
    if link != POD_NETWORK or len(records) < 2:
        return {link: records} if link != POD_NETWORK else {}
    homes = {namespace: _primary(view, namespace) for namespace in {each.namespace for each in records}}
    found: dict[str, list[Record]] = defaultdict(list)
    for each in records:
        if home := homes[each.namespace]:
            found[home].append(each)
    return found


def _primary(view: View, namespace: str) -> str:
    """The link of a namespace's primary network; empty where it has none, or more than one."""
    nads = view.members(PRIMARY, primary(namespace), NetworkAttachmentDefinition)
    links = {each.link for each in nads}
    return links.pop() if len(links) == 1 else ""


def _shared(view: View, found: Collisions) -> Iterator[Finding | None]:
    for member in found.group.members:
        standing = found.standing(member)
        if standing in (MemberRole.RUNS_TOGETHER, MemberRole.MAY_COLLIDE):
            yield _finding(view, found, member, together=standing is MemberRole.RUNS_TOGETHER)
        yield None


def _finding(view: View, found: Collisions, member: Member, *, together: bool) -> Finding:
    others = found.others(member)
    since = found.group.collided(member) if together else None
    severity = Severity.CRITICAL if found.sure(member) else Severity.WARNING
    mac = view.partition.rpartition(" ")[2]
    reason, copy = "DuplicateMAC" if together else "LatentDuplicateMAC", of_copy(found.copies, member, others)
    step = _step(view, found, member, others, together=together)
    return Finding(
        reason=reason,
        severity=severity if together else Severity.INFO,
        subject=member.ref,
        related=tuple(each.ref for each in others),
        group=group_id(f"{found.link} {mac}"),
        since=since,
        since_source=Since.CREATION if since is not None else Since.FIRST_SEEN,
        message=_TEXTS.message(
            reason,
            "copy" if copy else "",
            kind=kind_word(member.ref.kind),
            others=found.who(others, member),
            network=found.where(member),
            **copy,
        ),
        next=_TEXTS.next(reason, step or "any", vm=member.key, mac=mac, **copy),
        does=_DOES.get(step),
        commands=_commands(reason, (member, *others), copy_among(found.copies, member, others), mac, step, together),
        evidence={"macAddress": mac, "nads": sorted(_nads(member, mac)), **found.facts(member, others)},
    )


def _commands(
    reason: str, members: tuple[Member, ...], changed: Member | None, mac: str, step: str, together: bool
) -> tuple[str, ...]:
    """Those that look, and what its next step says for the VM that is to be changed, or for each where nobody knows
    which one that is.
    """
    looks = [each for each in _REASONS[reason].commands if not (acts_of(each) or each == _EDIT)]
    texts = [filled(each, {"MACADDRESS": mac}) for each in looks]
    for each in (changed,) if changed is not None else members[:1] if step == "drawn" else members:
        if each.ref.kind == "VirtualMachine":
            values = {"NAMESPACE": each.ref.namespace, "NAME": each.ref.name}
            own = each is members[0] and (changed is not None or step == "drawn")
            texts += [filled(_BY_ACT[_OWN[step]], values)] if together and own and step in _OWN else []
            texts += [filled(_EDIT, values)] if step != "drawn" else []
    return tuple(texts)


def _nads(member: Member, mac: str) -> set[str]:
    """The NADs by which it has the address, where it is not on the pod network."""
    texts: Iterable[str] = (*(member.vm.macs if member.vm else ()), *(member.vmi.macs if member.vmi else ()))
    return {nad for nad, address in map(parted, texts) if nad and address == mac}


# What a variant of the next step does to the VM itself, where that is not what the reason says.
_DOES: dict[str, tuple[Act, ...]] = {"drawn": (Act.RESTART,), "other": ()}
_OWN = {"copy": Act.STOP, "drawn": Act.RESTART}  # of a member that runs
_BY_ACT = {Act.STOP: command("stop_vm"), Act.RESTART: command("restart_vm")}
_EDIT = command("edit_vm")


def _step(view: View, found: Collisions, member: Member, others: list[Member], *, together: bool) -> str:
    """The variant of the next step; the one of the reason where nothing tells which VM to change."""
    mac = view.partition.rpartition(" ")[2]
    copy = copy_among(found.copies, member, others)
    if copy is None:
        drawn = together and all(_drawn(view, each, mac) for each in (member, *others))
        return "drawn" if drawn else ""
    return "copy" if copy is member else "other"


def _drawn(view: View, member: Member, mac: str) -> bool:
    """Whether its VM sets no address on that network: each start then gives it another one."""
    vm = vm_of(view, member) if member.vm is None else None
    return vm is not None and _nads(member, mac).isdisjoint(nad for nad, _ in map(parted, vm.macs))


_REASONS = reasons_of("mac_duplicates")

CHECK = Check(
    id="mac_duplicates",
    title="VMs with one MAC address on one network",
    reads=(
        VirtualMachine.KIND,
        VirtualMachineInstance.KIND,
        VirtualMachineInstanceMigration.KIND,
        NetworkAttachmentDefinition.KIND,
        VirtualMachineClone.KIND,
        VirtualMachineSnapshotContent.KIND,
    ),
    scope=Scope("one MAC address on one network", MAC_ON_LINK),
    looks_up=(VM, PRIMARY),
    cause=Cause.GROUP,
    reasons=_REASONS,
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
    requires=(VirtualMachine.KIND, VirtualMachineInstance.KIND, NetworkAttachmentDefinition.KIND),
)
