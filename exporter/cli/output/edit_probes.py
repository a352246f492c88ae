"""What the API server answers to edits of VMs, as text: where that differs from what the checks say."""

from __future__ import annotations

from collections.abc import Sequence

from ...questions.edits import EditProbes
from .text.layout import indented, table
from .text.terminal import one_line

_UNDER = " " * 10


def edits(probes: EditProbes) -> str:
    """As text."""
    parts = []
    if probes.differences:
        rows = [
            (
                f"{each.vm}",
                f"{each.expected} ({', '.join(each.features)})" if each.features else each.expected,
                each.said,
            )
            for each in probes.differences
        ]
        parts.append(
            "The API server answers otherwise:\n" + table(("OBJECT", "EXPECTED", "IS"), rows, _beneath(probes))
        )
    if probes.unanswered:
        rows = [(f"{each.vm}", each.said, each.answer) for each in probes.unanswered]
        parts.append("No answer of the API server:\n" + table(("OBJECT", "WHAT", "ANSWER"), rows))
        if (more := probes.unanswered_in_all - len(probes.unanswered)) > 0:
            parts.append(f"and {more} more.\n")
    return "\n".join([*parts, _ending(probes)])


def _beneath(probes: EditProbes) -> Sequence[str]:
    return [
        (indented((each.answer,), f"{_UNDER}answer: ") if each.answer else "")
        + (indented((each.advice,), f"{_UNDER}next: ") if each.advice else "")
        for each in probes.differences
    ]


def _ending(probes: EditProbes) -> str:
    if not probes.asked:
        return f"Edits: {one_line(probes.why) or 'no VM requests a feature that is checked at admission'}.\n"
    left = f"; {probes.not_asked} not asked: {one_line(probes.why)}" if probes.not_asked else ""
    return (
        f"Edits of {probes.asked} VMs, by dry runs: {probes.agree} as expected, {len(probes.differences)} otherwise, "
        f"{probes.unanswered_in_all} without an answer{left}. Nothing was changed.\n"
    )
