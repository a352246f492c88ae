"""Approvals: an annotation of the object that a plan is about, with the plan's hash, by whom and until when.

    steward.kubevirt-steward.io/approved-plan: 3f9c2a51d07be846 by alice@example.org until 2026-07-01T18:00:00Z

It is for one plan: another write, or another object of that name, has another hash. Who may annotate the object may
approve: it is the API server that says who did, in its audit log; the name in it is only what was given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from exporter.config.forms import write_duration
from exporter.config.mistakes import quoted

from ..plan.annotations import APPROVED_PLAN, annotations_of
from ..plan.plan import Plan
from ..plan.time_text import moment

__all__ = ["Approval", "approved", "parse", "write"]

_FORM = re.compile(r"([0-9a-f]{16}) by (.+?)(?: until (\S+))?")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})")
_LONGEST_NAME = 200


class Approval(msgspec.Struct, frozen=True):
    """`until` is in seconds since 1970, None where it has no end."""

    hash: str
    by: str
    until: float | None


def parse(text: str) -> Approval:
    """Raises ValueError with what is wrong with it."""
    found = _FORM.fullmatch(text) if text.isprintable() else None
    if found is None or len(found[2]) > _LONGEST_NAME or found[2] != found[2].strip():
        raise ValueError(f"{quoted(text)} is no approval; write it as HASH by NAME until 2026-07-01T18:00:00Z")
    return Approval(found[1], found[2], None if found[3] is None else _seconds(found[3]))


def write(plan_hash: str, by: str, until: float) -> str:
    """The annotation's value. `until` is in seconds since 1970. Raises ValueError for a name that can't stand in it."""
    text = f"{plan_hash} by {by} until {moment(until)}"
    parse(text)
    return text


def approved(plan: Plan, whole: Mapping[str, Any] | None, now: float, longest: timedelta) -> str:
    """Empty where the object approves of the plan, else one sentence why not. `now` is in seconds since 1970.

    `longest` is how long an approval may last from now on.
    """
    annotations = annotations_of(whole)
    if annotations is None:
        return f"the annotations of {plan.bound_to} could not be read"
    text = annotations.get(APPROVED_PLAN)
    if text is None or text == "":
        return (
            f"nobody has approved of it; annotate {plan.bound_to} with {APPROVED_PLAN}: {plan.hash} by NAME until TIME"
        )
    if not isinstance(text, str):
        return f"annotation {APPROVED_PLAN} of {plan.bound_to} is not text"
    try:
        approval = parse(text)
    except ValueError as error:
        return f"annotation {APPROVED_PLAN} of {plan.bound_to} can't be read: {error}"
    return _why_not(plan, approval, now, longest)


def _why_not(plan: Plan, approval: Approval, now: float, longest: timedelta) -> str:
    by = quoted(approval.by)
    if approval.hash != plan.hash:
        return f"{by} approved of plan {approval.hash}, and this is plan {plan.hash}: look at it, and approve anew"
    if approval.until is None:
        return f"the approval of {by} has no end; add: until TIME, within {write_duration(longest)}"
    if approval.until <= now:
        return f"the approval of {by} ended at {moment(approval.until)}; approve anew"
    if approval.until - now > longest.total_seconds():
        most = f"at most {write_duration(longest)} is allowed (approval.longest)"
        return f"the approval of {by} lasts until {moment(approval.until)}; {most}"
    return ""


def _seconds(text: str) -> float:
    try:
        if not _TIME.fullmatch(text):
            raise ValueError
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError) as error:
        raise ValueError(f"{quoted(text)} is no time; write it as 2026-07-01T18:00:00Z") from error
