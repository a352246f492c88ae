"""Windows and blackouts: over midnight, in time zones, and in the nights in which a clock is changed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.config.forms import DAYS, Blackout, Window
from reconcile.decide.gates.timing import blacked_out, closed_until
from tests.all_of import each_of


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


@each_of(
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


def blackout(begin: str, end: str, zone: str = "Europe/Berlin", reason: str = "freeze") -> Blackout:
    written = {"from": begin, "to": end, "timeZone": zone, "reason": reason}
    return Blackout.model_validate(written, by_alias=True, by_name=False)


YEAR_END = blackout("2026-12-20", "2027-01-06")
ONE_DAY = blackout("2026-07-01", "2026-07-01")
EVENING = blackout("2026-07-01T18:00", "2026-07-01T20:30")
IN_SPRING = blackout("2026-03-29T02:30", "2026-03-29T04:00")  # the clock skips from 02:00 to 03:00
TO_SPRING = blackout("2026-03-29T00:30", "2026-03-29T02:30")
IN_AUTUMN = blackout("2026-10-25T02:30", "2026-10-25")  # it shows from 02:00 to 03:00 twice


@each_of(
    ("each", "now", "until"),
    [
        (YEAR_END, "2026-12-19T23:59:59+01:00", None),
        (YEAR_END, "2026-12-20T00:00:00+01:00", "2027-01-07T00:00:00+01:00"),
        (YEAR_END, "2027-01-06T23:59:59+01:00", "2027-01-07T00:00:00+01:00"),
        (YEAR_END, "2027-01-07T00:00:00+01:00", None),
        (YEAR_END, "2028-12-24T12:00:00+01:00", None),  # over for long
        (ONE_DAY, "2026-06-30T22:00:00+00:00", "2026-07-01T22:00:00+00:00"),
        (ONE_DAY, "2026-06-30T21:59:59+00:00", None),
        (ONE_DAY, "2026-07-01T22:00:00+00:00", None),
        (EVENING, "2026-07-01T17:59:59+02:00", None),
        (EVENING, "2026-07-01T18:00:00+02:00", "2026-07-01T20:30:00+02:00"),
        (EVENING, "2026-07-01T20:30:00+02:00", None),
        (IN_SPRING, "2026-03-29T00:59:59+00:00", None),
        (IN_SPRING, "2026-03-29T01:00:00+00:00", "2026-03-29T02:00:00+00:00"),
        (TO_SPRING, "2026-03-29T00:59:59+00:00", "2026-03-29T01:00:00+00:00"),
        (TO_SPRING, "2026-03-29T01:00:00+00:00", None),
        (IN_AUTUMN, "2026-10-25T00:29:59+00:00", None),
        (IN_AUTUMN, "2026-10-25T00:30:00+00:00", "2026-10-25T23:00:00+00:00"),
        (IN_AUTUMN, "2026-10-25T01:10:00+00:00", "2026-10-25T23:00:00+00:00"),  # 02:10 for the second time
        (blackout("2011-12-30", "2011-12-30", "Pacific/Apia"), "2011-12-30T10:00:00+00:00", None),  # a skipped day
    ],
)
def test_a_blackout_is_on_until_when_it_says(each: Blackout, now: str, until: str | None) -> None:
    assert blacked_out([each], at(now)) == ((each, at(until)) if until else None)


def test_of_blackouts_that_overlap_or_meet_the_last_end_counts() -> None:
    now = at("2026-07-01T12:00:00+02:00")
    long, inside = blackout("2026-07-01", "2026-07-03"), blackout("2026-07-01T06:00", "2026-07-01T14:00")
    after, apart = blackout("2026-07-04", "2026-07-05", reason="next"), blackout("2026-07-07", "2026-07-07")
    assert blacked_out([inside, long], now) == (long, at("2026-07-04T00:00:00+02:00"))
    assert blacked_out([apart, after, inside, long], now) == (long, at("2026-07-06T00:00:00+02:00"))
    assert blacked_out([apart, after], now) is None
    assert blacked_out([], now) is None


@each_of(
    ("begin", "end", "reason"),
    [
        ("2026-07-02", "2026-07-01", "freeze"),
        ("2026-07-01T10:00", "2026-07-01T10:00", "freeze"),
        ("2026-02-30", "2026-03-01", "freeze"),
        ("2026-7-1", "2026-07-02", "freeze"),
        ("2026-07-01T24:00", "2026-07-02", "freeze"),
        ("", "2026-07-02", "freeze"),
        ("2026-07-01", "", "freeze"),
        ("2026-07-01", "2026-07-02", ""),
    ],
)
def test_what_is_no_blackout_is_refused(begin: str, end: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"a date|before it begins|has no|is empty"):
        blackout(begin, end, reason=reason)
