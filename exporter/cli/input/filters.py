"""Which findings `steward check` shows: of which checks, namespaces, reasons and features, how bad and how old."""

from __future__ import annotations

import argparse
import difflib
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from ...checks import all_checks
from ...findings.check import PER_FLEET, Check
from ...findings.finding import Severity
from ...store.record import epoch
from ...views.findings import FindingReport, Report

__all__ = ["Filters", "UsageError", "add_filter_options", "filters_of"]

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_OF_FEATURES = "feature_"  # what the checks begin with whose findings have a feature
_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


class UsageError(Exception):
    """The text is one sentence."""


@dataclass(frozen=True)
class Filters:
    """`min_age` is in seconds; `now` is in seconds since 1970."""

    checks: frozenset[str]
    namespaces: frozenset[str]  # empty for all of them
    reasons: frozenset[str]  # empty for all of them
    features: frozenset[str]  # empty for all findings
    min_severity: Severity
    min_age: float
    now: float

    def of(self, report: Report) -> Report:
        """What is left of it. What the chosen checks don't know is left whole: it may be of any namespace."""
        return msgspec.structs.replace(
            report,
            findings=[finding for finding in report.findings if self._wants(finding)],
            unknown=[unknown for unknown in report.unknown if unknown.check in self.checks],
        )

    def _wants(self, finding: FindingReport) -> bool:
        return (
            finding.check in self.checks
            and (not self.namespaces or finding.subject.namespace in self.namespaces)
            and (not self.reasons or finding.reason in self.reasons)
            and (not self.features or finding.feature in self.features)
            and Severity(finding.severity).rank >= self.min_severity.rank
            and (not self.min_age or self.now - (epoch(finding.since) or self.now) >= self.min_age)
        )


def add_filter_options(parser: Any) -> None:
    group = parser.add_argument_group("what is shown")
    group.add_argument(
        "--check", metavar="ID", action="append", help="only what this check finds and does not know; may be repeated"
    )
    group.add_argument("--namespace", "-n", metavar="NS", action="append", help="only of this one; may be repeated")
    group.add_argument(
        "--reason",
        metavar="NAME",
        action="append",
        help="only findings of this reason, such as OrphanClaim, and what their checks do not know; may be repeated",
    )
    group.add_argument(
        "--feature",
        metavar="ID",
        action="append",
        help="only what is about this feature, feature gate or setting, such as gpu_dra, and what the checks feature_* "
        "do not know; may be repeated",
    )
    group.add_argument(
        "--min-severity", choices=[each.value for each in Severity], default="info", help="default: info, which is all"
    )
    group.add_argument(
        "--min-age",
        metavar="AGE",
        type=_duration,
        default=0.0,
        help="leave out what is younger, such as 90s, 10m, 2h or 1d; what has no known age is new",
    )
    group.add_argument(
        "--now",
        metavar="TIME",
        type=_time,
        help="what ages are counted to, such as 2026-11-21T17:30:00Z; default: now",
    )


def filters_of(arguments: argparse.Namespace, enabled: Iterable[Check], *, several: bool) -> Filters:
    """`enabled` are the checks that are switched on, `several` says whether clusters are compared. Raises UsageError
    for a check that is not evaluated then, or is none."""
    running = {check.id: check for check in enabled}
    known = [check.id for check in all_checks()]
    for each in arguments.check or ():
        if each not in known:
            close = difflib.get_close_matches(each, known, 1, cutoff=0)
            raise UsageError(f"no check is called {each!r}; did you mean {close[0]}?")
        if each not in running:
            raise UsageError(f"check {each} is switched off by the configuration")
        if running[each].scope is PER_FLEET and not several:
            raise UsageError(f"{each} compares clusters; give --from for each of them")
    reasons = frozenset(arguments.reason or ())
    _refuse_unknown(reasons)
    return Filters(
        frozenset(arguments.check or (name for name, each in running.items() if _asked(each, arguments, several))),
        frozenset(arguments.namespace or ()),
        reasons,
        frozenset(arguments.feature or ()),
        Severity(arguments.min_severity),
        arguments.min_age,
        time.time() if arguments.now is None else arguments.now,
    )


def _asked(check: Check, arguments: argparse.Namespace, several: bool) -> bool:
    """Whether a check that is not asked for by name can find what is."""
    return (
        (several or check.scope is not PER_FLEET)
        and (not arguments.feature or check.id.startswith(_OF_FEATURES))
        and (not arguments.reason or any(name in check.reasons for name in arguments.reason))
    )


def _refuse_unknown(reasons: Iterable[str]) -> None:
    known = [name for check in all_checks() for name in check.reasons]
    for each in reasons:
        if each not in known:
            close = difflib.get_close_matches(each, known, 1, cutoff=0)
            raise UsageError(f"no reason is called {each!r}; did you mean {close[0]}?")


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write it as 90s, 10m, 2h or 1d")
    return float(match[1]) * _UNITS[match[2]]


def _time(text: str) -> float:
    try:
        moment = epoch(text)
    except ValueError:
        moment = None
    if moment is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write it as 2026-11-21T17:30:00Z")
    return moment
