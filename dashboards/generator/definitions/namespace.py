"""For a tenant behind a proxy that lets through only the series of one namespace."""

from __future__ import annotations

from .. import queries
from ..model import Board, BoardRow, PanelQuery, Threshold
from ..panels import SEVERITIES, bars, column, each_severity, findings_table, lines, stat, table
from .common import VARIABLES

_UNKNOWN = queries.each("kubevirt_steward_namespace_unknown", queries.NAMESPACE)
_PLACED = 'namespace!=""'
_SEEN = "Nothing looks the same while nobody looks: whoever runs the steward sees whether it answers."


BOARD = Board(
    "namespace",
    "My namespace",
    "tenants, also behind a proxy that adds their namespace to every query",
    "What is wrong in the namespaces that you may see. Every query asks only for series with a namespace.",
    (
        BoardRow(
            "Can this be trusted?",
            (
                stat(
                    "Checks without an answer",
                    "Checks that have no answer for these namespaces: that they find nothing means nothing. "
                    "None here is good news only while the steward answers.",
                    f"sum(max by (cluster, namespace, check) ({_UNKNOWN}))",
                    empty="none seen",
                    thresholds=(Threshold(1, "orange"),),
                    width=8,
                    height=6,
                    by_namespace=True,
                ),
                table(
                    "Which",
                    "The checks without an answer, by namespace.",
                    (column("cluster"), column("namespace"), column("check")),
                    PanelQuery(f"max by (cluster, namespace, check) ({_UNKNOWN}) > 0"),
                    width=16,
                    height=6,
                    by_namespace=True,
                ),
            ),
        ),
        BoardRow(
            "What is wrong",
            (
                *(
                    stat(
                        severity.capitalize(),
                        f"Open findings of severity {severity}. {_SEEN}",
                        f"sum({queries.found((), queries.severity_is(severity), _PLACED)})",
                        thresholds=(Threshold(1, colour),),
                        empty="none seen",
                        width=8,
                        by_namespace=True,
                    )
                    for severity, colour in SEVERITIES.items()
                ),
                bars(
                    "By reason",
                    "Open findings by their reason, the most frequent first.",
                    *(
                        PanelQuery(
                            "topk(10, sum by (reason) ("
                            + queries.found((), queries.severity_is(severity), _PLACED)
                            + "))",
                            "{{reason}}",
                            colour,
                        )
                        for severity, colour in SEVERITIES.items()
                    ),
                    by_namespace=True,
                ),
                lines(
                    "By severity",
                    "Open findings over time. A gap is a time without one, or without an answer.",
                    *each_severity(lambda only: f"sum({queries.found((), _PLACED, only)})"),
                    stacked=True,
                    empty="none seen",
                    by_namespace=True,
                ),
                findings_table(
                    "Findings",
                    "Every open finding about an object of these namespaces.",
                    (),
                    _PLACED,
                    shows="severity reason namespace name kind vm",
                    height=14,
                    by_namespace=True,
                ),
            ),
        ),
    ),
    VARIABLES,
    place=100,
)
