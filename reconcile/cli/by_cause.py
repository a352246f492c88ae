"""Findings by their causes: in the order of page and command line, and those of one cause. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable

from exporter.findings.finding import Severity

from ..observe.source import Found, Observed

_RANKS = {each.value: each.rank for each in Severity}


def in_order(findings: Iterable[Found]) -> list[Found]:
    """The findings of the worst cause first, then those of the cause with most VMs, then of the oldest, as
    `exporter.views.causes.cause_order` has them; within a cause by namespace and name.
    """
    causes: dict[str, list[Found]] = {}
    for each in findings:
        causes.setdefault(each.cause or each.hint.fingerprint, []).append(each)
    ordered = sorted(causes, key=lambda cause: (*_standing(causes[cause]), cause))
    return [found for cause in ordered for found in sorted(causes[cause], key=_place)]


def _standing(findings: list[Found]) -> tuple[int, int, float]:
    worst = max(_RANKS.get(each.severity, -1) for each in findings)
    vms = len({(each.namespace, each.vm) for each in findings if each.vm})
    return -worst, -vms, min(math.inf if each.since is None else each.since for each in findings)


def _place(found: Found) -> tuple[str, str, str]:
    return found.namespace, found.hint.subject.name, found.hint.fingerprint


def of_cause(observed: Observed, cause: str) -> list[Found]:
    """The findings of the cause whose id begins so; none where no cause's does.

    Raises ValueError where several do, or a finding's fingerprint begins so too.
    """
    found = {each.cause for each in observed.findings if cause and each.cause.startswith(cause)}
    same = [each for each in observed.findings if each.hint.fingerprint.startswith(cause)] if found else []
    if len(found) + len(same) > 1:
        causes, findings = (
            f"{count} {what}{'' if count == 1 else 's'}"
            for count, what in ((len(found), "cause"), (len(same), "finding"))
        )
        what = f"{causes} and {findings} have ids"
        raise ValueError(f"{what} that begin with {cause}; give more of its digits")
    return in_order(each for each in observed.findings if each.cause in found)
