"""A report as text, as JSON, as CSV with a row per finding, as SARIF, or as a page in one file that loads nothing."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from ....checks import all_checks
from ....facts.naming import cell
from ....findings.severity import Severity
from ....questions.causes import CauseReport
from ....questions.findings import FindingReport, Report, advice
from ....questions.times import age, origin, rfc3339
from ....runbook import link
from ....version import installed
from ..text.layout import json_of, yaml_of
from .check_report import Presentation, answered, check_text, clusters_of, names, no_answer, unread, wide

__all__ = ["Presentation", "rendered", "unread"]


def rendered(report: Report, output: str, how: Presentation) -> str:
    return _RENDERERS[output](report, how)


_WHOLE_FIRST = 20  # findings of a cause that are shown with commands and evidence


def html_of(report: Report, how: Presentation) -> str:
    from ....serve.html.rendering import as_file  # its templates are dear to import

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


_HEAD = (
    *("severity", "reason", "check", "cluster", "kind", "namespace", "name", "vm", "node", "network", "feature"),
    *("since", "sinceSource", "message", "next", "cause", "fingerprint"),
)


def csv_of(report: Report) -> str:
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    rows.writerow(_HEAD)
    for each in report.findings:
        subject = each.subject
        rows.writerow(
            cell(each_cell)
            for each_cell in (
                *(each.severity, each.reason, each.check, each.cluster, subject.kind, subject.namespace, subject.name),
                *(each.vm, each.node, each.network, each.feature, each.since, each.since_source, each.message),
                *(each.next, each.cause, each.fingerprint),
            )
        )
    return written.getvalue()


# A report as SARIF 2.1.0, which code hosts show: a rule for each reason, a result for each finding.
#
# What is not known, and files that were not read, are notifications of the run, which then did not succeed.

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.CRITICAL: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

Obj = dict[str, Any]


def sarif(report: Report, checks: frozenset[str], unread: Iterable[tuple[str, str]]) -> str:
    """`checks` are the ids of the chosen ones, `unread` files and why."""
    rules = list(_rules(checks))
    places = {rule["id"]: index for index, rule in enumerate(rules)}
    unseen = [f"{_in(u.cluster)}{u.check}, {u.partition or 'everywhere'}: {u.why}" for u in report.unknown]
    unseen += [f"{name} was not read: {why}" for name, why in unread]
    driver = {"name": "steward", "version": installed(), "rules": rules}
    run = {
        "tool": {"driver": driver},
        "invocations": [
            {
                "executionSuccessful": not unseen,
                "toolExecutionNotifications": [{"level": "error", "message": {"text": text}} for text in unseen],
            }
        ],
        "results": [_result(finding, places) for finding in report.findings],
    }
    whole = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_of(whole)


def _rules(checks: frozenset[str]) -> Iterator[Obj]:
    for check in all_checks():
        if check.id in checks:
            for name, reason in check.reasons.items():
                yield {
                    "id": f"{check.id}/{name}",
                    "name": name,
                    "shortDescription": {"text": f"{reason.title}."},
                    "fullDescription": {"text": " ".join(filter(None, (reason.meaning, reason.impact)))},
                    "defaultConfiguration": {"level": _LEVELS[reason.severities[0]]},
                    **({"help": {"text": reason.next}} if reason.next else {}),
                    **({"helpUri": link(reason.alert, name)} if reason.alert else {}),
                }


def _result(finding: FindingReport, places: dict[str, int]) -> Obj:
    rule, subject, cluster = f"{finding.check}/{finding.reason}", finding.subject, finding.cluster
    path = f"{cluster}/{subject.kind}/{subject.path}" if cluster else f"{subject.kind}/{subject.path}"
    place = {"name": subject.name, "fullyQualifiedName": path, "kind": "resource"}
    # A copy of a cluster has the same objects: its results must not be taken for those of the other one.
    fingerprint = f"{cluster}/{finding.fingerprint}" if cluster else finding.fingerprint
    more = {"cluster": cluster} if cluster else {}
    return {
        "ruleId": rule,
        "ruleIndex": places[rule],
        "level": _LEVELS[Severity(finding.severity)],
        "message": {"text": "\n".join((f"{_in(cluster)}{subject}: {finding.message}", *advice(finding)))},
        "locations": [{"logicalLocations": [place]}],
        "partialFingerprints": {"steward/v1": fingerprint},
        "properties": {"severity": finding.severity, "since": finding.since, "network": finding.network, **more},
    }


def _in(cluster: str) -> str:
    return f"{cluster}: " if cluster else ""


_RENDERERS: dict[str, Callable[[Report, Presentation], str]] = {
    "table": check_text,
    "wide": wide,
    "name": lambda report, _: names(report),
    "json": lambda report, _: json_of(report),
    "yaml": lambda report, _: yaml_of(report),
    "csv": lambda report, _: csv_of(report),
    "html": html_of,
    "sarif": lambda report, how: sarif(report, how.checks, unread(report)),
}
