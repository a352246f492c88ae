"""What the sidecar says of a finding, as text."""

from __future__ import annotations

from ....sidecar.repairs import ReportedRepair
from ..text.paragraphs import sentence
from ..text.table import indented


def repair(reported: ReportedRepair, margin: str, columns: int | None) -> str:
    """What it would do, or why not, and how to let it; as wide as the terminal, if it is on one."""
    why = reported.refused.why if reported.refused else "; ".join(each.why for each in reported.blocked)
    facts = (
        (f"{reported.remediation}, {reported.state} (mode {reported.mode})", ""),
        (reported.write, ""),
        (why, "but: "),
        (reported.proposal.where if reported.proposal else "", "instead: "),
        (reported.risk if reported.risk != "none" else "", "risk: "),
        (", ".join(reported.loses), "loses: "),
        (reported.undo, "undo: "),
    )
    said = "; ".join(f"{name}{text}" for text, name in facts if text)
    return sentence(said, f"{margin}repair: ", columns) + indented(reported.commands, f"{margin}$ ")
