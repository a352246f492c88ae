"""Whether the ledger says of each write what came of it, and what came of those that arrived late."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from reconcile.ledger import Entry, Event
from reconcile.plan.plan import Create

from .steward import Steward
from .world import Change, Key, World
from .writer import Write

__all__ = ["Truth"]

_ENDS = (Event.DONE, Event.FAILED, Event.RESOLVED)


@dataclass
class Truth:
    """What the API server took, by sidecar and attempt, and what somebody has to be told of that."""

    world: World
    _taken: dict[tuple[str, str], float] = field(default_factory=dict)
    _loud: dict[tuple[str, str], str] = field(default_factory=dict)
    _others: dict[Key, list[tuple[str, float]]] = field(default_factory=dict)  # who changed an object, and when

    def __post_init__(self) -> None:
        self.world.watches.append(self._watch)

    def _watch(self, change: Change) -> None:
        self._others.setdefault(change.key, []).append((change.by, self.world.now))

    def took(self, write: Write) -> None:
        self._taken[write.by, write.attempt] = self.world.now

    def has_to_say(self, write: Write, what: str) -> None:
        self._loud.setdefault((write.by, write.attempt), what)

    def of(self, steward: Steward) -> Iterator[tuple[str, str]]:
        """Once nothing is under way any more."""
        entries = list(steward.ledger.entries())
        for intended in (each for each in entries if each.event is Event.INTENDED):
            own = [each for each in entries if each.attempt == intended.attempt]
            ends = [each for each in own if each.event in _ENDS]
            if ends:
                yield from self._ended(steward.name, intended, ends[-1])
            what = self._loud.get((steward.name, intended.attempt))
            if what is not None and not any(_says(each) for each in own):
                yield "said loudly", f"attempt {intended.attempt} of {steward.name}: {what}, and nobody is told"

    def _ended(self, name: str, intended: Entry, end: Entry) -> Iterator[tuple[str, str]]:
        at = self._taken.get((name, intended.attempt))
        done = end.event is Event.DONE or (end.event is Event.RESOLVED and bool(end.happened))
        where = f"attempt {intended.attempt} of {name} ends with {end.event}"
        unknown = end.event is Event.RESOLVED and end.happened is None
        creates = intended.plan is not None and isinstance(intended.plan.step, Create)  # one that is gone shows nothing
        if unknown and not creates and not self._by_others(name, intended):
            yield "ledger true", f"{where}, {end.why!r}, and nobody else wrote"
        if at is not None and not done and not unknown:
            yield "ledger true", f"{where}, {end.why!r}, and it happened"
        if at is None and done and not self._by_others(name, intended):
            yield "ledger true", f"{where}, and it never happened"

    def _by_others(self, name: str, intended: Entry) -> bool:
        """Whether somebody else may have brought about the same."""
        target = intended.plan.target if intended.plan is not None else None
        changes = self._others.get((target.kind, target.namespace, target.name), []) if target else []
        return any(by != name for by, _ in changes)


def _says(entry: Entry) -> bool:
    return entry.event in (Event.IN_USE, Event.UNSEEN)
