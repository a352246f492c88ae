"""The storms of the fleet and of its namespaces, by what is new and could be written now.

A namespace has a storm by the new findings of one check there, in proportion to its VMs; it stops that namespace. The
fleet has one by those of one check in all namespaces, in proportion to all VMs. Of one namespace only a part counts
there, so that it takes `storm.namespaces` of them at least: none alone stops the others. What remains is whoever has so
many namespaces.

Pure: who reads what it needs, and carries it from leader to leader, is `StormLooks` of `run/sidecar.py`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from exporter.config.forms import write_duration

from ..config.settings import StormSettings
from .rises import KNOWN, STORM, Key, Open, Rises, decoded, encoded
from .storm import Rise, Storm, StormState

_UNREADABLE = "the state that the last holder left in the Lease can't be read"


@dataclass(frozen=True)
class Sizes:
    """Numbers of VMs; None, or no entry, is what could not be counted. `resumed` is when a person resumed what, in
    seconds since 1970: a namespace, or everything by the empty one.
    """

    fleet: int | None = None
    namespaces: Mapping[str, int | None] = field(default_factory=dict)
    resumed: Mapping[str, float] = field(default_factory=dict)


class Storms:
    """What is on, and what is known. `namespaces` has those with a storm or a cooldown."""

    def __init__(self, carried: Mapping[str, str] | None = None) -> None:
        """`carried` are the Lease's annotations, without their prefix."""
        state = carried or {}
        self.fleet = Storm.decode(state.get(STORM))
        self.namespaces: Mapping[str, Storm] = {}
        try:
            known = decoded(state.get(KNOWN))
        except ValueError:
            self.fleet, known = Storm(StormState.STORM, 0.0, None, _UNREADABLE), None
        if known is not None:
            self.namespaces = {namespace: Storm.decode(text) for namespace, text in known.storms.items()}
        self._rises = Rises(known)

    def take(self, findings: Collection[Open], checks: Collection[str], now: float, settings: StormSettings) -> None:
        """What is open, of the checks that have an answer now. Of others everything stays as it was."""
        self._rises.take(findings, checks, now, window=settings.window.total_seconds(), held=self._held)

    def _held(self, namespace: str) -> bool:
        found = (self.fleet, self.namespaces.get(namespace, Storm()))
        return any(each.state is StormState.STORM for each in found)

    def rising(self, writable: Collection[str], settings: StormSettings) -> list[str]:
        """The namespaces whose VMs have to be counted: those where a storm may be, or is; the worst first."""
        new = self._rises.new(writable)
        worst: Counter[str] = Counter()
        for (namespace, _), number in new.items():
            worst[namespace] = max(worst[namespace], number)
        found = [namespace for namespace, number in worst.most_common() if number >= settings.at_least]
        return list(dict.fromkeys((*found, *self.namespaces)))

    def next(self, writable: Collection[str], now: float, settings: StormSettings, sizes: Sizes) -> None:
        """After a look: `writable` are the fingerprints of what could be written now."""
        self._end(now, settings, sizes.resumed)
        new = self._rises.new(writable)
        self.fleet = self.fleet.next(_of_fleet(new, settings, sizes.fleet), now, settings)
        by_namespace: dict[str, list[tuple[int, str]]] = {namespace: [(0, "")] for namespace in self.namespaces}
        for (namespace, check), number in new.items():
            by_namespace.setdefault(namespace, []).append((number, check))
        found = {}
        for namespace, numbers in by_namespace.items():
            rise = _of_namespace(namespace, max(numbers), settings, sizes.namespaces.get(namespace))
            storm = self.namespaces.get(namespace, Storm()).next(rise, now, settings)
            if storm.state is not StormState.NORMAL:
                found[namespace] = storm
        self.namespaces = found

    def unseen(self, now: float, settings: StormSettings) -> None:
        """After a look that showed nothing."""
        self.fleet = self.fleet.next(None, now, settings)
        self.namespaces = {name: storm.next(None, now, settings) for name, storm in self.namespaces.items()}

    def carried(self) -> dict[str, str]:
        """For the Lease."""
        return {STORM: self.fleet.encode(), KNOWN: encoded(*self._rises.known(), self.namespaces)}

    def _end(self, now: float, settings: StormSettings, resumed: Mapping[str, float]) -> None:
        """Ends what has lasted for long enough, and what a person has seen: what is left of it is a backlog."""
        if _over(self.fleet, now, settings, resumed.get("")):
            self._rises.settle(None)
            self.fleet, self.namespaces = Storm(), {}
        for namespace, storm in list(self.namespaces.items()):
            if _over(storm, now, settings, max(resumed.get(namespace, 0.0), resumed.get("", 0.0))):
                self._rises.settle(namespace)
                self.namespaces = {name: each for name, each in self.namespaces.items() if name != namespace}


def _over(storm: Storm, now: float, settings: StormSettings, resumed: float | None) -> bool:
    if storm.state is StormState.NORMAL or not storm.since:  # one without a beginning could not be read
        return False
    lasted = storm.state is StormState.STORM and now - storm.since >= settings.longest.total_seconds()
    return lasted or (resumed is not None and resumed > storm.since)


def _least(settings: StormSettings, vms: int | None) -> int:
    return max(settings.at_least, math.ceil(settings.share * (vms or 0)))


def _of_namespace(namespace: str, most: tuple[int, str], settings: StormSettings, vms: int | None) -> Rise:
    number, check = most
    where = f"in namespace {namespace}" if namespace else "of objects without namespace"
    size = "an unknown number of" if vms is None else vms
    of = f" of {check}" if check else ""
    within = f" (within {write_duration(settings.window)})"
    return Rise(number, _least(settings, vms), f"{number} findings{of} are new {where} with {size} VMs{within}")


def _of_fleet(new: Counter[Key], settings: StormSettings, fleet: int | None) -> Rise:
    """Of the check that rises most."""
    least = _least(settings, fleet)
    part = math.ceil(least / settings.namespaces)
    counted: Counter[str] = Counter()
    findings: Counter[str] = Counter()
    namespaces: Counter[str] = Counter()
    for (_, check), number in new.items():
        counted[check] += min(number, part)
        findings[check] += number
        namespaces[check] += 1
    check, number = max(counted.items(), key=lambda each: (each[1], each[0]), default=("", 0))
    size = "a fleet of unknown size" if fleet is None else f"a fleet of {fleet} VMs"
    of = f" of {check}" if check else ""
    where = f"{namespaces[check]} namespaces"
    rule = f"counted as {number}, since one namespace counts for at most {part}"
    return Rise(number, least, f"{findings[check]} findings{of} are new in {where} of {size} ({rule})")
