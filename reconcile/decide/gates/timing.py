"""Gates of the moment: windows, the finding's age, and what Prometheus and Alertmanager say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from exporter.config.forms import write_duration
from exporter.config.mistakes import quoted
from exporter.facts.times import MOST_SKEW

from ...config.forms import DAYS, Blackout, Window, minutes
from ...config.settings import SidecarConfig
from ...plan.plan import moment
from .base import Ask, Situation

# Maintenance windows: whether one is open, and when the next one opens. Blackouts: whether one is on, and until when.
#
# A window begins the first time that its day's clock shows `from` or later, and ends the first time after that that it
# shows `to` or later. So what a clock skips in spring begins or ends as it skips it, and what it repeats in autumn
# begins or ends the first time. The same holds for blackouts.

_AHEAD = 8  # days: the same day of the next week is within


def closed_until(windows: Iterable[Window], now: float) -> float | None:
    """When the next window opens, where none is open now; None where one is, or there are none at all.

    Both in seconds since 1970.
    """
    spans = [span for window in windows for span in _spans(window, now)]
    if not spans or any(begin <= now < end for begin, end in spans):
        return None
    return min(begin for begin, _ in spans if begin > now)


def blacked_out(blackouts: Iterable[Blackout], now: float) -> tuple[Blackout, float] | None:
    """The one that is on and ends last, and when nothing is any more, in seconds since 1970; None where none is.

    What overlaps it, or begins as it ends, goes on.
    """
    spans = sorted(((*_span(each), each) for each in blackouts), key=lambda span: span[:2])
    until, found = now, None
    for begin, end, each in spans:
        if begin <= until < end:
            found = each if begin <= now and (found is None or end > until) else found
            until = end
    return (found, until) if found is not None else None


def _span(blackout: Blackout) -> tuple[float, float]:
    zone = ZoneInfo(blackout.time_zone)
    first, _, begins = blackout.from_.partition("T")
    last, _, ends = blackout.to.partition("T")
    end = date.fromisoformat(last) if ends else date.fromisoformat(last) + timedelta(days=1)
    begin = _first(date.fromisoformat(first), minutes(begins or "00:00"), zone)
    return begin, _first(end, minutes(ends or "00:00"), zone)


def _spans(window: Window, now: float) -> Iterator[tuple[float, float]]:
    """Begin and end, from the window of the day before yesterday on."""
    zone = ZoneInfo(window.time_zone)
    today = datetime.fromtimestamp(now, zone).date()
    begins, ends = minutes(window.from_), minutes(window.to)
    for number in range(-2, _AHEAD + 1):
        day = today + timedelta(days=number)
        if DAYS[day.weekday()] in window.days:
            begin = _first(day, begins, zone)
            end = _first(day if ends > begins else day + timedelta(days=1), ends, zone)
            if end > begin:  # a clock may skip all of it
                yield begin, end


def _first(day: date, minute: int, zone: ZoneInfo) -> float:
    """The first moment at which the clock shows this time of the day, or a later one."""
    wall = datetime(day.year, day.month, day.day) + timedelta(minutes=minute)  # noqa: DTZ001 # what a clock shows
    moment = wall.replace(tzinfo=zone, fold=0).timestamp()
    if _shown(moment, zone) == wall:
        return moment
    low, high = int(wall.replace(tzinfo=zone, fold=1).timestamp()), int(moment)  # around the moment of the skip
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _shown(middle, zone) >= wall else (middle, high)
    return float(high)


def _shown(moment: float, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(moment, UTC).astimezone(zone).replace(tzinfo=None)


def clocks_agree(_: Ask, situation: Situation, __: SidecarConfig) -> str | None:
    """Ages are counted from times of the API server to our own, and windows and approvals end by ours alone."""
    skew, most = situation.skew, f"and the limit is {MOST_SKEW:g} s"
    if skew is None:
        return (
            "the sidecar can't compare its clock with the API server's: no response had a date within 5 minutes. "
            "Check that the API server responds and that no proxy removes header Date"
        )
    if skew.agree:
        return None
    if not abs(skew.ahead) <= MOST_SKEW:
        where = "ahead of" if skew.ahead > 0 else "behind"
        return (
            f"the clock of {skew.host} is {abs(skew.ahead):.0f} s {where} the API server's, {most}. Find the wrong "
            "one (`chronyc tracking` on both nodes) and correct it by NTP"
        )
    return (
        f"the clocks of the API servers are {skew.spread:.0f} s apart, {most}. Find the wrong one "
        "(`chronyc tracking` on the nodes of the control plane) and correct it by NTP"
    )


def window_open(_: Ask, situation: Situation, config: SidecarConfig) -> tuple[str, float | None] | None:
    until = closed_until(config.windows, situation.now)
    if until is None:
        return None
    return f"no maintenance window is open. The next opens at {moment(until)} (windows)", until


def no_blackout(_: Ask, situation: Situation, config: SidecarConfig) -> tuple[str, float | None] | None:
    found = blacked_out(config.blackouts, situation.now)
    if found is None:
        return None
    blackout, until = found
    return f"a blackout is active until {moment(until)}: {quoted(blackout.reason)} (blackouts)", until


def old_enough(ask: Ask, situation: Situation, config: SidecarConfig) -> tuple[str, float | None] | None:
    least = config.of(ask.remediation.id).min_age
    if not least:
        return None
    if ask.since is None:
        return f"the age of the finding is unknown, and it must be at least {write_duration(least)}", None
    until = ask.since + least.total_seconds()
    if situation.now >= until:
        return None
    age = write_duration(timedelta(seconds=max(0, int(situation.now - ask.since))))
    return f"the finding is {age} old. The sidecar writes from an age of {write_duration(least)} (minAge)", until


def not_silenced(ask: Ask, situation: Situation, _: SidecarConfig) -> str | None:
    found = situation.silenced(ask)
    if found is None:
        return "Alertmanager couldn't be asked for silences: one might match"
    return f"a silence in Alertmanager matches: {found}. Expire it there to continue" if found else None
