"""`steward reconcile report`: what a ledger has of a time, to attach to a change ticket."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator

from exporter.cli.output.text.layout import WIDTH, json_of, paragraph
from exporter.cli.output.text.screen import width
from exporter.cli.output.text.terminal import complain, one_line, say

from ...ledger import LedgerError
from ...ledger.reading import extent
from ...publish.report import (
    TITLE,
    LedgerReport,
    ReportTable,
    facts_of,
    html_of,
    left_out,
    markdown_of,
    reported,
    tables_of,
)
from ...publish.tallies import Span
from ..fitting import rows_whole
from ..ledger_pages import given, summary_of
from ..writing import read_directory

# A report as text for a terminal: as wide as that is, and what there is none of is left out.

_CAME = "what came of it"


def text_of(report: LedgerReport, columns: int | None) -> str:
    """`columns` is how wide the terminal is, None for no limit."""
    return "".join(_lines(report, columns))


def _lines(report: LedgerReport, columns: int | None) -> Iterator[str]:
    yield f"{TITLE}\n"
    yield from (f"  {name}: {one_line(text)}\n" for name, text in facts_of(report))
    for table in tables_of(report):
        yield f"\n{table.title.upper()}\n"
        if not table.rows:
            yield f"{table.none}\n"
            continue
        yield paragraph(table.note, columns=columns or WIDTH)
        yield f"\n{_rows(table, columns)}"
        if table.more:
            yield f"{left_out(table.more)}\n"


def _rows(table: ReportTable, columns: int | None) -> str:
    """Numbers are in one cell, with what they count."""
    names = len(table.head) - table.counts
    head = (*table.head[:names], *((_CAME,) if table.counts else ()))
    counted = table.head[names:]
    rows = [(*row[:names], *((_numbers(row[names:], counted),) if table.counts else ())) for row in table.rows]
    return rows_whole([each.upper() for each in head], rows, columns)


def _numbers(cells: tuple[str, ...], words: tuple[str, ...]) -> str:
    return ", ".join(f"{cell} {word}" for cell, word in zip(cells, words, strict=True) if cell != "0")


_FORMATS = {"table": lambda report: text_of(report, width()), "md": markdown_of, "html": html_of, "json": json_of}


def run(arguments: argparse.Namespace) -> int:
    output = arguments.output or ("md" if width() is None else "table")
    try:
        say(_FORMATS[output](_report(arguments)), output)
    except (LedgerError, ValueError) as error:
        complain(str(error))
        return 2
    return 0


def _report(arguments: argparse.Namespace) -> LedgerReport:
    """Raises LedgerError, ValueError."""
    now = time.time()
    until = given("--until", arguments.until, now) if arguments.until else now
    since = given("--since", arguments.since, until)
    if since >= until:
        raise ValueError(f"--since {arguments.since} is not before --until {arguments.until or 'now'}")
    directory = read_directory(arguments)
    summary = summary_of(directory)
    own = extent(directory)
    return reported(
        summary.attempts,
        summary.counts,
        summary.canary_stops,
        Span(since, until),
        ledger=own.ledger,
        cluster=own.cluster,
    )
