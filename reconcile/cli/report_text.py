"""A report as text for a terminal: as wide as that is, and what there is none of is left out."""

from __future__ import annotations

from collections.abc import Iterator

from exporter.cli.output.text.paragraphs import WIDTH, paragraph
from exporter.cli.output.text.terminal import one_line

from ..show.report import LedgerReport
from ..show.report_tables import TITLE, ReportTable, facts_of, left_out, tables_of
from .fitting import rows_whole

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
