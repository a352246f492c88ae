"""What was, as it is drawn: three states, gaps that stay gaps, and texts that say the same."""

from __future__ import annotations

from exporter.questions.timeline import Span, curves_of, timeline_of

from ....evaluation import NOW

HOUR = 3600
WEEK = 168 * HOUR


def at(*hours: int, value: float = 1.0) -> list[tuple[float, float]]:
    """Points so many hours before now."""
    return sorted((NOW - hour * HOUR, value) for hour in hours)


def test_found_seen_to_be_clear_and_not_seen_are_three_things() -> None:
    made = timeline_of(at(0, 1, 2), at(*range(3, 10)) + at(*range(10, 20), value=0.0), NOW, WEEK, HOUR)
    assert made is not None
    assert made.spans == (Span(0, 158, "unseen"), Span(158, 165, "clear"), Span(165, 168, "found"))
    assert made.text == "Found in 3h of the last week, in one stretch. For 6d it is not known."


def test_what_was_found_while_its_check_had_no_answer_is_found() -> None:
    made = timeline_of(at(0), at(0, value=0.0), NOW, WEEK, HOUR)
    assert made is not None
    assert made.spans[-1] == Span(167, 168, "found")


def test_nothing_is_drawn_of_what_nobody_knows() -> None:
    assert timeline_of((), (), NOW, WEEK, HOUR) is None
    assert timeline_of(at(500), at(500, -500), NOW, WEEK, HOUR) is None  # before, and ahead of, what is drawn


def test_a_week_in_which_it_was_not_found_is_said() -> None:
    made = timeline_of((), at(*range(168)), NOW, WEEK, HOUR)
    assert made is not None
    assert made.text == "Not found in the last week, as far as Prometheus knows."


def test_a_curve_has_a_line_for_each_stretch_without_a_gap() -> None:
    values = [(NOW - 900 * step, float(value)) for step, value in ((9, 2), (8, 4), (7, 0), (3, 1), (2, 1))]
    (curve,) = curves_of(("critical", "warning"), {"critical": values, "warning": values[:1]}, NOW, 86_400, 900)
    assert curve.text == "1 critical, between 0 and 4 in the last day"
    assert curve.lines == ("87,10.0 88,1.0 89,19.0", "93,14.5 94,14.5")


def test_a_number_that_is_always_0_is_a_line_at_the_bottom() -> None:
    (curve,) = curves_of(("critical",), {"critical": [(NOW - 900, 0.0), (NOW, 0.0)]}, NOW, 86_400, 900)
    assert curve.lines == ("95,19.0 96,19.0",)
