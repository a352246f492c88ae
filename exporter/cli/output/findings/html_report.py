"""Findings as a page in one file, for a ticket: it looks as the served page does, and loads nothing."""

from __future__ import annotations

from collections import Counter
from functools import partial

from ....findings.severity import Severity
from ....questions.causes import CauseReport
from ....questions.findings import FindingReport, Report
from ....questions.times import age, origin, rfc3339
from ....serve.html.rendering import as_file
from .check_report import Presentation, answered, clusters_of, no_answer

_WHOLE_FIRST = 20  # findings of a cause that are shown with commands and evidence


def html_of(report: Report, how: Presentation) -> str:
    clusters = clusters_of(report)
    several = len(clusters) > 1
    of_known = {(each.cluster, each.cause) for each in report.causes or () if each.is_known}
    known = [each for each in report.findings if (each.cluster, each.cause) in of_known]
    counts = Counter(each.severity for each in report.findings)
    counts.subtract(each.severity for each in known)
    parts = [line for each in clusters for line in no_answer(report, each, how.checks, several=several, commands=True)]
    values = {
        "total": len(report.findings),
        "causes": _grouped(report),
        "known": len(known),
        "counts": {each.value: counts[each.value] for each in reversed(Severity)},
        "answered": [
            f"{f'{each}: ' if several else ''}{answered(report, each, how.checks, how.read.get(each, ''))}"
            for each in clusters
        ],
        "unanswered": "\n".join(parts),
        "several": several,
        "whole_first": _WHOLE_FIRST,
        "age": partial(age, how.now),
        "origin": origin,
        "as_of": rfc3339(how.now),
    }
    return as_file("report.html", values)


def _grouped(report: Report) -> list[tuple[CauseReport, list[FindingReport]]]:
    """The causes with their findings, in their order."""
    of: dict[tuple[str, str], list[FindingReport]] = {}
    for finding in report.findings:
        of.setdefault((finding.cluster, finding.cause), []).append(finding)
    return [(cause, found) for cause in report.causes or () if (found := of.get((cause.cluster, cause.cause)))]
