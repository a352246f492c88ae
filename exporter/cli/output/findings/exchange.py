"""Findings for other programs: as CSV, a row each, for a spreadsheet, and as SARIF."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from typing import Any

from ....checks import all_checks
from ....facts.naming import cell
from ....findings.severity import Severity
from ....questions.findings import FindingReport, Report, advice
from ....runbook import link
from ....version import installed
from ..text.layout import json_of

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
