"""`steward explain`: what a check looks for, or what a reason means."""

from __future__ import annotations

import argparse
import difflib
import inspect
import sys
from typing import Any

from .. import across
from ..across import ACROSS
from ..checks import all_checks
from ..checks.base import Check, Reason
from .finding_sources import Meaning, all_finding_sources
from .table import table

__all__ = ["add", "run"]


def add(commands: Any) -> None:
    parser = commands.add_parser("explain", help="what a check looks for, or what a reason means")
    parser.add_argument("what", metavar="CHECK|REASON", nargs="?", help="without it, all checks and reasons are listed")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    what = arguments.what
    if what is None:
        rows = [
            (evaluate.id, name, reason.meaning)
            for evaluate in all_finding_sources()
            for name, reason in evaluate.reasons.items()
        ]
        sys.stdout.write(table(("CHECK", "REASON", "MEANING"), rows))
        return 0
    for check in all_checks():
        if what == check.id:
            sys.stdout.write(_check(check))
            return 0
        if what in check.reasons:
            sys.stdout.write(_reason(check, what, check.reasons[what]))
            return 0
    if what in (ACROSS.id, *ACROSS.reasons):
        sys.stdout.write(_across())
        return 0
    known = [name for evaluate in all_finding_sources() for name in (evaluate.id, *evaluate.reasons)]
    close = difflib.get_close_matches(what, known, 1) or [name for name in known if name.startswith(what)]
    hint = f"did you mean {close[0]}?" if close else "`steward explain` lists all"
    print(f"steward: no check and no reason is called {what!r}; {hint}", file=sys.stderr)
    return 2


def _check(check: Check) -> str:
    reads = ", ".join(kind.name for kind in check.reads)
    rows = [(name, _severities(reason), reason.meaning) for name, reason in check.reasons.items()]
    story = inspect.getdoc(inspect.getmodule(check.find)) or ""
    return f"{check.id}: {check.title}\n\n{story}\n\nReads: {reads}\n\n" + table(
        ("REASON", "SEVERITY", "MEANING"), rows
    )


def _across() -> str:
    rows = [(name, _severities(reason), reason.meaning) for name, reason in ACROSS.reasons.items()]
    return f"{ACROSS.id}: {ACROSS.title}\n\n{inspect.getdoc(across)}\n\n" + table(
        ("REASON", "SEVERITY", "MEANING"), rows
    )


def _severities(reason: Meaning) -> str:
    return "|".join(severity.value for severity in reason.severities)


def _reason(check: Check, name: str, reason: Reason) -> str:
    lines = [
        f"{name} (check {check.id})",
        "",
        reason.meaning,
        "",
        f"Severity: {' or '.join(severity.value for severity in reason.severities)}",
        f"Metric:   {reason.family.name}" + '{reason="' + name + '"}',
    ]
    return "\n".join(lines) + "\n"
