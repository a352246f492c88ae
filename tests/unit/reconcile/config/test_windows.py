"""Maintenance windows: over midnight, in time zones, and in the nights in which a clock is changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.config.forms import DAYS, Window
from reconcile.config.windows import closed_until


def at(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def window(**values: Any) -> Window:
    return Window.model_validate(values, by_alias=True, by_name=False)


BERLIN = {"timeZone": "Europe/Berlin"}
NIGHT = window(**{"from": "22:00", "to": "05:00"}, **BERLIN)
SKIPPED = window(**{"from": "02:15", "to": "02:45"}, **BERLIN)
ENDS_SKIPPED = window(**{"from": "01:00", "to": "02:30"}, **BERLIN)
BEGINS_SKIPPED = window(**{"from": "02:30", "to": "04:00"}, **BERLIN)
FRIDAY = window(days=["Fri"], **{"from": "22:00", "to": "05:00"}, **BERLIN)
WEEKEND = window(days=["Sat", "Sun"], **BERLIN)
LORD_HOWE = window(**{"from": "02:10", "to": "03:00", "timeZone": "Australia/Lord_Howe"})  # its clock skips 30 minutes
SAMOA = window(days=["Fri"], timeZone="Pacific/Apia")  # which skipped Friday, 2011-12-30


@pytest.mark.parametrize(
    ("each", "now", "opens"),
    [
        (NIGHT, "2026-07-01T22:00:00+02:00", None),
        (NIGHT, "2026-07-01T21:59:59+02:00", "2026-07-01T22:00:00+02:00"),
        (NIGHT, "2026-07-02T04:59:59+02:00", None),
        (NIGHT, "2026-07-02T05:00:00+02:00", "2026-07-02T22:00:00+02:00"),
        (NIGHT, "2026-01-15T22:30:00+01:00", None),
        (NIGHT, "2026-01-15T22:30:00+02:00", "2026-01-15T22:00:00+01:00"),
        # The day is that of the beginning.
        (FRIDAY, "2026-07-03T23:00:00+02:00", None),  # a Friday
        (FRIDAY, "2026-07-04T04:00:00+02:00", None),
        (FRIDAY, "2026-07-03T04:00:00+02:00", "2026-07-03T22:00:00+02:00"),
        (FRIDAY, "2026-07-04T05:00:00+02:00", "2026-07-10T22:00:00+02:00"),
        (WEEKEND, "2026-07-04T00:00:00+02:00", None),
        (WEEKEND, "2026-07-05T23:59:59+02:00", None),
        (WEEKEND, "2026-07-06T00:00:00+02:00", "2026-07-11T00:00:00+02:00"),
        # In spring the clock goes from 02:00 to 03:00.
        (NIGHT, "2026-03-29T04:59:59+02:00", None),
        (NIGHT, "2026-03-29T05:00:00+02:00", "2026-03-29T22:00:00+02:00"),
        (SKIPPED, "2026-03-29T00:59:00+00:00", "2026-03-30T02:15:00+02:00"),
        (SKIPPED, "2026-03-29T01:00:00+00:00", "2026-03-30T02:15:00+02:00"),
        (ENDS_SKIPPED, "2026-03-29T00:59:59+00:00", None),
        (ENDS_SKIPPED, "2026-03-29T01:00:00+00:00", "2026-03-30T01:00:00+02:00"),
        (BEGINS_SKIPPED, "2026-03-29T00:59:59+00:00", "2026-03-29T01:00:00+00:00"),
        (BEGINS_SKIPPED, "2026-03-29T01:00:00+00:00", None),
        (BEGINS_SKIPPED, "2026-03-29T02:00:00+00:00", "2026-03-30T02:30:00+02:00"),
        (LORD_HOWE, "2026-10-03T15:29:59+00:00", "2026-10-03T15:30:00+00:00"),
        (LORD_HOWE, "2026-10-03T15:30:00+00:00", None),
        (LORD_HOWE, "2026-10-03T16:00:00+00:00", "2026-10-05T02:10:00+11:00"),
        (SAMOA, "2011-12-30T12:00:00+00:00", "2012-01-06T00:00:00+14:00"),
        # In autumn it goes from 03:00 back to 02:00: what it shows twice counts the first time.
        (SKIPPED, "2026-10-25T00:15:00+00:00", None),
        (SKIPPED, "2026-10-25T00:45:00+00:00", "2026-10-26T02:15:00+01:00"),
        (SKIPPED, "2026-10-25T01:20:00+00:00", "2026-10-26T02:15:00+01:00"),
        (ENDS_SKIPPED, "2026-10-25T00:30:00+00:00", "2026-10-26T01:00:00+01:00"),
        (BEGINS_SKIPPED, "2026-10-25T00:30:00+00:00", None),
        (BEGINS_SKIPPED, "2026-10-25T02:59:59+00:00", None),
        (BEGINS_SKIPPED, "2026-10-25T03:00:00+00:00", "2026-10-26T02:30:00+01:00"),
    ],
)
def test_a_window_is_open_or_says_when_it_opens(each: Window, now: str, opens: str | None) -> None:
    assert closed_until([each], at(now)) == (at(opens) if opens else None)


def test_without_windows_it_is_always_open_and_of_several_one_is_enough() -> None:
    now = at("2026-07-01T12:00:00+00:00")
    later, sooner = window(**{"from": "20:00"}), window(**{"from": "14:00", "to": "15:00"})
    assert closed_until([], now) is None
    assert closed_until([later, sooner], now) == at("2026-07-01T14:00:00+00:00")
    assert closed_until([later, window(**{"from": "11:00", "to": "13:00"})], now) is None


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2035, 1, 1)),  # noqa: DTZ001
    st.integers(0, 1439),
    st.integers(1, 1440),
    st.sets(st.sampled_from(DAYS), min_size=1),
    st.sampled_from(
        ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Cairo"]
    ),
)
def test_what_is_closed_opens_when_it_says(moment: datetime, begin: int, end: int, days: set[str], zone: str) -> None:
    if begin == end:
        return
    written = {"from": f"{begin // 60:02}:{begin % 60:02}", "to": f"{end // 60:02}:{end % 60:02}"}
    each, now = window(days=sorted(days), timeZone=zone, **written), moment.replace(tzinfo=UTC).timestamp()
    opens = closed_until([each], now)
    if opens is not None:
        assert now < opens <= now + timedelta(days=8, hours=1).total_seconds()
        assert closed_until([each], opens) is None
        assert closed_until([each], opens - 1) is not None
