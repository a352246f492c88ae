"""A report of a time, from the ledgers alone: what was found, approved, written, and what came of it. Pure.

The same entries and the same time give the same report.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import msgspec

from exporter.serve.html.rendering import templates_of, visible

from ..plan.plan import moment
from .attempt_summary import AttemptSummary, CanaryStop
from .tallies import COLUMNS, CauseRow, Counts, Span, Tally, by_cause, by_remediation


class Approver(msgspec.Struct, frozen=True, rename="camel"):
    """How many attempts somebody approved of, or made by `apply`, of one remediation; `mode` says which."""

    by: str
    mode: str
    remediation: str
    attempts: int


class LedgerReport(msgspec.Struct, frozen=True, rename="camel"):
    """`since` and `until` are in seconds since 1970. `written` are the attempts that were begun in that time or of
    which something came in it, and `taken_back` those that took one back, the oldest first; `shadowed` is what would
    have been written.
    """

    ledger: str  # the ID of the sidecar's ledger
    cluster: str  # the UID of its namespace kube-system
    since: float
    until: float
    remediations: dict[str, Tally]
    causes: tuple[CauseRow, ...]
    approvers: tuple[Approver, ...]
    written: tuple[AttemptSummary, ...]
    taken_back: tuple[AttemptSummary, ...]
    shadowed: tuple[AttemptSummary, ...]
    canaries: tuple[CanaryStop, ...]


def reported(
    attempts: Iterable[AttemptSummary],
    counts: Counts,
    canary_stops: Iterable[CanaryStop],
    span: Span,
    *,
    ledger: str = "",
    cluster: str = "",
) -> LedgerReport:
    """Of the attempts of ledgers, the oldest first."""
    attempts = list(attempts)
    own = [attempt for attempt in attempts if _within(attempt, span)]
    return LedgerReport(
        ledger=ledger,
        cluster=cluster,
        since=span.since,
        until=span.until,
        remediations=by_remediation(attempts, counts, span),
        causes=tuple(by_cause(attempts, span)),
        approvers=tuple(_approvers(own, span)),
        written=tuple(attempt for attempt in own if not attempt.shadow and not attempt.undoes),
        taken_back=tuple(attempt for attempt in own if attempt.undoes),
        shadowed=tuple(attempt for attempt in own if attempt.shadow),
        canaries=tuple(
            stop for stop in canary_stops if span.has(stop.at) or (stop.resumed is not None and span.has(stop.resumed))
        ),
    )


def _within(attempt: AttemptSummary, span: Span) -> bool:
    return span.has(attempt.at) or any(span.has(at) for _, at in attempt.happenings())


def _approvers(attempts: Iterable[AttemptSummary], span: Span) -> list[Approver]:
    found: dict[tuple[str, str, str], int] = {}
    for attempt in attempts:
        if attempt.by and not attempt.undoes and span.has(attempt.at):
            key = attempt.by, attempt.mode, attempt.remediation
            found[key] = found.get(key, 0) + 1
    return [Approver(*key, number) for key, number in sorted(found.items())]


# A report as tables, which any format of texts shows: Markdown here, HTML by a template, text for a terminal by the
# command. Pure.

TITLE = "Repairs of kubevirt-steward"
_MOST = 500  # rows of a table; JSON has them all
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&])")
_SPARSE = tuple(name for name in COLUMNS if name not in ("found", "planned"))  # of a cause they are its objects
_TEMPLATES = templates_of("reconcile.publish")


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
    for title, note, attempts, none in (
        ("Written", "Each attempt, and what came of it.", report.written, "Nothing was written."),
        ("Taken back", "What people took back.", report.taken_back, "Nothing was taken back."),
        ("Shadowed", "What auto would have written.", report.shadowed, "Nothing was shadowed."),
    ):
        rows = [_of(attempt) for attempt in islice(attempts, _MOST)]
        yield ReportTable(title, note, head, rows, none, len(attempts) - len(rows))


def _resumed(stop: CanaryStop) -> str:
    if stop.resumed is None:
        return "no"
    return f"{moment(stop.resumed)}{f' by {stop.by}' if stop.by else ''}{f': {stop.because}' if stop.because else ''}"


def _of(attempt: AttemptSummary) -> tuple[str, ...]:
    write = f"{attempt.write}, of attempt {attempt.undoes}" if attempt.undoes else attempt.write
    return moment(attempt.at), attempt.attempt, attempt.remediation, attempt.mode, attempt.by, _outcome(attempt), write


def _outcome(attempt: AttemptSummary) -> str:
    names = ("verified", "persists", "returned", "undone")
    came = ((COLUMNS[name], getattr(attempt, name)) for name in names)
    found = [attempt.end, *(f"{word} {moment(at)}" for word, at in came if at is not None)]
    if attempt.went is not None:
        found.append(f"went {moment(attempt.went)}{', somebody wrote it' if attempt.somebody else ''}")
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
