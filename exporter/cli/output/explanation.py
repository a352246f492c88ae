"""What a check, a reason or a finding means, as text. Words in capitals are filled in by findings."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING

from ...checks import all_checks
from ...facts.naming import kind_word
from ...findings.check import PER_FLEET, Check, Reason
from ...runbook import link
from .text.layout import grid, indented, paragraph
from .text.terminal import one_line

if TYPE_CHECKING:
    from ...views.findings import FindingReport

_NAME = 10  # columns of what a line is about


def of_check(check: Check, columns: int | None) -> str:
    reads = ", ".join(kind.name for kind in check.reads)
    rows = [(name, _severities(reason, "|"), reason.meaning) for name, reason in check.reasons.items()]
    story = inspect.getdoc(inspect.getmodule(check.find)) or ""
    text = story if columns is None else "\n".join(_prose(part, columns) for part in story.split("\n\n")).rstrip("\n")
    return f"{check.id}: {check.title}\n\n{text}\n\n{_prose(f'Reads: {reads}', columns)}\n" + grid(
        ("REASON", "SEVERITY", "MEANING"), rows, columns
    )


def of_reason(check: Check, name: str, reason: Reason, columns: int | None) -> str:
    by_reason = f'{{reason="{name}"}}' if check.scope is not PER_FLEET else ""
    facts = {
        "Severity": _severities(reason, " or "),
        "Metric": reason.family.name + by_reason,
        "Alert": reason.alert,
        "Runbook": link(reason.alert, name),
        "Next": reason.next,
        "Repair": reason.remediation or "",
    }
    title = f"{name} (check {check.id})\n\n{_prose(reason.meaning, columns)}\n"
    return f"{title}{_facts(facts, columns)}{indented(reason.commands, '  $ ')}"


def of_finding(finding: FindingReport, columns: int | None) -> str:
    check = next(each for each in all_checks() if each.id == finding.check)
    reason = check.reasons[finding.reason]
    subject = f"{kind_word(finding.subject.kind)} {finding.subject.path}"
    facts = {
        "Means": reason.meaning,
        "Since": finding.since,
        "Alert": reason.alert,
        "Runbook": link(reason.alert, finding.reason),
        "Cause": finding.cause,
        "Finding": finding.fingerprint,
        "May be old": finding.unknown,
        "Next": finding.next,
        "Repair": finding.remediation or "",
    }
    title = one_line(f"{finding.severity} {finding.reason}: {subject}")
    text = f"{title}\n\n{_prose(finding.message, columns)}\n{_facts(facts, columns)}"
    return text + indented(finding.commands, "  $ ")


def _facts(facts: dict[str, str], columns: int | None) -> str:
    """Whatever there is something to say of."""
    said = ((f"{name}:".ljust(_NAME), fact) for name, fact in facts.items() if fact)
    return "".join(_prose(fact, columns, first) for first, fact in said)


def _severities(reason: Reason, between: str) -> str:
    return between.join(severity.value for severity in reason.severities)


def _prose(text: str, columns: int | None, first: str = "") -> str:
    return (
        f"{first}{one_line(text)}\n" if columns is None else paragraph(" ".join(text.split()), first, columns=columns)
    )
