"""The first look: can it be trusted, what is wrong, and where."""

from __future__ import annotations

from .. import queries
from ..cause_panels import causes_table
from ..finding_panels import by_reason, by_severity_over_time, finding_bars, findings_table, severity_stats
from ..findings import Findings
from ..model import Board, BoardRow, Threshold
from ..panels import spread, stat
from ..trust import NO_ANSWER, trust
from .common import VARIABLES

_DAY = 86400
_PLACED = 'namespace!=""'


_NEW = queries.zero_while_seen(f"sum(({Findings().ages}) < bool {_DAY})")
NEW = stat(
    "Findings new in 24 hours",
    "Open findings that began within the last 24 hours, by the times in objects. No data while the steward is down.",
    queries.while_seen(f"({_NEW})", f"max({queries.READY})"),
    thresholds=(Threshold(1, "blue"),),
)

BY_NAMESPACE = tuple(
    finding_bars(
        f"{title} findings by namespace",
        f"Open findings of severity {severity} by the namespace of their objects. Objects without namespace, such "
        "as nodes, are omitted.",
        "namespace",
        Findings().that(_PLACED),
        severities=(severity,),
    )
    for severity, title in (("critical", "Critical"), ("warning", "Warning"))
)

BOARD = Board(
    "fleet",
    "Fleet",
    "the on-call engineer",
    "Findings of the fleet by place, and the completeness of the data.",
    (
        trust(Findings()),
        BoardRow(
            "Findings",
            (
                *spread(*severity_stats(Findings()), NEW),
                causes_table(
                    "Causes of open findings", "One row for findings that one fix resolves.", Findings(), height=9
                ),
                by_severity_over_time(Findings(), width=14, height=12),
                by_reason(Findings(), width=10, height=12),
            ),
        ),
        BoardRow(
            "Where", (*BY_NAMESPACE, findings_table("All open findings", "Every open finding.", Findings(), height=16))
        ),
        BoardRow("Incomplete checks", (NO_ANSWER,)),
    ),
    VARIABLES,
    place=10,
)
