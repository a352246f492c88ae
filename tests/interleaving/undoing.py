"""A person who takes back what a sidecar wrote, some time later, while everything goes on."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from types import SimpleNamespace

from reconcile.cli.undo import _attempt, _inverted
from reconcile.confirm import Confirmed
from reconcile.ledger import Entry, Event
from reconcile.plan import Refused

from .access import Turn
from .steward import KINDS, Steward

__all__ = ["Person"]


class Person(Steward):
    """With a ledger of their own, and one attempt."""

    @staticmethod
    def done_by(other: Steward) -> list[Entry]:
        return [entry for entry in other.ledger.entries() if entry.event is Event.DONE]

    def takes_back(self, others: list[Steward], rng: Random) -> Iterator[None]:
        for _ in range(rng.choice((0, 3, 20, 100))):
            yield
        whose, entry = rng.choice([(each, entry) for each in others for entry in self.done_by(each)])
        entries = sorted((*whose.ledger.entries(), *self.ledger.entries()), key=lambda each: each.at)
        try:
            intended, after = _attempt(entries, entry.attempt)
        except ValueError:
            return
        at = SimpleNamespace(kinds=KINDS, reads=self._reads)
        self.begins()

        async def make() -> Confirmed | Refused:
            self.reads_now()
            return await _inverted(at, intended, after, "person")  # type: ignore[arg-type] # of a desk it needs no more

        async def permit(first: Confirmed) -> Refused | None:
            self.permitted(first)
            await Turn("gates", slow=True)
            return None

        yield from self.tried(self._attempts.run(make, permit, mode="undo", undoes=entry.attempt))
