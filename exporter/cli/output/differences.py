"""What two reports differ in, as text."""

from __future__ import annotations

from ...store.text.naming import counted
from ...views.differences import Change, Differences
from .findings.changes import cells_of
from .text.screen import rows_of

__all__ = ["differed"]

_HEAD = ("CHANGE", "SEVERITY", "REASON", "OBJECT", "WHAT")


def differed(found: Differences, columns: int | None) -> str:
    rows = [cells_of(each) for each in found.differences]
    changes = [each.change for each in found.differences]
    counts = ", ".join(f"{changes.count(each)} {each.value}" for each in Change if each in changes)
    lines = rows_of(_HEAD, rows, columns) if rows else []
    lines += [""] if rows else []
    lines.append(f"{counts or 'No differences'}; {counted(found.same, 'finding')} as before.")
    if found.unanswered:
        which = counted(len(found.unanswered), "check")
        lines.append(f"{which} without a complete answer in just one of both; `steward check` says why.")
    return "".join(f"{line}\n" for line in lines)
