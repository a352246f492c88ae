"""What has to hold of every write of the sidecar, when it is sent and at the moment at which the API server takes it.

What is about other objects has to hold when the write is sent: nobody can know what changes until it arrives. What is
about the object itself has to hold when it arrives, since the API server compares. An address that is released late,
under a user that came in between, is no violation if the sidecar says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from reconcile.ledger import Entry, Event
from reconcile.ledger.history import History
from reconcile.plan.effects import at
from reconcile.plan.plan import Create, Patch, Test

from .claims import TAKING, Claims
from .clocks import CALL
from .copies import Copies
from .identity import Firmware
from .marked import MARKS, Marks
from .missing import recreated
from .platform import Platform
from .steward import REMEDIATIONS, Steward
from .truth import Truth
from .undone import Undone
from .world import Change, Obj, World, meta_of
from .writer import Write

__all__ = ["Violation", "Watch"]

_VM = "VirtualMachine"
_DAY = 86_400.0


@dataclass(frozen=True)
class Violation:
    """`invariant` is a name, `what` a sentence."""

    invariant: str
    what: str


@dataclass
class Watch:
    world: World
    platform: Platform
    stewards: list[Steward] = field(default_factory=list)
    found: list[Violation] = field(default_factory=list)
    writes: int = 0
    _changed: dict[str, float] = field(default_factory=dict)  # when, by UID: Deployments, and VMs that were annotated
    _effects: dict[str, tuple[int, float]] = field(default_factory=dict)  # version and time of the last, by plan's hash

    def __post_init__(self) -> None:
        self.claims, self.firmware = Claims(self.world, self.platform, self._changed), Firmware(self.world)
        self.copies, self.marks = Copies(self.world), Marks(self.world, self.firmware)
        self.undone = Undone(self.world, self.claims, self.firmware, self.copies, self.marks)
        self.truth = Truth(self.world)
        self._late: dict[str, Write] = {}  # by the version after it
        self.platform.released = self.address_released
        self.world.watches.append(self._deployed)

    def _violated(self, invariant: str, what: str) -> None:
        self.found.append(Violation(invariant, what))

    def _deployed(self, change: Change) -> None:
        if change.key[0] == "Deployment" and change.after is not None:
            self._changed[meta_of(change.after)["uid"]] = self.world.now

    def address_released(self, ip: str, change: Change) -> None:
        late = self._late.get(meta_of(change.before)["uid"]) if change.before is not None else None
        for invariant, what in self.claims.released(ip, change):
            if late is None:
                self._violated(invariant, what)
            else:
                self.truth.has_to_say(late, what)

    def sends(self, write: Write) -> None:
        """What the sidecar could have seen."""
        if any(each.name == write.by and each.shadow and write.sent >= each.shadow_since for each in self.stewards):
            self._violated("shadow writes nothing", f"{write.by} wrote {write.key[0]} {write.key[2]} in mode shadow")
        for invariant, what in self._of(write):
            self._violated(invariant, f"{write.by} wrote {write.key[0]} {write.key[2]}: {what}")

    def _of(self, write: Write) -> Iterator[tuple[str, str]]:
        plan = write.plan
        if plan is None or plan.target.name != write.key[2]:
            return  # which is a violation of its own
        if write.undoes:
            yield from self.undone.of(write)
        elif plan.subject.kind == "IPAMClaim":
            yield from self.claims.of(write)
        elif plan.remediation == "recreate_ipam_claim":
            yield from recreated(self.claims, write)
        elif plan.remediation in MARKS:
            yield from self.marks.of(write)
        else:
            yield from (self.copies if plan.check.startswith("instancetype") else self.firmware).of(write)

    def wrote(self, write: Write) -> None:
        self.writes += 1
        self.truth.took(write)
        self.undone.wrote(write)
        before, plan = write.before or {}, write.plan
        where = f"{write.by} wrote {write.key[0]} {write.key[2]}"
        seen, found = (_identity(each) for each in (write.confirmed, before))
        created = plan is not None and isinstance(plan.step, Create)  # bound to another object, which it does not write
        if seen != found and not created:
            what = "same object" if seen[0] != found[0] else "as confirmed"
            self._violated(what, f"{where}, read as {seen}, that was {found}")
        if plan is None or plan.target.name != write.key[2]:
            self._violated("ledger first", f"{where}, which the ledger does not intend")
            return
        # Nothing in the request to create an object says when it was seen to be missing: each answers for itself.
        key = f"{plan.hash} {write.by}" if created else plan.hash
        last = self._effects.get(key)
        if last is not None and (last[1] > write.began if created else last[0] > int(seen[1])):
            self._violated("one effect", f"{where} by plan {plan.hash}, which had its effect since it was read")
        self._effects[key] = self.world.version, self.world.now
        if write.key[0] == _VM and write.after is not None and not write.undoes:
            self._changed[meta_of(write.after)["uid"]] = self.world.now
        if write.planned and write.planned != plan.hash:
            self._violated("as planned", f"{where} by plan {plan.hash}, and {write.planned} was permitted")
        for op in plan.step.ops if isinstance(plan.step, Patch) else ():
            if isinstance(op, Test) and at(before, op.path) != op.value:
                self._violated("content", f"{where}, of which {op.path} is {at(before, op.path)!r}")
        if self.world.now - write.sent > CALL:
            self._arrived_late(write)

    def _arrived_late(self, write: Write) -> None:
        before = write.before or {}
        if write.key[0] != "IPAMClaim" or not _released(before, write.after):
            return
        self._late[meta_of(before)["uid"]] = write
        plan = write.plan
        given_up = plan is not None and ("address" in plan.accepted or plan.remediation in TAKING)
        ips = before["status"].get("ips")
        for invariant, what in self.claims.used(before, address=given_up) if ips else ():
            if not invariant.startswith("nothing"):  # a migration or a restore is no user yet
                self.truth.has_to_say(write, f"{invariant}: {what}")

    def ended(self) -> None:
        """Once nobody does anything any more, nothing is under way, and what had no end was settled."""
        self.world.arrives()
        for steward in self.stewards:
            for error in steward.errors:
                self._violated("no error", f"{steward.name} ended with {error!r}")
            for entry in steward.ledger.unfinished():
                self._violated("ledger complete", f"attempt {entry.attempt} of {steward.name} has no end")
            for invariant, what in (*self.truth.of(steward), *_gates_of(steward)):
                self._violated(invariant, what)


def _gates_of(steward: Steward) -> Iterator[tuple[str, str]]:
    """What was shadowed is nothing to the gates of auto."""
    entries = list(steward.entries())
    real = [each for each in entries if each.event not in (Event.SHADOWED, Event.WENT)]
    now = steward.wall.now()
    if _amounts(entries, now) != _amounts(real, now):
        yield "gates are fresh after shadow", f"{steward.name} counts what it only shadowed"


def _amounts(entries: list[Entry], now: float) -> tuple[Any, ...]:
    history = History.of(entries, now)
    begun = sorted(each.id for each in history.unfinished())
    failed = {each: history.failures(each) for each in REMEDIATIONS}
    return begun, list(history.executed(now - _DAY)), dict(history.vms_touched(now - _DAY)), failed, history.pauses


def _identity(thing: Mapping[str, Any]) -> tuple[str, str]:
    meta = thing.get("metadata") or {}
    return meta.get("uid", ""), meta.get("resourceVersion", "0")


def _released(before: Obj, after: Obj | None) -> bool:
    """Whether its addresses are the network's again, or nothing but others keeps them."""
    fewer = len(meta_of(after or before).get("finalizers") or ()) < len(meta_of(before).get("finalizers") or ())
    return after is None or (fewer and bool(meta_of(before).get("deletionTimestamp")))
