"""Who of those that share an address on a network runs with it beside another, and which of them is a copy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from functools import cached_property
from typing import Any

from ...facts.naming import NAMED, named, the
from ...facts.pool import certain, said
from ...facts.record import Record
from ...findings.check import View
from ...store.indexes.networks import VM, vm_key
from ...store.kinds.snapshots import VirtualMachineClone, VirtualMachineSnapshotContent
from ...store.kinds.virtual_machine import VirtualMachine
from .firmware_duplicates.members import Member, MemberRole, SharedValue

_RUNNING = "Running"


class Collisions:
    """Those that share an address on one link. Nobody sends with it before the VMI is Running."""

    def __init__(self, group: SharedValue, link: str, copies: dict[str, str]) -> None:
        self.group, self.link, self.copies = group, link, copies

    @cached_property
    def _sends(self) -> dict[str, str]:
        """The nodes of those that run with it, by their keys."""
        live = ((each.key, each.vmi) for each in self.group.live if each.runs)
        return {key: vmi.node for key, vmi in live if vmi is not None and vmi.phase == _RUNNING}

    @cached_property
    def _nodes(self) -> Counter[str]:
        return Counter(self._sends.values())

    @cached_property
    def _originals(self) -> Originals:
        return Originals(self.group, self.copies)

    def standing(self, member: Member) -> MemberRole | None:
        """As in the group, but for what is still being started: it may collide."""
        standing = self.group.standing(member)
        if standing is not MemberRole.RUNS_TOGETHER or self._meets(member):
            return standing
        return MemberRole.MAY_COLLIDE

    def _meets(self, member: Member) -> bool:
        return member.key in self._sends and len(self._sends) > len(self._sends.keys() & self._apart(member))

    def _apart(self, member: Member) -> frozenset[str]:
        return self.group.moving.get(member.key, frozenset()) | {member.key}

    def sure(self, member: Member) -> bool:
        """Whether the network leads from it to another one that runs, as far as objects tell."""
        if certain(self.link):
            return True
        node = self._sends.get(member.key)
        own = sum(self._sends.get(key) == node for key in self._apart(member))
        return node is not None and self._nodes[node] > own

    def others(self, member: Member) -> list[Member]:
        """Some of the others, those that run first."""
        return sorted(self.group.others(member, NAMED), key=lambda each: each.key not in self._sends)

    def where(self, member: Member) -> str:
        """The network, as a message ends with it."""
        return said(self.link) if self.sure(member) or not self._meets(member) else f"{said(self.link)} of other nodes"

    def who(self, others: list[Member], member: Member) -> str:
        return named([each.key for each in others], self.group.count(member), most=1)

    def facts(self, member: Member, others: list[Member]) -> dict[str, Any]:
        """What both checks have in the evidence."""
        found = {
            "sharedNetwork": said(self.link),
            "running": member.key in self._sends,
            "runsOn": self._sends.get(member.key, ""),
            "others": [self._other(each) for each in others],
            "members": self.group.count(member) + 1,
            "copy": self.copies.get(member.key, ""),
            "keeper": self._originals.of(member),
        }
        return {name: fact for name, fact in found.items() if fact not in ("", [])}

    def _other(self, member: Member) -> dict[str, Any]:
        found = {
            "name": member.key,
            "kind": member.ref.kind,
            "running": member.key in self._sends,
            "runsOn": self._sends.get(member.key, ""),
            "copy": self.copies.get(member.key, ""),
        }
        return {name: fact for name, fact in found.items() if fact != ""}


class Originals:
    """Who of a group keeps what they share: those that are no copies, and are not about to end."""

    def __init__(self, group: SharedValue, copies: dict[str, str]) -> None:
        self._copies = copies
        self._first: dict[str, str] = {}  # by namespace; "" for all
        for each in group.live if copies else ():
            if each.key not in copies:
                self._first.setdefault(each.record.namespace, each.key)
                self._first.setdefault("", each.key)

    def of(self, member: Member) -> str:
        """For a copy one of them, of its own namespace where there is one; empty for all others."""
        if member.key not in self._copies:
            return ""
        return self._first.get(member.record.namespace) or self._first.get("", "")


def copy_among(copies: dict[str, str], member: Member, others: list[Member]) -> Member | None:
    """Which one of them is a copy: the member itself, or the first of the others."""
    return next((each for each in (member, *others) if each.key in copies), None)


def of_copy(copies: dict[str, str], member: Member, others: list[Member]) -> dict[str, str]:
    """The fields of the variant of a message that says which one is a copy, and how it was made; none without one."""
    copy = copy_among(copies, member, others)
    if copy is None:
        return {}
    return {"copy": the(member.ref.kind) if copy is member else copy.key, "made": copies[copy.key]}


def of_one_vm(records: Iterable[Record]) -> bool:
    """Whether nobody else has the address: a VM and its VMI have one name."""
    return len({(each.namespace, each.name) for each in records}) < 2


def copies_in(view: View, members: Iterable[Member]) -> Generator[None, None, dict[str, str]]:
    """Returns which of the members are copies, by their keys, as a clause that continues after the name; pauses after
    each.

    A VirtualMachineClone names what it makes. A restore is noted on a VM that was put back in its own place too: most
    likely a copy is what is younger than a member that was not restored, and of a snapshot's restore what was not saved
    itself and is in that member's namespace, which such a restore does not leave. What Velero restores may be anywhere.
    """
    vms: dict[str, VirtualMachine] = {}
    found: dict[str, str] = {}
    oldest: dict[str, float] = {}  # of those that were not restored, by namespace; "" for all
    for member in members:
        vm = member.vm or vm_of(view, member)
        if vm is not None and vm.created is not None:
            vms[member.key] = vm
            for place in ("", vm.namespace) if vm.origin not in _BY_ORIGIN else ():
                oldest[place] = min(vm.created, oldest.get(place, vm.created))
        yield
    for key, vm in vms.items():
        clones = [each for each in view.members(VM, key, VirtualMachineClone) if each.made]
        if clones:
            found[key] = _cloned(min(clones, key=lambda each: each.name))
        elif vm.origin in _BY_ORIGIN and _younger(view, vm, oldest):
            found[key] = f"is most likely a copy, since it is younger and {_BY_ORIGIN[vm.origin]}"
        yield
    return found


_BY_ORIGIN = {"restore": "was restored from a snapshot", "backup": "was restored from a backup"}


def _younger(view: View, vm: VirtualMachine, oldest: dict[str, float]) -> bool:
    place = vm.namespace if vm.origin == "restore" else ""
    if vm.created is None or vm.created <= oldest.get(place, vm.created):
        return False
    return vm.origin != "restore" or not view.members(VM, vm_key(vm.namespace, vm.name), VirtualMachineSnapshotContent)


def _cloned(clone: VirtualMachineClone) -> str:
    return f"is a copy that VirtualMachineClone {clone.name} made" + (f" of {clone.source}" if clone.source else "")


def vm_of(view: View, member: Member) -> VirtualMachine | None:
    """The VM of a member that has another address than its VM."""
    if member.vmi is None or not member.vmi.vm_uid:
        return None
    vm = view.named(VirtualMachine, member.vmi.namespace, member.vmi.name)
    return vm if vm is not None and vm.uid == member.vmi.vm_uid else None
