"""`steward diff`: what two dumps or reports of a cluster differ in, a line each, as `check --watch` prints it."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterable, Iterator

import msgspec

from ...config.settings import Config
from ...dump import read_dump
from ...facts.naming import counted, kind_word
from ...findings.finding import Unknown
from ...findings.severity import Severity
from ...kube.errors import MALFORMED
from ...offline.files import DumpError
from ...questions.differences import Difference, Differences, FindingChange, differences
from ...questions.findings import Report, take
from ...questions.times import rfc3339
from ...questions.trust import exit_code
from ..input.config import configured
from ..input.once import progress_line
from ..output.text.layout import sentence, written
from ..output.text.screen import Row, rows_of, width
from ..output.text.terminal import complain, say

_NO_ANSWER, _ANSWERS = "no answer", "answers"
_SEVERITY = max(map(len, Severity))  # each line stands alone: the next one may come an hour later
_WIDEST = max(len(each) for each in (*FindingChange, _NO_ANSWER))


def changes(before: Report, after: Report, now: float, columns: int | None) -> str:
    """A line for each finding that is new, worse, better or gone, and for each check that has no answer any more, or
    has one again; empty where nothing of that changed. `now` is seconds since 1970.
    """
    at = f"{rfc3339(now)[11:19]}Z"
    found = [
        (at, change.ljust(_WIDEST), *cells)
        for change, *cells in (
            *map(cells_of, differences(before, after).differences),
            *_unknown(_NO_ANSWER, after.unknown, before.unknown),
            *_unknown(_ANSWERS, before.unknown, after.unknown),
        )
    ]
    return "".join(f"{line}\n" for line in rows_of(("",) * 6, found, columns)[1:])


def cells_of(each: Difference) -> Row:
    """Which change, how bad, of which reason and object, and what is wrong: of what is gone, what was."""
    finding = each.finding
    steps = each.before not in ("", finding.severity)
    severity = f"{each.before} -> {finding.severity}" if steps else finding.severity
    subject = f"{kind_word(finding.subject.kind)} {finding.subject.path}"
    what = f"was: {finding.message}" if each.change is FindingChange.GONE else finding.message
    return each.change.value, severity.ljust(_SEVERITY), finding.reason, subject, each.why or what


def _unknown(change: str, these: Iterable[Unknown], others: Iterable[Unknown]) -> Iterator[Row]:
    """Those that the others have not, by check and place."""
    there = {(each.check, each.partition) for each in others}
    for each in these:
        if (each.check, each.partition) not in there:
            yield (
                change,
                "-".ljust(_SEVERITY),
                each.check,
                each.partition or "-",
                each.why if change == _NO_ANSWER else "",
            )


# What two reports differ in, as text.

_HEAD = ("CHANGE", "SEVERITY", "REASON", "OBJECT", "WHAT")


def differed(found: Differences, columns: int | None) -> str:
    rows = [cells_of(each) for each in found.differences]
    changes = [each.change for each in found.differences]
    counts = ", ".join(f"{changes.count(each)} {each.value}" for each in FindingChange if each in changes)
    lines = rows_of(_HEAD, rows, columns) if rows else []
    lines += [""] if rows else []
    text = "".join(f"{line}\n" for line in lines)
    text += sentence(f"{counts or 'No differences'}; {counted(found.same, 'finding')} as before.", "", columns)
    if found.unanswered:
        which = f"{counted(len(found.unanswered), 'check')} without a complete answer in just one of both"
        text += sentence(f"{which}; `steward check` says why.", "", columns)
    return text


# A report, of a dump that is evaluated or as `steward check -o json` wrote it.


def report_at(path: str, config: Config, *, complete: bool) -> Report:
    """A file that is a report is taken as it is, and anything else is a dump. Raises DumpError."""
    if (written := _written(path)) is not None:
        return written
    with progress_line(path) as progress:
        engine, _ = asyncio.run(read_dump(path, time.time(), config, complete=complete, progress=progress))
    return take(engine)


def _written(path: str) -> Report | None:
    """The report in a file; None for what is no report. Raises DumpError for one that this release can't read."""
    try:
        with open(path, "rb") as file:
            content = file.read()
        fields = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    except (OSError, *MALFORMED):
        return None
    if not {"findings", "unknown", "sources"} <= fields.keys():
        return None
    try:
        return msgspec.json.decode(content, type=Report)
    except MALFORMED as error:
        raise DumpError(f"{path} is a report of another release of the steward, and can't be read: {error}") from None


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    try:
        reports = [report_at(path, config, complete=arguments.complete) for path in (arguments.before, arguments.after)]
    except DumpError as error:
        complain(str(error))
        return 2
    found = differences(*reports)
    say(written(found, arguments.output, lambda each: differed(each, width())), arguments.output)
    return _exit_code(found)


def _exit_code(found: Differences) -> int:
    unknown = any(each.change is FindingChange.UNKNOWN for each in found.differences)
    return exit_code(found=bool(found.differences), unknown=unknown)
