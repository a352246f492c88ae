"""What is acknowledged, as an entry of a configuration and as a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ....config.editing import entry_lines
from ....views.causes import CauseReport, KnownCause
from ..text.screen import rows_of
from ..text.terminal import one_line
from .check_report import objects_of

_HEAD = ("CAUSE", "STATE", "UP TO", "UNTIL", "BY", "OF", "BECAUSE")
_STATES = {"over": "over: it alerts again", "worse": "is worse: it alerts", "closed": "no open cause has this id"}


def entry(fields: dict[str, str], comment: str) -> str:
    """To be pasted."""
    lines = entry_lines(fields, comment)
    return "\n".join(("# Put this into the list of the exporter's configuration:", "acknowledged:", *lines)) + "\n"


def summary(cause: CauseReport) -> str:
    return one_line(f"{cause.severity} {cause.reason}, {objects_of(cause)}")


def listed(known: Sequence[KnownCause], causes: Iterable[CauseReport], columns: int | None) -> str:
    if not known:
        return "Nothing is acknowledged.\n"
    of = {each.cause: each for each in causes}
    rows = [
        (
            *(each.cause, _STATES.get(each.state, each.state), each.acknowledged.severity, each.acknowledged.until),
            each.acknowledged.by or "-",
            f"{cause.reason}, {objects_of(cause)}" if (cause := of.get(each.cause)) else "-",
            each.acknowledged.because,
        )
        for each in known
    ]
    return "".join(f"{line}\n" for line in rows_of(_HEAD, rows, columns))
