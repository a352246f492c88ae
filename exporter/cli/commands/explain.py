"""`steward explain`: what a check looks for, or what a reason means and what to do about it."""

from __future__ import annotations

import argparse
import difflib
import inspect

from ...checks import all_checks
from ...domain.features.rules import BY_ID
from ...findings.check import PER_FLEET, Check, Reason
from ...runbook import link
from ..output.grid import grid
from ..output.screen import width
from ..output.table import indented, table
from ..output.terminal import complain, say

__all__ = ["run"]


def run(arguments: argparse.Namespace) -> int:
    what = arguments.what
    every = [(check, name, reason) for check in all_checks() for name, reason in check.reasons.items()]
    if what is None:
        rows = [(check.id, name, reason.meaning) for check, name, reason in every]
        say(grid(("CHECK", "REASON", "MEANING"), rows, width()))
        return 0
    whole = next((check for check, _, _ in every if check.id == what), None)
    # Two checks may have one reason: what is wrong with a migration is the same, whoever made it.
    found = (
        [_check(whole)] if whole else [_reason(check, name, reason) for check, name, reason in every if name == what]
    )
    if found:
        say("\n".join(found))
        return 0
    if what in BY_ID:
        complain(f"{what} is a feature: `steward features {what}` says whether it is allowed, and who asks for it")
        return 2
    known = dict.fromkeys(each for check, name, _ in every for each in (check.id, name))
    close = difflib.get_close_matches(what, known, 1) or [name for name in known if name.startswith(what)]
    hint = f"did you mean {close[0]}?" if close else "`steward explain` lists all"
    complain(f"no check and no reason is called {what!r}; {hint}")
    return 2


def _check(check: Check) -> str:
    reads = ", ".join(kind.name for kind in check.reads)
    rows = [(name, _severities(reason, "|"), reason.meaning) for name, reason in check.reasons.items()]
    story = inspect.getdoc(inspect.getmodule(check.find)) or ""
    return f"{check.id}: {check.title}\n\n{story}\n\nReads: {reads}\n\n" + table(
        ("REASON", "SEVERITY", "MEANING"), rows
    )


def _severities(reason: Reason, between: str) -> str:
    return between.join(severity.value for severity in reason.severities)


def _reason(check: Check, name: str, reason: Reason) -> str:
    """Words in capitals stay: a finding fills them in."""
    by_reason = f'{{reason="{name}"}}' if check.scope is not PER_FLEET else ""
    facts = {
        "Severity": _severities(reason, " or "),
        "Metric": reason.family.name + by_reason,
        "Alert": reason.alert,
        "Runbook": link(reason.alert),
        "Next": reason.next,
        "Repair": reason.remediation,
    }
    lines = [f"{name + ':':<10}{fact}\n" for name, fact in facts.items() if fact]
    return f"{name} (check {check.id})\n\n{reason.meaning}\n\n{''.join(lines)}{indented(reason.commands, '  $ ')}"
