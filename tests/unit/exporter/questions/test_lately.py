"""What opened and closed lately, in words that claim no more than was watched."""

from __future__ import annotations

from exporter.engine.causes import Changes, Count
from exporter.questions.times import changes_said, latest, rfc3339

from ....evaluation import NOW

CHANGES = Changes(Count(3, 1), Count(10, 4), Count(1240, 38))
HOUR = 3600.0


def said(watched: float, changes: Changes = CHANGES) -> str:
    return changes_said(changes, rfc3339(NOW - watched), NOW)


def test_each_span_that_was_watched_whole_is_said() -> None:
    assert said(200 * HOUR) == (
        "3 opened, 1 closed in the last hour; 10 opened, 4 closed in the last day; "
        "1,240 opened, 38 closed in the last week"
    )


def test_a_span_that_began_before_the_steward_is_said_as_what_it_is() -> None:
    assert said(600) == "3 opened, 1 closed since the steward began to count 10m ago"
    assert said(5 * HOUR) == (
        "3 opened, 1 closed in the last hour; 10 opened, 4 closed since the steward began to count 5h ago"
    )


def test_what_is_the_same_is_said_once_of_the_longer_span() -> None:
    assert said(200 * HOUR, Changes()) == "no change in the last week"
    quiet = Changes(Count(), Count(1, 1), Count(1, 1))
    assert said(200 * HOUR, quiet) == "no change in the last hour; 1 opened, 1 closed in the last week"


def test_a_row_says_the_shortest_span_in_which_anything_changed() -> None:
    since = rfc3339(NOW - 200 * HOUR)
    assert latest(CHANGES, since, NOW) == "3 opened, 1 closed in the last hour"
    assert latest(Changes(week=Count(0, 2)), since, NOW) == "2 closed in the last week"
    assert latest(Changes(), since, NOW) == ""
