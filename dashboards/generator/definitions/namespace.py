"""For a tenant behind a proxy that lets through only the series of one namespace."""

from __future__ import annotations

from .. import queries
from ..finding_panels import by_reason, by_severity_over_time, findings_table, severity_stats
from ..findings import Findings
from ..model import Board, BoardRow, PanelQuery, Threshold
from ..panels import NONE_OR_UNSEEN, column, stat, table
from .common import VARIABLES

_UNKNOWN = queries.each("kubevirt_steward_namespace_unknown", queries.NAMESPACE)
_MINE = Findings(matchers=('namespace!=""',), tenant=True)

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
                    "None here is good news only while the steward answers. A check without an answer in the whole "
                    "cluster has no series of a namespace: what it found is held.",
                    f"sum(max by (cluster, namespace, check) ({_UNKNOWN}))",
                    empty=NONE_OR_UNSEEN,
                    thresholds=(Threshold(1, "orange"),),
                    width=8,
                    height=6,
                    by_namespace=True,
                ),
                table(
                    "Checks without an answer, by namespace",
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
                *severity_stats(_MINE, width=8, by_namespace=True),
                by_reason(_MINE, by_namespace=True),
                by_severity_over_time(_MINE, by_namespace=True),
                findings_table(
                    "Open findings",
                    "Every open finding about an object of these namespaces.",
                    _MINE,
                    shows="reason namespace name kind vm",
                    height=14,
                    by_namespace=True,
                ),
            ),
        ),
    ),
    VARIABLES,
    place=100,
)
