"""What opened and closed lately, in words that claim no more than was watched."""

from __future__ import annotations

from exporter.questions.times import lately_said, rfc3339

from ....evaluation import NOW


def said(watched: float, opened: int, closed: int) -> str:
    return lately_said(opened, closed, rfc3339(NOW - watched), NOW)


def test_an_hour_that_was_watched_whole_is_said() -> None:
    assert said(3600, 1240, 38) == "1,240 opened, 38 closed in the last hour"
    assert said(720_000, 0, 2) == "2 closed in the last hour"
    assert said(3600, 0, 0) == "no change in the last hour"


def test_an_hour_that_began_before_the_steward_is_said_as_what_it_is() -> None:
    assert said(600, 3, 1) == "3 opened, 1 closed since the steward began to count 10m ago"
    assert said(3599, 0, 0) == "no change since the steward began to count 59m ago"
