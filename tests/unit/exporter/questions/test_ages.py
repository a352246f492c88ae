"""Ages as users read them."""

from __future__ import annotations

import pytest

from exporter.facts.times import Since
from exporter.questions.times import age, duration, origin, rfc3339

NOW = 1_790_000_000.0


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        *((0.0, "0s"), (59.9, "59s"), (60.0, "1m"), (75.0, "1m15s"), (200.0, "3m"), (3600.0, "1h"), (8100.0, "2h15m")),
        *((11_000.0, "3h"), (86_400.0, "1d"), (100_000.0, "1d3h"), (400_000.0, "4d"), (-5.0, "0s")),
    ],
)
def test_a_duration_in_its_largest_units(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_an_age_says_how_well_it_is_known() -> None:
    assert age(NOW, rfc3339(NOW - 259_200), Since.CREATION) == "3d"
    assert age(NOW, rfc3339(NOW - 120), Since.FIRST_SEEN) == "≥ 2m"
    assert age(NOW, "", Since.FIRST_SEEN) == "-"


def test_each_source_of_a_time_is_said_in_a_sentence() -> None:
    assert all(origin(each.value).endswith(".") for each in Since)
    assert origin("nothing") == ""
