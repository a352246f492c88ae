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
    "Findings in your namespaces. Every query selects only series with a namespace.",
    (
        BoardRow(
            "Completeness of the data",
            (
                stat(
                    "Incomplete checks",
                    "Checks that can't be evaluated in these namespaces. Their missing findings prove nothing. 0 is "
                    "good only while the steward responds. A check that is unknown in the whole cluster has no series "
                    "of a namespace, and its findings are stale.",
                    f"sum(max by (cluster, namespace, check) ({_UNKNOWN}))",
                    empty=NONE_OR_UNSEEN,
                    thresholds=(Threshold(1, "orange"),),
                    width=8,
                    height=6,
                    by_namespace=True,
                ),
                table(
                    "Incomplete checks, by namespace",
                    "Incomplete checks, by namespace.",
                    (column("cluster"), column("namespace"), column("check")),
                    PanelQuery(f"max by (cluster, namespace, check) ({_UNKNOWN}) > 0"),
                    width=16,
                    height=6,
                    by_namespace=True,
                ),
            ),
        ),
        BoardRow(
            "Findings",
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
