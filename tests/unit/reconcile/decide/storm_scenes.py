"""A fleet in which findings open and close, and the sidecar's own counting of it: what it would let through, and why.

Everything is pure: runs follow each other by a clock that the scene moves, and what travels with the Lease is a dict.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from exporter.facts.record import Ref
from reconcile.config.settings import Mode, SidecarConfig
from reconcile.confirm.confirm import Hint
from reconcile.decide.gates import Situation, blocked
from reconcile.decide.rises import Open
from reconcile.decide.storm import Storm, Weather
from reconcile.decide.storms import Sizes, Storms
from reconcile.ledger.history import History
from reconcile.observe.source import Found
from reconcile.run.context import Candidate
from reconcile.run.loop import in_turn
from tests.repairs import NOW, REPAIR, ask, config, situation, written

__all__ = ["MINUTE", "Scene"]

MINUTE = 60.0
_GATES = ("storm", "budget_run", "budget_hour", "budget_namespace", "budget_fleet")


@dataclass
class Scene:
    """`vms` are their numbers by namespace; None where they can't be counted."""

    vms: dict[str, int] | None
    settings: dict[str, Any] = field(default_factory=dict)
    now: float = NOW
    open: dict[str, Open] = field(default_factory=dict)
    held_up: set[str] = field(default_factory=set)  # proposals, refused, waiting for approval
    lease: dict[str, str] = field(default_factory=dict)
    resumed: dict[str, float] = field(default_factory=dict)
    unknown: set[str] = field(default_factory=set)
    checks: set[str] = field(default_factory=lambda: {"firmware_vms", "eviction_pdbs", "ipam_claims"})
    ready: bool = True
    done: int = 0

    def __post_init__(self) -> None:
        self.config: SidecarConfig = config(**self.settings)
        self.history = History()
        self.storms = Storms(self.lease)
        self._opened = 0

    # What happens.

    def appear(self, namespace: str, count: int, check: str = "firmware_vms", held_up: bool = False) -> list[str]:
        """New findings; their fingerprints."""
        found = [f"f{self._opened + at}" for at in range(count)]
        self._opened += count
        self.open |= {each: Open(each, namespace, check) for each in found}
        self.held_up |= set(found) if held_up else set()
        return found

    def vanish(self, fingerprints: list[str]) -> list[Open]:
        return [self.open.pop(each) for each in fingerprints]

    def restart(self) -> None:
        """Or another replica takes over."""
        self.storms = Storms(self.lease)

    def look(self, after: float = 0.5 * MINUTE) -> Scene:
        """A run that only looks."""
        self.now += after
        settings = self.config.storm
        if not self.ready:
            self.storms.unseen(self.now, settings)
        else:
            self.storms.take(list(self.open.values()), self.checks - self.unknown, self.now, settings)
            self.storms.next(self.writable, self.now, settings, self._sizes())
        self.lease |= self.storms.carried()
        return self

    def looks(self, minutes: float, every: float = MINUTE) -> Scene:
        for _ in range(round(minutes * MINUTE / every)):
            self.look(every)
        return self

    def run(self, after: float) -> Counter[str]:
        """A run that writes what the gates let through, in turn; the writes by namespace. What is written is gone."""
        self.look(after)
        self.history.forget(self.now)
        candidates = [_candidate(each) for each in self.open.values()]
        made: Counter[str] = Counter()
        writable = self.writable
        for candidate in in_turn(
            candidates,
            lambda each: each.found.hint.fingerprint in writable,
            self.history.written_by_namespace(self.now - 86_400),
        ):
            planned = sum(made.values())
            if planned == self.config.budgets.run:
                break
            found = candidate.found
            if found.hint.fingerprint not in writable or self.gates(found.namespace, found.vm, planned):
                continue
            self._write(found)
            made[found.namespace] += 1
        return made

    def _write(self, found: Found) -> None:
        self.done += 1
        target = Ref("VirtualMachine", found.namespace, found.vm, "u")
        for entry in written(self.done, self.now, "done", target=target, vm=found.vm):
            self.history.add(entry)
        del self.open[found.hint.fingerprint]

    # What is known of it.

    @property
    def writable(self) -> set[str]:
        return self.open.keys() - self.held_up

    def _sizes(self) -> Sizes:
        if self.vms is None:
            return Sizes(None, {}, self.resumed)
        rising = self.storms.rising(self.writable, self.config.storm)
        return Sizes(sum(self.vms.values()), {each: self.vms.get(each, 0) for each in rising}, self.resumed)

    def weather(self, namespace: str = "") -> str:
        """Of all, or of a namespace."""
        found = self.storms.namespaces.get(namespace, Storm()) if namespace else self.storms.fleet
        return found.weather.value

    @property
    def stormy(self) -> set[str]:
        """The namespaces with a storm of their own."""
        return {name for name, storm in self.storms.namespaces.items() if storm.weather is Weather.STORM}

    def gates(self, namespace: str, vm: str = "db", planned: int = 0) -> dict[str, str]:
        """Why nothing is written there, by the gate."""
        asked = replace(ask(vm=vm), namespace=namespace, mode=Mode.AUTO, planned=planned)
        found = blocked(asked, self._situation(namespace), self.config, reads=False)
        return {each.gate: each.why for each in found if each.gate in _GATES}

    def _situation(self, namespace: str) -> Situation:
        vms = self.vms
        return replace(
            situation(),
            now=self.now,
            history=self.history,
            storm=self.storms.fleet,
            storms=self.storms.namespaces,
            fleet=sum(vms.values()) if vms is not None else None,
            vms={namespace: vms.get(namespace, 0)} if vms is not None else {},
        )


def _candidate(each: Open) -> Candidate:
    subject = Ref("VirtualMachine", each.namespace, each.fingerprint, "u")
    hint = Hint(each.check, "NotPersisted", subject, each.fingerprint)
    return Candidate(Found(hint, "warning", "", each.fingerprint, NOW), REPAIR, Mode.AUTO)
