"""A report as tables, which any format of texts shows: Markdown here, HTML by a template, text for a terminal by the
command. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from exporter.http.html.rendering import templates_of, visible

from ..plan.time_text import moment
from .deeds import Deed
from .report import LedgerReport
from .stops import CanaryStop
from .tallies import COLUMNS, Tally

TITLE = "Repairs of kubevirt-steward"
_MOST = 500  # rows of a table; JSON has them all
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")
_SPARSE = tuple(name for name in COLUMNS if name not in ("found", "planned"))  # of a cause they are its objects
_TEMPLATES = templates_of("reconcile.show")


class ReportTable(NamedTuple):
    """`none` is said where there are no rows, `more` how many are left out. Of a row the last cells may be numbers:
    `counts` is how many.
    """

    title: str
    note: str
    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    none: str
    more: int = 0
    counts: int = 0


def markdown_of(report: LedgerReport) -> str:
    """Texts of others can't format anything."""
    lines = [f"# {TITLE}", "", *(f"- {name}: {_plain(text)}" for name, text in facts_of(report))]
    for each in tables_of(report):
        lines += ["", f"## {each.title}", "", each.note, ""]
        if not each.rows:
            lines.append(each.none)
            continue
        lines += [_row(each.head), _row("---" for _ in each.head), *(_row(map(_plain, row)) for row in each.rows)]
        if each.more:
            lines += ["", left_out(each.more)]
    return "\n".join(lines) + "\n"


def html_of(report: LedgerReport) -> str:
    """One file that needs no other, and runs no script."""
    facts, tables = list(facts_of(report)), list(tables_of(report))
    return _TEMPLATES.get_template("report.html").render(title=TITLE, facts=facts, tables=tables, left_out=left_out)


def facts_of(report: LedgerReport) -> Iterator[tuple[str, str]]:
    yield "from", moment(report.since)
    yield "until", moment(report.until)
    yield "ledger", report.ledger or "not known"
    yield "cluster (UID of namespace kube-system)", report.cluster or "not known"


def tables_of(report: LedgerReport) -> Iterator[ReportTable]:
    yield ReportTable(
        "By remediation",
        "Found and planned are findings, the most at once; all else are attempts. Shadowed is what mode shadow would "
        "have written, and went are those of which the finding is gone.",
        ("remediation", *COLUMNS.values()),
        [(name, *_numbers(tally, COLUMNS)) for name, tally in report.remediations.items()],
        "Nothing was done in this time.",
        counts=len(COLUMNS),
    )
    causes = report.causes[:_MOST]
    yield ReportTable(
        "By cause",
        "What one act would mend is one row.",
        ("remediation", "finding", "cause", "objects", *(COLUMNS[name] for name in _SPARSE)),
        [
            (each.remediation, each.reason, each.what, str(each.objects), *_numbers(each.tally, _SPARSE))
            for each in causes
        ],
        "There is none.",
        len(report.causes) - len(causes),
        len(_SPARSE),
    )
    yield ReportTable(
        "Approved",
        "Who let what be written, by an approval or by steward reconcile apply. Mode auto needs nobody.",
        ("by", "mode", "remediation", "attempts"),
        [(each.by, each.mode, each.remediation, str(each.attempts)) for each in report.approvers],
        "Nobody approved of anything.",
    )
    stops = report.canaries[:_MOST]
    yield ReportTable(
        "Canaries that stopped",
        "The first repairs of a remediation in mode auto that did not hold; it writes nothing unasked until a person "
        "resumes it.",
        ("remediation", "stopped", "of", "finding", "attempt", "why", "resumed"),
        [
            (
                *(each.remediation, moment(each.at), each.object, f"{each.reason} {each.fingerprint}".strip()),
                *(each.attempt, each.why, _resumed(each)),
            )
            for each in stops
        ],
        "None stopped.",
        len(report.canaries) - len(stops),
    )
    head = ("at", "attempt", "remediation", "mode", "by", "outcome", "write")
    for title, note, deeds, none in (
        ("Written", "Each attempt, and what came of it.", report.written, "Nothing was written."),
        ("Taken back", "What people took back.", report.taken_back, "Nothing was taken back."),
        ("Shadowed", "What auto would have written.", report.shadowed, "Nothing was shadowed."),
    ):
        rows = [_of(deed) for deed in islice(deeds, _MOST)]
        yield ReportTable(title, note, head, rows, none, len(deeds) - len(rows))


def _resumed(stop: CanaryStop) -> str:
    if stop.resumed is None:
        return "no"
    return f"{moment(stop.resumed)}{f' by {stop.by}' if stop.by else ''}{f': {stop.because}' if stop.because else ''}"


def _of(deed: Deed) -> tuple[str, ...]:
    write = f"{deed.write}, of attempt {deed.undoes}" if deed.undoes else deed.write
    return moment(deed.at), deed.attempt, deed.remediation, deed.mode, deed.by, _outcome(deed), write


def _outcome(deed: Deed) -> str:
    names = ("verified", "persists", "returned", "undone")
    came = ((COLUMNS[name], getattr(deed, name)) for name in names)
    found = [deed.end, *(f"{word} {moment(at)}" for word, at in came if at is not None)]
    if deed.went is not None:
        found.append(f"went {moment(deed.went)}{', somebody wrote it' if deed.somebody else ''}")
    return ", ".join(found)


def _numbers(tally: Tally, names: Iterable[str]) -> Iterator[str]:
    return (str(getattr(tally, name)) for name in names)


def left_out(more: int) -> str:
    return f"{more} more are left out; -o json has them all."


def _plain(text: str) -> str:
    """On one line, in which no character formats anything."""
    return _SPECIAL.sub(r"\\\1", " ".join(visible(text).split()))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
