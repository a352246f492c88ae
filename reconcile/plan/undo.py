"""What taking a write back means, and what a remediation declares of it. Pure.

The step that takes a write back follows from the write (`effects.inverse`). Whether it may be sent does not: the
cluster has gone on since. A loss is what a person may give up by its word; whatever else stands against it can't be
forced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import msgspec

from .guards import Guard, Guarded, Needs
from .lost import Lost
from .plan import Plan, Refused, Risk
from .remediation import LookAgain, Scene

__all__ = [
    "COMMON_UNDO_PRECONDITIONS",
    "LOSSES",
    "AnyUndo",
    "Loss",
    "Lost",
    "NoUndo",
    "Unaccepted",
    "Undo",
    "UndoEffect",
    "UndoRequest",
]

COMMON_UNDO_PRECONDITIONS = {
    "can_be_undone": "the write can be undone, and its earlier state is known",
    "everything_seen": "everything that the undo needs could be read",
    "same_object": "the object has the UID that it had when it was written",
    "unchanged_since": "what the write changed is as the write left it",
    "accepted_is_lost": "each accepted word names a loss of this undo",
    "ours_to_write": "no owner of the object would revert the write",
    "dry_run_clean": "the API server and its webhooks accept the write as a dry run",
    "same_plan": "right before the write, a new plan is the same as the plan shown",
    "read_just_now": "the write is sent within 5 seconds of the last read",
    "unchanged": "the object has not changed since it was read",
}


LOSSES: Mapping[Lost, tuple[str, Risk]] = {
    Lost.ADDRESS: ("an IP address is released to the network, which can give it to another VM or pod", Risk.ADDRESS),
    Lost.COPY: ("a VM no longer finds its instancetype or preference and can't be started", Risk.DOWNTIME),
    Lost.DOWNTIME: ("the guest is shut down", Risk.DOWNTIME),
    Lost.IDENTITY: ("the guest sees a different UUID, serial or MAC address from its last start", Risk.IDENTITY),
    Lost.UNIQUENESS: ("two VMs have the same UUID, serial or MAC address", Risk.IDENTITY),
}


@dataclass(frozen=True, kw_only=True)
class UndoRequest:
    """A write that is to be taken back: its attempt in the ledger, its plan, the object before and right after it.

    `by` is who takes it back, `accepted` the words of what they give up for that. `attempt` is empty of a write that no
    ledger here has: `why` is then the sentence why it is taken back. `pauses` says whether the object is
    paused with it.
    """

    attempt: str
    plan: Plan
    before: Mapping[str, Any]
    after: Mapping[str, Any] | None
    by: str = ""
    accepted: tuple[str, ...] = ()
    why: str = ""
    pauses: bool = True


class Loss(msgspec.Struct, frozen=True):
    """What is lost if it is taken back now, in a few words, and the precondition that stands for it; `why` is a
    sentence.
    """

    precondition: str
    what: str
    why: str


class UndoEffect(msgspec.Struct, frozen=True, kw_only=True):
    """What taking a write back comes to: its effect in sentences, what is lost, and the risk beside that."""

    effect: str
    losses: tuple[Loss, ...] = ()
    risk: Risk = Risk.NONE


class Unaccepted(Refused, frozen=True):
    """Something would be lost that nobody has given up: by these words it may be."""

    words: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Undo(Guarded):
    """Data plus one pure function from a write and what is read afresh to what taking it back comes to, or a refusal.

    It reads what it declares, as a remediation does: the kinds that are written among it. `losses` is the closed set of
    the preconditions that a person may give up, each with its word and with what must hold. After it `looks_again` at
    who might use what it released.
    """

    id: str  # of the remediation
    weigh: Guard[[UndoRequest, Scene], UndoEffect | Refused] = field(repr=False)
    losses: Mapping[str, tuple[Lost, str]] = field(default_factory=dict)
    looks_again: LookAgain | None = field(default=None, repr=False)

    @cached_property
    def needs(self) -> Needs:
        after = self.looks_again  # which refuses nothing
        return Needs(self.weigh, reads=after.reads if after else (), indexes=after.indexes if after else ())

    def __str__(self) -> str:
        return f"the undo of {self.id}"


@dataclass(frozen=True, eq=False)
class NoUndo:
    """Of a remediation that no write takes back: what whoever does it by hand has to know, in sentences."""

    id: str
    why: str


AnyUndo: TypeAlias = Undo | NoUndo
