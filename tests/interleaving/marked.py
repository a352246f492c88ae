"""What has to hold of a write that gives a copy another serial or MAC address: it is off, it is the copy, and what it
gets is nobody's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from reconcile.plan.remediations.identity._identities import ALLOWED

from .identity import Firmware, domain_of
from .network import LINK
from .world import Change, Obj, World, meta_of
from .writer import Write

__all__ = ["MARKS", "Marks", "mac_of", "serial_of"]

_VM, _VMI = "VirtualMachine", "VirtualMachineInstance"
_RESTORED = "restore.kubevirt.io/lastRestoreUID"


def serial_of(thing: Obj) -> str:
    """Of a VM or a VMI."""
    return str((domain_of(thing).get("firmware") or {}).get("serial") or "")


def mac_of(thing: Obj) -> str:
    """Of its first interface."""
    found = (domain_of(thing).get("devices") or {}).get("interfaces") or [{}]
    return str(found[0].get("macAddress") or "")


MARKS: dict[str, Callable[[Obj], str]] = {"reassign_serial": serial_of, "reassign_mac_address": mac_of}
"""By the remediation that gives another one."""


@dataclass
class Marks:
    world: World
    firmware: Firmware
    seen: float = 3 * LINK
    _got: dict[tuple[str, str, str], float] = field(default_factory=dict)  # since when, by remediation, kind and name
    _lost: dict[tuple[str, str], float] = field(default_factory=dict)  # until when a VM had it, by name and value
    _run: dict[tuple[str, str], float] = field(default_factory=dict)  # since when a guest has seen it, the same

    def __post_init__(self) -> None:
        self.world.watches.append(self._watch)

    def _watch(self, change: Change) -> None:
        kind, _, name = change.key
        if kind not in (_VM, _VMI):
            return
        for remediation, value in MARKS.items():
            had, has = (value(each) if each is not None else "" for each in (change.before, change.after))
            if had != has:
                self._got[remediation, kind, name] = self.world.now
                self._lost[name, had] = self.world.now
            if kind == _VMI and change.after is not None:
                self._run.setdefault((name, has), self.world.now)

    def of(self, write: Write) -> Iterator[tuple[str, str]]:
        before, after, plan = write.before, write.after, write.plan
        if before is None or after is None or plan is None:
            return
        value, name = MARKS[plan.remediation], meta_of(before)["name"]
        old, new = value(before), value(after)
        yield from self.firmware.changes(before)
        yield from self.firmware.off(before)
        for other in self._having(plan.remediation, new, name, write.began):
            yield "its own", f"it gets {new}, which {other} has"
        if any(each(before) != each(after) for mark, each in MARKS.items() if mark != plan.remediation):
            yield "nothing else changes", "another mark of the guest changes too"
        since = min(write.began, self.world.now - self.seen)
        if any(by != name and had == old and until >= since for (by, had), until in self._lost.items()):
            return  # by one that has lost it since then
        yield from self._kept(before, value)

    def _kept(self, before: Obj, value: Callable[[Obj], str]) -> Iterator[tuple[str, str]]:
        meta, notes = meta_of(before), meta_of(before).get("annotations") or {}
        every = (*self.world.all(_VM), *self.world.all(_VMI))
        sharing = [each for each in every if meta_of(each)["name"] != meta["name"] and value(each) == value(before)]
        if not sharing:
            yield "its own", f"nobody else has {value(before)}"
        elif ALLOWED not in notes and not any(self._first(each, meta) for each in sharing):
            yield "the one entitled keeps it", "no VM of its namespace that is older has it"
        if ALLOWED not in notes and _RESTORED not in notes:
            yield "the one entitled keeps it", "nothing shows that it is a copy"

    def _first(self, other: Obj, meta: Obj) -> bool:
        theirs = meta_of(other)
        if other["kind"] == _VMI:  # which may run with what its VM had
            theirs = meta_of(self.world.get(_VM, theirs["name"], theirs["namespace"]) or other)
        here = theirs["namespace"] == meta["namespace"]
        return here and bool(theirs["creationTimestamp"] < meta["creationTimestamp"])

    def back(self, write: Write, accepted: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """What has to hold where it is taken back."""
        before, after, plan = write.before, write.after, write.plan
        if before is None or after is None or plan is None:
            return
        value, name = MARKS[plan.remediation], meta_of(before)["name"]
        old, new = value(before), value(after)
        others = list(self._having(plan.remediation, new, name, write.began))
        if others and "uniqueness" not in accepted:
            yield "undone: its own", f"it gets {new}, which {others[0]} has"
        known = self.world.now - self._run.get((name, old), self.world.now) > self.seen
        if known and "identity" not in accepted:
            yield "undone: identity in use", f"its guest knows {old}, and would see {new}"

    def _having(self, remediation: str, mark: str, name: str, since: float) -> Iterator[str]:
        """The other VMs and VMIs that have had it since then, in order."""
        value = MARKS[remediation]
        for each in sorted((*self.world.all(_VM), *self.world.all(_VMI)), key=lambda each: meta_of(each)["name"]):
            other = meta_of(each)["name"]
            if other != name and value(each) == mark and self._got.get((remediation, each["kind"], other), 0.0) < since:
                yield other
