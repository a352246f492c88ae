"""The VMs that share a value of their firmware, and whether they collide."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from enum import Enum

from ....domain.acts import acts_of
from ....domain.identity import awaited, migrated_away
from ....facts.record import Record, Ref
from ....facts.text_cache import Lazy
from ....findings.advice import filled
from ....findings.check import Reason, View
from ....findings.pages import command
from ....findings.partial import known
from ....store.indexes.networks import VM, vm_key
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration

Migration = VirtualMachineInstanceMigration
_PAUSES = 50  # objects between two


class MemberRole(Enum):
    """What sharing the value means for a member."""

    RUNS_TOGETHER = "another one runs with it at the same time"
    MAY_COLLIDE = "it collides once both run"
    ENDS = "it ends by itself: one of them is being deleted, or was migrated away"


@dataclass(frozen=True, eq=False)
class Member:
    """One VM that has the value: a VirtualMachine and its VMI are one."""

    vm: VirtualMachine | None
    vmi: VirtualMachineInstance | None  # by which it runs with the value

    @property
    def runs(self) -> bool:
        """Whether it runs with the value, and is not being stopped."""
        return self.vmi is not None and self.vmi.deleting is None

    @property
    def record(self) -> VirtualMachine | VirtualMachineInstance:
        if self.vm is not None:
            return self.vm
        if self.vmi is None:
            raise ValueError("a member is a VM or a VMI")
        return self.vmi

    @Lazy
    def key(self) -> str:
        return vm_key(self.record.namespace, self.record.name)

    @property
    def place(self) -> tuple[str, str]:
        """What orders members: namespace, then name."""
        return self.record.namespace, self.record.name

    @property
    def ref(self) -> Ref:
        """The VM; of a VMI that has another value than its VM, by what the VMI knows of it."""
        if self.vm is None and self.vmi is not None and self.vmi.vm_uid:
            return Ref("VirtualMachine", self.vmi.namespace, self.vmi.name, self.vmi.vm_uid)
        return self.record.ref

    @property
    def started(self) -> float | None:
        """Since when it runs with the value: that of a VMI never changes."""
        return self.vmi.created if self.vmi is not None else None

    @property
    def written(self) -> str:
        """The UUID as the object spells it; empty where it has none, and KubeVirt derives one from the name."""
        return self.vmi.uuid if self.vmi is not None and self.vmi.uuid else self.vm.uuid if self.vm is not None else ""

    @property
    def deleting(self) -> bool:
        return self.record.deleting is not None

    @property
    def awaited(self) -> bool:
        return awaited(self.vm, self.vmi)


@dataclass(frozen=True, eq=False)
class SharedValue:
    """All that share one value, in the order of namespace and name; without targets of migrations that have not
    arrived."""

    members: tuple[Member, ...]
    ending: frozenset[str]  # keys of those that won't have it for long
    moving: dict[str, frozenset[str]]  # the other ends of a member's migration, with which it shares it meanwhile
    whole: bool = True  # whether all are known, and all migrations between them
    kept: tuple[Member, ...] = ()  # VMs that were migrated away and are not being deleted: started, they collide again

    @Lazy
    def live(self) -> tuple[Member, ...]:
        return tuple(each for each in self.members if each.key not in self.ending)

    @Lazy
    def running(self) -> frozenset[str]:
        return frozenset(each.key for each in self.live if each.runs)

    @Lazy
    def _live_keys(self) -> frozenset[str]:
        return frozenset(each.key for each in self.live)

    @Lazy
    def certain(self) -> frozenset[str]:
        """Those that run together whatever can't be seen: an end of a migration that goes on says so in its VMI."""
        there = {each.key for each in self.live if each.runs and each.vmi is not None and not each.vmi.migrating}
        return frozenset(there if len(there) > 1 else ())

    def standing(self, member: Member) -> MemberRole | None:
        """None where it shares the value with nobody, but for the other end of its own migration."""
        apart = self.moving.get(member.key, frozenset()) | {member.key}
        if len(self.members) <= len(apart):
            return None
        if member.key not in self.ending:
            if member.runs and len(self.running) > len(self.running & apart):
                return MemberRole.RUNS_TOGETHER
            if len(self.live) > len(self._live_keys & apart):
                return MemberRole.MAY_COLLIDE
        return MemberRole.ENDS

    def others(self, member: Member, limit: int) -> list[Member]:
        """Those that it shares the value with, in order."""
        apart = self.moving.get(member.key, frozenset()) | {member.key}
        return [each for each in self.members[: limit + len(apart)] if each.key not in apart][:limit]

    def count(self, member: Member) -> int:
        return len(self.members) - 1 - len(self.moving.get(member.key, ()))

    def collided(self, member: Member) -> float | None:
        """Since when it runs at the same time as another one, in seconds since 1970; None where that is not known."""
        apart = self.moving.get(member.key, frozenset()) | {member.key}
        starts = [s for each in self._first_started[: len(apart) + 1] if each.key not in apart and (s := each.started)]
        return max(member.started, starts[0]) if starts and member.started is not None else None

    @Lazy
    def _first_started(self) -> list[Member]:
        running = (each for each in self.live if each.started is not None)
        return sorted(running, key=lambda each: each.started or 0.0)


def group_of(
    view: View,
    records: Iterable[Record],
    silent: Callable[[VirtualMachine], VirtualMachineInstance | None],
    *,
    whole: bool | None = None,
) -> Generator[None, None, SharedValue]:
    """Returns the group of the records under one value, and pauses now and then. `silent` gives the VMI by which a VM
    runs with the value though the VMI does not report it. `whole` says that there are no other records; None that what
    can't be seen of migrations between them raises UnseenError.
    """
    vms: dict[str, VirtualMachine] = {}
    vmis: dict[str, VirtualMachineInstance] = {}
    for done, record in enumerate(records, 1):
        key = vm_key(record.namespace, record.name)
        if isinstance(record, VirtualMachine):
            vms[key] = record
        elif isinstance(record, VirtualMachineInstance):
            vmis[key] = record
        if done % _PAUSES == 0:
            yield
    for done, (key, vm) in enumerate(vms.items(), 1):
        if key not in vmis and (vmi := silent(vm)) is not None:
            vmis[key] = vmi
        if done % _PAUSES == 0:
            yield
    members = [Member(vms.get(key), vmis.get(key)) for key in vms.keys() | vmis.keys()]
    present = sorted([each for each in members if not each.awaited], key=lambda each: each.place)
    moving: dict[str, frozenset[str]] = {}
    left: frozenset[str] = frozenset()
    if len(present) > 1:
        moving, left, seen = yield from _migrations(view, present, partly=whole is not None)
        whole = whole is not False and seen
    ending = {each.key for each in present if each.deleting or each.key in left}
    kept = tuple(each for each in present if each.key in left and each.vm is not None and not each.deleting)
    return SharedValue(tuple(present), frozenset(ending), moving, whole is not False, kept)


def _migrations(
    view: View, members: list[Member], *, partly: bool
) -> Generator[None, None, tuple[dict[str, frozenset[str]], frozenset[str], bool]]:
    """Of migrations between two members: which ends belong together, which sources were migrated away, and whether all
    of them are seen.
    """
    sent: dict[str, list[tuple[Member, Migration]]] = defaultdict(list)
    received: dict[str, list[tuple[Member, Migration]]] = defaultdict(list)
    whole = True
    for member in members:
        records, all_there = known(view.sharing(VM, member.key)) if partly else ([*view.sharing(VM, member.key)], True)
        whole = whole and all_there
        for record in records:
            if isinstance(record, Migration) and record.pairing:
                (sent if record.sends else received)[record.pairing].append((member, record))
        yield
    moving: dict[str, set[str]] = defaultdict(set)
    left: set[str] = set()
    for pairing in sent.keys() & received.keys():
        for source, out in sent[pairing]:
            for target, into in received[pairing]:
                if not (out.finished and into.finished):
                    moving[source.key].add(target.key)
                    moving[target.key].add(source.key)
                elif into.phase == "Succeeded" and _left(view, source, out):
                    left.add(source.key)
    return {key: frozenset(keys - {key}) for key, keys in moving.items()}, frozenset(left), whole


def _left(view: View, source: Member, out: Migration) -> bool:
    place = source.record.namespace, source.record.name
    # Its VMI may have ended already.
    return migrated_away(source.vm, source.vmi or view.named(VirtualMachineInstance, *place), out)


def of_vmi(subject: Ref) -> tuple[str, ...]:
    """The commands for a VMI without a VM; none for a VM, for which the reason has some."""
    values = {"NAMESPACE": subject.namespace, "NAME": subject.name}
    return (filled(command("show_vmi"), values),) if subject.kind == "VirtualMachineInstance" else ()


def commands_about(subject: Ref, reason: Reason, *, changes: bool) -> tuple[str, ...]:
    """The commands of a reason for one of a group; those that change it only where it is the one that `changes`."""
    values = {"NAMESPACE": subject.namespace, "NAME": subject.name}
    own = (filled(each, values) for each in reason.commands if changes or not acts_of(each))
    return of_vmi(subject) or tuple(own)
