"""Tables of what ledgers have: what was written, what was only shadowed, by cause, and by day. `columns` is how wide
the terminal is, None for no limit.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..plan.time_text import moment
from ..show.deeds import Deed
from ..show.plans import sentence
from ..show.tallies import COLUMNS, CauseRow, DayRow, Tally
from .fitting import rows_whole
from .ledger_pages import AttemptRow

_BY_DAY = ("found", "planned", "shadowed", "written", "verified", "returned", "undone")
_OF_CAUSE = ("shadowed", "went", "written", "failed", "unclear", "verified", "persists", "returned", "undone")


def of_attempts(found: Iterable[AttemptRow], columns: int | None) -> str:
    rows = [
        (moment(each.at), each.attempt, row.outcome, each.plan.remediation, _undoing(each.undoes) + sentence(each.plan))
        for row in found
        if (each := row.intended).plan is not None
    ]
    head = ("AT", "ATTEMPT", "OUTCOME", "REMEDIATION", "WRITE")
    return rows_whole(head, rows, columns) if rows else "Nothing was written.\n"


def _undoing(attempt: str) -> str:
    return f"undo of {attempt}: " if attempt else ""


def of_shadowed(deeds: Iterable[Deed], columns: int | None) -> str:
    """What would have been written, and whether its finding is there still."""
    rows = [(moment(each.at), each.attempt, _state(each), each.remediation, each.write) for each in deeds]
    head = ("AT", "ATTEMPT", "FINDING", "REMEDIATION", "WOULD WRITE")
    return rows_whole(head, rows, columns) if rows else "Nothing was shadowed.\n"


def _state(deed: Deed) -> str:
    if deed.went is None:
        return "open"
    return "gone, somebody wrote it" if deed.somebody else "gone"


def of_causes(found: Iterable[CauseRow], columns: int | None) -> str:
    """One row for each remediation and cause."""
    rows = [
        (
            each.remediation,
            str(each.objects),
            each.cause,
            _numbers(each.tally, _OF_CAUSE),
            f"{each.reason} of {each.what}",
        )
        for each in found
    ]
    head = ("REMEDIATION", "OBJECTS", "ID", "WHAT CAME OF IT", "CAUSE")
    return rows_whole(head, rows, columns) if rows else "Nothing was written.\n"


def of_days(found: Iterable[DayRow], columns: int | None) -> str:
    rows = [(each.day, *(str(getattr(each.tally, name)) for name in _BY_DAY), each.remediation) for each in found]
    head = ("DAY (UTC)", *(COLUMNS[name].upper() for name in _BY_DAY), "REMEDIATION")
    return rows_whole(head, rows, columns) if rows else "Nothing was counted.\n"


def _numbers(tally: Tally, names: Iterable[str]) -> str:
    """Those that are not 0, with their words."""
    return ", ".join(f"{number} {COLUMNS[name]}" for name in names if (number := getattr(tally, name)))
