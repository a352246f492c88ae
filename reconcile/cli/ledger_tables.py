"""Tables of what ledgers have: what was only shadowed, by cause, and by day."""

from __future__ import annotations

from collections.abc import Iterable

from exporter.cli.output.table import table

from ..plan.time_text import moment
from ..show.deeds import Deed
from ..show.tallies import COLUMNS, CauseRow, DayRow, Tally

__all__ = ["of_causes", "of_days", "of_shadowed"]

_BY_DAY = ("found", "planned", "shadowed", "written", "verified", "returned", "undone")
_OF_CAUSE = ("shadowed", "went", "written", "failed", "unclear", "verified", "persists", "returned", "undone")


def of_shadowed(deeds: Iterable[Deed]) -> str:
    """What would have been written, and whether its finding is there still."""
    rows = [(moment(each.at), each.attempt, _state(each), each.remediation, each.write) for each in deeds]
    return (
        table(("AT", "ATTEMPT", "FINDING", "REMEDIATION", "WOULD WRITE"), rows) if rows else "Nothing was shadowed.\n"
    )


def _state(deed: Deed) -> str:
    if deed.went is None:
        return "open"
    return "gone, somebody wrote it" if deed.somebody else "gone"


def of_causes(found: Iterable[CauseRow]) -> str:
    """One row for each remediation and cause."""
    rows = [
        (
            each.remediation,
            f"{each.reason} of {each.what}",
            str(each.objects),
            each.cause,
            _numbers(each.tally, _OF_CAUSE),
        )
        for each in found
    ]
    return (
        table(("REMEDIATION", "CAUSE", "OBJECTS", "ID", "WHAT CAME OF IT"), rows) if rows else "Nothing was written.\n"
    )


def of_days(found: Iterable[DayRow]) -> str:
    rows = [(each.day, *(str(getattr(each.tally, name)) for name in _BY_DAY), each.remediation) for each in found]
    head = ("DAY (UTC)", *(COLUMNS[name].upper() for name in _BY_DAY), "REMEDIATION")
    return table(head, rows) if rows else "Nothing was counted.\n"


def _numbers(tally: Tally, names: Iterable[str]) -> str:
    """Those that are not 0, with their words."""
    return ", ".join(f"{number} {COLUMNS[name]}" for name in names if (number := getattr(tally, name)))
