"""Findings as CSV: one row each, for a spreadsheet."""

from __future__ import annotations

import csv
import io

from ....store.text.visible import cell
from ....views.findings import Report

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
