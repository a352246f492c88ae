"""What there is to do: the causes of all findings, the worst first."""

from __future__ import annotations

from ..cause_panels import causes_table
from ..finding_panels import by_reason, finding_bars, findings_table, severity_stats
from ..findings import Findings
from ..model import Board, BoardRow
from ..trust import trust
from .common import VARIABLES

BOARD = Board(
    "causes",
    "Causes",
    "whoever mends what is wrong",
    "What there is to do, one row for whatever one act mends, in the order of the steward's page and command line.",
    (
        trust(Findings()),
        BoardRow(
            "What there is to do",
            (
                *severity_stats(Findings(), width=8),
                causes_table(
                    "Causes", "A row for whatever one act mends, however many findings it has.", Findings(), height=18
                ),
            ),
        ),
        BoardRow(
            "What they are the causes of",
            (
                by_reason(Findings()),
                finding_bars(
                    "Findings by node", "Open findings whose VM runs on a node.", "node", Findings().that('node!=""')
                ),
                findings_table(
                    "Open findings with their cause",
                    "Every open finding.",
                    Findings(),
                    shows="cause reason namespace name kind vm",
                    height=14,
                ),
            ),
        ),
    ),
    VARIABLES,
    place=15,
)
