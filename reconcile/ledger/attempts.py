"""What is known of the writes that were begun: each of them, and what they amount to."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from .entry import Entry


class Attempt(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One write that was begun. `target`, which bears a pause, and `subject` are as in
    "Kind namespace/name", as `writes` are, `vm` as in "namespace/name"."""

    id: str
    at: float
    remediation: str = ""
    fingerprint: str = ""
    namespace: str = ""
    target: str = ""
    subject: str = ""
    vm: str = ""
    undo: bool = False
    writes: tuple[str, ...] = ()  # the objects that it is about: what is written, and what bears the Event


@dataclass(frozen=True)
class Failures:
    """How often a remediation failed in a row, and when last."""

    count: int
    last: float


@dataclass(frozen=True)
class War:
    """A repair that somebody else undid again and again. `why` is what the last return says, with the rival."""

    times: int
    last: float
    why: str


@dataclass(frozen=True)
class Pause:
    at: float
    by: str
    why: str


@dataclass(frozen=True, order=True)
class Return:
    at: float
    attempt: str
    target: str
    subject: str
    why: str


def attempt_of(entry: Entry) -> Attempt:
    """Of what is intended."""
    plan = entry.plan
    if plan is None:
        return Attempt(entry.attempt, entry.at)
    return Attempt(
        entry.attempt,
        entry.at,
        plan.remediation,
        plan.fingerprint,
        plan.target.namespace,
        str(plan.bound_to),
        str(plan.subject),
        f"{plan.target.namespace}/{plan.vm}" if plan.vm else "",
        entry.mode == "undo",
        tuple(sorted({str(plan.bound_to), str(plan.target)})),
    )
