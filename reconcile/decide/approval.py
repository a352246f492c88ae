"""Approvals: an annotation of the object that a plan is about, with the plan's hash, by whom, when, and until when.

    …/approved-plan: 3f9c2a51d07be846 by alice@example.org at 2026-07-01T10:00:00Z until 2026-07-01T18:00:00Z

It is for one plan: another write, or another object of that name, has another hash. It is for one write, too: what was
given before the ledger began may have been used, and is not. The policy `steward-approvals` lets only those approve who
may, under their own name; without it whoever may annotate the object may, and the name is only what was given.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from exporter.config.forms import write_duration
from exporter.config.mistakes import quoted

from ..plan.annotations import APPROVED_PLAN, annotations_of, said_by
from ..plan.plan import Plan, moment

_FORM = re.compile(r"([0-9a-f]{16}) by (.+?)(?: at (\S+))?(?: until (\S+))?")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})")
_LONGEST_NAME = 200
_AHEAD = 60.0  # seconds by which the clock of who approves may be ahead


class Approval(msgspec.Struct, frozen=True):
    """`until` and `at`, when it was given, are in seconds since 1970, None where it does not say."""

    hash: str
    by: str
    until: float | None
    at: float | None = None


def parse(text: str) -> Approval:
    """Raises ValueError with what is wrong with it."""
    found = _FORM.fullmatch(text) if text.isprintable() else None
    if found is None or len(found[2]) > _LONGEST_NAME or found[2] != found[2].strip():
        raise ValueError(f"{quoted(text)} isn't an approval. Write it as HASH by NAME until 2026-07-01T18:00:00Z")
    at, until = (None if each is None else _seconds(each) for each in found.group(3, 4))
    return Approval(found[1], found[2], until, at)


def write(plan_hash: str, by: str, at: float, until: float) -> str:
    """The annotation's value. Times are in seconds since 1970. Raises ValueError for a name that can't stand in it."""
    text = f"{plan_hash} by {by} at {moment(at)} until {moment(until)}"
    if parse(text).by != by:
        raise ValueError(f"{quoted(by)} can't be the name in an approval")
    return text


def approved(
    plan: Plan,
    whole: Mapping[str, Any] | None,
    now: float,
    longest: timedelta,
    *,
    since: float = 0.0,
    authorized: bool = False,
) -> str:
    """Empty where the object approves of the plan, else one sentence why not. Times are in seconds since 1970.

    `longest` is how long an approval may last from now on, `since` from when on it is known which were used, and
    `authorized` whether the API server holds whoever approves to their own name.
    """
    annotations = annotations_of(whole)
    if annotations is None:
        return f"the annotations of {plan.bound_to} could not be read"
    text = annotations.get(APPROVED_PLAN)
    if text is None or text == "":
        return (
            f"the plan isn't approved. Annotate {plan.bound_to} with {APPROVED_PLAN}: "
            f"{plan.hash} by NAME at TIME until TIME"
        )
    if not isinstance(text, str):
        return f"annotation {APPROVED_PLAN} of {plan.bound_to} isn't text"
    try:
        approval = parse(text)
    except ValueError as error:
        return f"annotation {APPROVED_PLAN} of {plan.bound_to} can't be read: {error}"
    by = said_by(quoted(approval.by), authorized=authorized)
    return _why_not(plan, approval, by, now, longest) or _may_be_used(approval, by, now, longest, since)


def _may_be_used(approval: Approval, by: str, now: float, longest: timedelta, since: float) -> str:
    """Why it may have let a write happen that nobody knows of any more. One that does not say when it was given may be
    as old as one that lasts so long can be.
    """
    if approval.at is not None and approval.at > now + _AHEAD:
        return f"the approval of {by} is dated {moment(approval.at)}, which is in the future. Approve again"
    given = (approval.until or 0.0) - longest.total_seconds() if approval.at is None else approval.at
    if given >= since:
        return ""
    says = "" if approval.at is not None else " and has no date"
    why = f"the ledger records used approvals since {moment(since)}, and the approval of {by} might be older{says}"
    return f"{why}. Approve again"


def _why_not(plan: Plan, approval: Approval, by: str, now: float, longest: timedelta) -> str:
    if approval.hash != plan.hash:
        return f"{by} approved plan {approval.hash}, and the plan now is {plan.hash}. Review the plan and approve again"
    if approval.until is None:
        return f"the approval of {by} has no end. Add: until TIME, within {write_duration(longest)}"
    if approval.until <= now:
        return f"the approval of {by} expired at {moment(approval.until)}. Approve again"
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
        raise ValueError(f"{quoted(text)} isn't a time. Write it as 2026-07-01T18:00:00Z") from error
