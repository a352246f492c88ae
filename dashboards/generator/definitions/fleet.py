"""The first look: can it be trusted, what is wrong, and where."""

from __future__ import annotations

from .. import queries
from ..model import Board, BoardRow, PanelQuery, Threshold
from ..panels import (
    ATTENTION,
    SEVERITIES,
    bars,
    by_reason,
    by_severity_over_time,
    findings_table,
    runbook,
    severity_stats,
    spread,
    stat,
    trust,
)
from .common import VARIABLES

_DAY = 86400
_PLACED = 'namespace!=""'


LEFT_OUT = stat(
    "Series left out",
    "Series that the steward's series limit leaves out: tables by object lack their rows, counts do not.",
    f"sum(max by (cluster, family) ({queries.each('kubevirt_steward_series_dropped')}))",
    thresholds=ATTENTION,
    links=(runbook("StewardSeriesDropped"),),
)

NEW = stat(
    "New in 24 hours",
    "Open findings that became true within the last 24 hours, by what the objects record.",
    queries.zero_while_seen(f"sum(({queries.ages()}) < bool {_DAY})"),
    thresholds=(Threshold(1, "blue"),),
)

BY_NAMESPACE = tuple(
    bars(
        title,
        f"Open findings of severity {severity} by the namespace of their objects. What belongs to no namespace, such "
        f"as a "
        "node, is left out.",
        PanelQuery(
            f"topk(12, sum by (namespace) ({queries.found((), queries.severity_is(severity), _PLACED)}))",
            "{{namespace}}",
            SEVERITIES[severity],
        ),
        by_namespace=True,
    )
    for severity, title in (("critical", "Critical by namespace"), ("warning", "Warnings by namespace"))
)

BOARD = Board(
    "fleet",
    "Fleet",
    "whoever is on call",
    "What is wrong in the fleet, where, and whether that can be trusted.",
    (
        trust(also=(LEFT_OUT,)),
        BoardRow(
            "What is wrong",
            (
                *spread(*severity_stats(), NEW),
                by_severity_over_time(width=14, height=12),
                by_reason(width=10, height=12),
            ),
        ),
        BoardRow(
            "Where",
            (
                *BY_NAMESPACE,
                findings_table(
                    "All findings",
                    "Every open finding.",
                    shows="severity reason namespace name kind vm node",
                    height=16,
                ),
            ),
        ),
    ),
    VARIABLES,
    place=10,
)
