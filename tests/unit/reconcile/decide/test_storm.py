"""The storm: much that is new stops writes, little lets them go on after a cooldown, and a restart forgets nothing."""

from __future__ import annotations

import pytest

from reconcile.decide.storms import Rise, Storm, StormState
from tests.all_of import each_of
from tests.repairs import NOW, config

SETTINGS = config(storm={"share": 0.1, "atLeast": 10, "cooldown": "15m"}).storm
STORM, COOLDOWN = Storm(StormState.STORM, NOW - 60, None, "x"), Storm(StormState.COOLDOWN, NOW - 60, NOW + 840, "x")


def rise(findings: int) -> Rise:
    return Rise(findings, 10, f"{findings} are new")


@each_of(
    ("before", "findings", "weather"),
    [
        (Storm(), 9, StormState.NORMAL),
        (Storm(), 10, StormState.STORM),
        (Storm(), None, StormState.NORMAL),
        (STORM, 10, StormState.STORM),
        (STORM, 9, StormState.COOLDOWN),
        (STORM, None, StormState.STORM),
        (COOLDOWN, 10, StormState.STORM),
        (COOLDOWN, 9, StormState.COOLDOWN),
        (COOLDOWN, None, StormState.COOLDOWN),
    ],
)
def test_what_a_look_changes(before: Storm, findings: int | None, weather: StormState) -> None:
    seen = None if findings is None else rise(findings)
    assert before.next(seen, NOW, SETTINGS).state is weather


def test_a_storm_and_the_calm_after_it() -> None:
    storm = Storm().next(rise(12), NOW, SETTINGS)
    assert storm == Storm(StormState.STORM, NOW, None, "12 are new; 10 are a storm")
    assert storm.next(rise(15), NOW + 30, SETTINGS).since == NOW
    over = storm.next(rise(3), NOW + 60, SETTINGS)
    assert (over.state, over.until, over.why) == (
        StormState.COOLDOWN,
        NOW + 960,
        "a storm ended: 3 are new; 10 would be one",
    )
    assert over.next(rise(3), NOW + 959, SETTINGS) == over
    assert over.next(None, NOW + 959, SETTINGS).until == NOW + 959 + 900
    assert over.next(rise(3), NOW + 960, SETTINGS) == Storm()


def test_a_clock_that_was_ahead_makes_no_endless_cooldown() -> None:
    ahead = Storm(StormState.COOLDOWN, NOW + 1e8, NOW + 1e8 + 900)
    assert ahead.next(rise(0), NOW, SETTINGS).until == NOW + 900
    assert Storm(StormState.COOLDOWN).next(rise(0), NOW, SETTINGS) == Storm()


@pytest.mark.parametrize("storm", [Storm(), STORM, COOLDOWN])
def test_it_survives_a_restart(storm: Storm) -> None:
    again = Storm.decode(storm.encode())
    assert (again.state, again.since, again.until) == (storm.state, storm.since, storm.until)


@each_of(
    "text", ["x", "storm", "normal ", "storm from -1", "storm from 1e9", "cooldown from 1", "cooldown from 1 until nan"]
)
def test_what_cannot_be_read_is_a_storm_that_ends_in_a_cooldown(text: str) -> None:
    storm = Storm.decode(text)
    assert storm.state is StormState.STORM
    assert "can't be read" in storm.why
    assert storm.next(rise(0), NOW, SETTINGS).until == NOW + 900
    assert storm.next(rise(10), NOW, SETTINGS).since == NOW


@pytest.mark.parametrize("text", ["", None, "normal"])
def test_nothing_left_is_normal(text: str | None) -> None:
    assert Storm.decode(text) == Storm()
