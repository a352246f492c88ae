"""`steward vms`: a line for each VM, with what must not be done to it."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from ...facts.naming import cell, counted, kind_word, named
from ...questions.trust import exit_code
from ...questions.vms import COLUMNS, QUESTION, VMRow, VMs, cells, said
from ..asking import CommandQuestion
from ..output.text.layout import grid

_HEAD = ("NAMESPACE", "NAME", "STATE", "NODE", "FINDINGS", "FINDINGS FORBID")
_WIDE = (*_HEAD[:-1], "RUN STRATEGY", "INSTANCETYPE", "PREFERENCE", "ADDRESSES", "RESTART REQUIRED", _HEAD[-1])


def listed_vms(found: VMs, columns: int | None, *, wide: bool = False) -> str:
    """`columns` of the terminal; None where it goes elsewhere."""
    if not found.rows:
        return "No VMs match.\n" if not found.in_all else f"{_counted(found)}\n"
    head = _WIDE if wide else _HEAD
    rows = [tuple(each or "-" for each in _row(row, wide=wide)) for row in found.rows]
    return f"{grid(head, rows, None if wide else columns)}{_counted(found)}\n"


def _counted(found: VMs) -> str:
    if len(found.rows) == found.in_all:
        return f"{counted(found.in_all, 'VM')}."
    if not found.rows:
        return f"There are {counted(found.in_all, 'VM')}, and none on this page."
    return f"{found.first + 1:,} to {found.first + len(found.rows):,} of {counted(found.in_all, 'VM')}."


def _row(row: VMRow, *, wide: bool = False) -> Iterator[str]:
    yield from (row.vm.namespace, row.vm.name, row.state, row.node)
    yield f"{row.findings} ({row.severity})" if row.findings else ""
    if wide:
        yield from (row.run_strategy, row.instancetype, row.preference, ", ".join(row.addresses))
        yield "yes" if row.restart_required else "no"
    yield "; ".join(said(row))


def csv_of(found: VMs) -> str:
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(COLUMNS)
    rows.writerows([cell(each) for each in cells(row)] for row in found.rows)
    return written.getvalue()


def names(found: VMs) -> str:
    """As `steward vm` takes them."""
    return "".join(f"{kind_word(row.vm.kind).lower()}/{row.vm.path}\n" for row in found.rows)


def _lacking(found: VMs, check: str) -> Iterator[str]:
    if found.unseen:
        what = "addresses and what filters ask for may be missing" if found.complete else "the list is incomplete"
        yield f"{what} while {', '.join(found.unseen)} can't be seen; {check} says why"
    if found.unread:
        yield f"{named(list(map(str, found.unread)))} can't be read, and is missing in the list"


run = CommandQuestion(
    QUESTION,
    text=lambda found, _, columns, __: listed_vms(found, columns),
    formats={"wide": lambda found: listed_vms(found, None, wide=True), "csv": csv_of, "name": names},
    code=lambda found, in_time: exit_code(unknown=not found.complete or not in_time),
    lacking=_lacking,
).run
