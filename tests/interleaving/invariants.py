"""What has to hold of every write of the sidecar, at the moment at which the API server takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from reconcile.effects import at
from reconcile.plan import Patch, Test

from .access import Write
from .claims import Claims
from .identity import Firmware
from .platform import Platform
from .steward import Steward
from .world import Change, World, meta_of

__all__ = ["Violation", "Watch"]

_VM = "VirtualMachine"


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
    _effects: dict[str, int] = field(default_factory=dict)  # the version after the last effect, by the plan's hash

    def __post_init__(self) -> None:
        self.claims, self.firmware = Claims(self.world, self.platform, self._changed), Firmware(self.world)
        self.platform.released = self.address_released
        self.world.watches.append(self._deployed)

    def _violated(self, invariant: str, what: str) -> None:
        self.found.append(Violation(invariant, what))

    def _deployed(self, change: Change) -> None:
        if change.key[0] == "Deployment" and change.after is not None:
            self._changed[meta_of(change.after)["uid"]] = self.world.now

    def address_released(self, ip: str, change: Change) -> None:
        for invariant, what in self.claims.released(ip, change):
            self._violated(invariant, what)

    def wrote(self, write: Write) -> None:
        self.writes += 1
        before, plan = write.before or {}, write.plan
        where = f"{write.by} wrote {write.key[0]} {write.key[2]}"
        seen, found = (_identity(each) for each in (write.confirmed, before))
        if seen != found:
            what = "same object" if seen[0] != found[0] else "as confirmed"
            self._violated(what, f"{where}, read as {seen}, that was {found}")
        if plan is None or plan.target.name != write.key[2]:
            self._violated("ledger first", f"{where}, which the ledger does not intend")
            return
        if self._effects.get(plan.hash, 0) > int(seen[1]):
            self._violated("one effect", f"{where} by plan {plan.hash}, which had its effect since it was read")
        self._effects[plan.hash] = self.world.version
        if write.key[0] == _VM and write.after is not None:
            self._changed[meta_of(write.after)["uid"]] = self.world.now
        if write.planned and write.planned != plan.hash:
            self._violated("as planned", f"{where} by plan {plan.hash}, and {write.planned} was permitted")
        for op in plan.step.ops if isinstance(plan.step, Patch) else ():
            if isinstance(op, Test) and at(before, op.path) != op.value:
                self._violated("content", f"{where}, of which {op.path} is {at(before, op.path)!r}")
        of = self.claims.of if plan.subject.kind == "IPAMClaim" else self.firmware.of
        for invariant, what in of(write):
            self._violated(invariant, f"{where}: {what}")

    def ended(self) -> None:
        """Once nobody does anything any more, and what had no end was settled."""
        for steward in self.stewards:
            for error in steward.errors:
                self._violated("no error", f"{steward.name} ended with {error!r}")
            for entry in steward.ledger.unfinished():
                self._violated("ledger complete", f"attempt {entry.attempt} of {steward.name} has no end")


def _identity(thing: Mapping[str, Any]) -> tuple[str, str]:
    meta = thing.get("metadata") or {}
    return meta.get("uid", ""), meta.get("resourceVersion", "0")
