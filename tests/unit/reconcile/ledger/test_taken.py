"""Which attempt of the ledger can be taken back: one that is over, wrote something, and was not taken back before."""

from __future__ import annotations

from typing import Any

import pytest

from reconcile.ledger import Entry, Event
from reconcile.ledger.attempts import taken
from tests.all_of import each_of
from tests.ledgers import plan

BEFORE, AFTER = {"metadata": {"name": "before"}}, {"metadata": {"name": "after"}}


def ledger(*events: tuple[str, str, dict[str, Any]]) -> list[Entry]:
    """Entries by event and attempt, with other fields."""
    found = []
    for number, (event, attempt, more) in enumerate(events, 1):
        fields: dict[str, Any] = {"plan": plan(), "whole": BEFORE} if event == "intended" else {}
        found.append(Entry(seq=number, at=float(number), event=Event(event), attempt=attempt, **fields | more))
    return found


DONE: tuple[Any, ...] = (("intended", "a-1", {}), ("done", "a-1", {"whole": AFTER}))
UNDO: tuple[str, str, dict[str, Any]] = ("intended", "b-3", {"undoes": "a-1", "mode": "undo"})


@pytest.mark.parametrize(
    "events",
    [
        DONE,
        (("intended", "a-1", {}), ("unclear", "a-1", {}), ("resolved", "a-1", {"happened": True, "whole": AFTER})),
        (*DONE, UNDO, ("failed", "b-3", {})),
        (*DONE, UNDO, ("unclear", "b-3", {}), ("resolved", "b-3", {"happened": False})),
        (("intended", "c-1", {}), *DONE, ("verified", "a-1", {})),
    ],
)
def test_what_was_written_and_is_still_there(events: tuple[Any, ...]) -> None:
    found = taken(ledger(*events), "a-1")
    assert (found.attempt, found.plan, found.before, found.after) == ("a-1", plan(), BEFORE, AFTER)


@each_of(
    ("events", "why"),
    [
        ((), "the ledger has no attempt a-1. Run `steward reconcile ledger` to list attempts"),
        ((("intended", "a-1", {}),), "attempt a-1 is not finished: the outcome of its write is unknown"),
        ((("intended", "a-1", {}), ("unclear", "a-1", {})), "attempt a-1 is not finished"),
        (
            (("intended", "a-1", {}), ("failed", "a-1", {})),
            "attempt a-1 can't be undone: according to the ledger, it changed nothing",
        ),
        (
            (("intended", "a-1", {}), ("resolved", "a-1", {"happened": False})),
            "attempt a-1 can't be undone: according to the ledger, it changed nothing",
        ),
        ((*DONE, UNDO, ("done", "b-3", {})), "attempt a-1 was undone before. Run `steward reconcile ledger a-1`"),
        ((*DONE, UNDO, ("resolved", "b-3", {"happened": True})), "attempt a-1 was undone before"),
        ((*DONE, UNDO), "attempt b-3, the undo of attempt a-1, is not finished"),
        ((*DONE, UNDO, ("unclear", "b-3", {})), "attempt b-3, the undo of attempt a-1, is not finished"),
        (
            (("intended", "a-1", {"undoes": "z-0"}), ("done", "a-1", {})),
            "attempt a-1 is the undo of attempt z-0 and can't be undone. To repair the object again",
        ),
    ],
)
def test_what_can_not_be_taken_back(events: tuple[Any, ...], why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}"):
        taken(ledger(*events), "a-1")
