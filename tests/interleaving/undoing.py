"""A person who takes back what a sidecar wrote, some time later, while everything goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from reconcile.carry_out.confirm import Confirmed, confirm_undo
from reconcile.config.settings import Mode
from reconcile.ledger import Entry, Event
from reconcile.ledger.attempts import taken
from reconcile.plan.plan import Refused
from reconcile.plan.remediations import undo_of
from reconcile.plan.undo import LOSSES, Undo

from .access import Turn
from .steward import REMEDIATIONS, Steward

__all__ = ["Person"]


class Person(Steward):
    """With a ledger of their own, and one attempt; now and then whatever is lost is accepted."""

    others: tuple[Steward, ...] = ()  # whose writes they take back

    def entries(self) -> Iterable[Entry]:
        """Of their own ledger and of those of the sidecars."""
        found = (entry for each in (*self.others, self) for entry in each.ledger.entries())
        return sorted(found, key=lambda each: each.at)

    @staticmethod
    def done_by(other: Steward) -> list[Entry]:
        return [entry for entry in other.ledger.entries() if entry.event is Event.DONE]

    def takes_back(self, rng: Random) -> Iterator[None]:
        for _ in range(rng.choice((0, 3, 20, 100))):
            yield
        entry = rng.choice([entry for each in self.others for entry in self.done_by(each)])
        try:
            own = replace(taken(self.entries(), entry.attempt), by="person")
        except ValueError:
            return
        undo = undo_of(own.plan.remediation)
        assert undo is not None
        if isinstance(undo, Undo) and undo.losses and rng.random() < 0.3:
            own = replace(own, accepted=(rng.choice(list(LOSSES)),))
        self.begins()

        async def make() -> Confirmed | Refused:
            self.reads_now()
            return await confirm_undo(own, undo, self._reads, now=self.wall.now(), timer=self._timer)

        async def permit(first: Confirmed) -> Refused | None:
            self.permitted(first)
            await Turn("gates", slow=self._made == 1)
            return self.leave.refused(first, REMEDIATIONS[first.plan.remediation], Mode.UNDO)

        yield from self.tried(self._attempts.run(make, permit, mode="undo", undoes=entry.attempt))
