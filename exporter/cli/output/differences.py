"""What two reports differ in, as text."""

from __future__ import annotations

from ...store.text.naming import counted
from ...views.differences import Change, Differences
from .findings.changes import cells_of
from .text.paragraphs import sentence
from .text.screen import rows_of

_HEAD = ("CHANGE", "SEVERITY", "REASON", "OBJECT", "WHAT")


def differed(found: Differences, columns: int | None) -> str:
    rows = [cells_of(each) for each in found.differences]
    changes = [each.change for each in found.differences]
    counts = ", ".join(f"{changes.count(each)} {each.value}" for each in Change if each in changes)
    lines = rows_of(_HEAD, rows, columns) if rows else []
    lines += [""] if rows else []
    text = "".join(f"{line}\n" for line in lines)
    text += sentence(f"{counts or 'No differences'}; {counted(found.same, 'finding')} as before.", "", columns)
    if found.unanswered:
        which = f"{counted(len(found.unanswered), 'check')} without a complete answer in just one of both"
        text += sentence(f"{which}; `steward check` says why.", "", columns)
    return text
