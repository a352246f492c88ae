"""First repairs among crashes, late answers, Leases that are lost, and clocks that jump: one, then two."""

from __future__ import annotations

import os

import pytest

from reconcile.carry_out.verifying import Verifying
from reconcile.ledger.trials import Canary

from ....interleaving.access import Weakened
from ....interleaving.trials import tried

pytestmark = pytest.mark.long

COUNT = 100 if os.environ.get("FUZZ") == "all" else 50  # `python -m tests.interleaving --canary` runs more
MOST = 300


@pytest.mark.parametrize("portion", range(2))
def test_one_is_on_trial_and_then_two_whatever_happens(portion: int) -> None:
    ran = [tried(f"1/{number}") for number in range(portion, COUNT, 2)]
    assert [each for each in ran if each.violations] == []
    assert any(each.stayed >= 3 for each in ran)  # they come to an end, too
    assert any(each.struck for each in ran)


def first(weakened: Weakened | None = None) -> set[str]:
    """The invariants that the first interleaving breaks in which one is broken."""
    found = (tried(f"1/{number}", weakened).violations for number in range(MOST))
    return {each.invariant for each in next(filter(None, found), ())}


def test_without_the_gate_it_is_noticed() -> None:
    assert "one, then two" in first(Weakened(ungated="canary"))


@pytest.mark.parametrize(
    ("owner", "name", "instead"),
    [
        # A write whose end is not known counts no more.
        (Canary, "room", lambda self, _: int(not self.strike and len(self.pending) < 2)),
        (Verifying, "_keep_of_canary", Verifying._keep),
    ],
    ids=["that two are too many at first", "that the clock is right"],
)
def test_a_weaker_one_is_noticed(owner: type, name: str, instead: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner, name, instead)
    assert "one, then two" in first()
