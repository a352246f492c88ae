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
    "operators who resolve findings",
    "Causes of findings, one row for all findings that one fix resolves, in the order of the web UI and command line.",
    (
        trust(Findings()),
        BoardRow(
            "Causes",
            (
                *severity_stats(Findings(), width=8),
                causes_table("Causes", "One row for all findings that one fix resolves.", Findings(), height=18),
            ),
        ),
        BoardRow(
            "Findings of these causes",
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
