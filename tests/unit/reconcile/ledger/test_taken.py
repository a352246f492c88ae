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
        ((), "the ledger has no attempt a-1; `steward reconcile ledger` lists them"),
        ((("intended", "a-1", {}),), "attempt a-1 is not over: whether it was written is not known yet"),
        ((("intended", "a-1", {}), ("unclear", "a-1", {})), "attempt a-1 is not over"),
        ((("intended", "a-1", {}), ("failed", "a-1", {})), "attempt a-1 changed nothing"),
        ((("intended", "a-1", {}), ("resolved", "a-1", {"happened": False})), "attempt a-1 changed nothing"),
        ((*DONE, UNDO, ("done", "b-3", {})), "attempt a-1 was taken back before; see `steward reconcile ledger a-1`"),
        ((*DONE, UNDO, ("resolved", "b-3", {"happened": True})), "attempt a-1 was taken back before"),
        ((*DONE, UNDO), "attempt b-3, which takes back attempt a-1, is not over"),
        ((*DONE, UNDO, ("unclear", "b-3", {})), "attempt b-3, which takes back attempt a-1, is not over"),
        (
            (("intended", "a-1", {"undoes": "z-0"}), ("done", "a-1", {})),
            "attempt a-1 took back attempt z-0; to have that once more, repair it again",
        ),
    ],
)
def test_what_can_not_be_taken_back(events: tuple[Any, ...], why: str) -> None:
    with pytest.raises(ValueError, match=f"^{why}"):
        taken(ledger(*events), "a-1")
