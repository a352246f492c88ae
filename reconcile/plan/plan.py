"""A plan: the one write that a remediation would send, as a value that can be printed, hashed and compared.

It is bound to objects by their UIDs and to what it found there by `test` operations. The resourceVersion is not part of
it: that is of the moment and is added when the write is sent, so that a plan stays the same while nothing that it is
about changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypeAlias

import msgspec

from exporter.facts.record import Ref
from exporter.findings.causes import Reference, cause_id

MAPS = ("/metadata/annotations", "/metadata/labels")
"""The maps whose entries are each somebody's own."""


class Risk(StrEnum):
    """What a write may cost, the worst first."""

    IDENTITY = "identity"  # the guest sees another machine identity
    ADDRESS = "address"  # an IP address goes back to the network
    DOWNTIME = "downtime"  # the guest is shut down
    MIGRATION = "migration"  # the guest moves to another node
    RESOURCES = "resources"  # the guest may get other CPUs or memory
    NONE = "none"


class _Op(msgspec.Struct, frozen=True, tag_field="op"):
    path: str  # a JSON pointer


class Test(_Op, frozen=True, tag="test"):
    value: Any


class Add(_Op, frozen=True, tag="add"):
    value: Any


class Replace(_Op, frozen=True, tag="replace"):
    value: Any


class Remove(_Op, frozen=True, tag="remove"):
    pass


Op: TypeAlias = Test | Add | Replace | Remove


class Patch(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="patch"):
    """A JSON patch of one object. Tests of its UID and resourceVersion are put before the operations.

    With `subresource` it goes there: "status" is ignored in a patch of the object itself.
    """

    target: Ref
    ops: tuple[Op, ...]
    subresource: str = ""


class Delete(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="delete"):
    """Asks for the deletion of one object, with its UID and resourceVersion as preconditions."""

    target: Ref


class Create(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="create"):
    """Creates an object of a fixed name, so that it is there once, however often it is sent.

    `of` is the object that it is for.
    """

    target: Ref  # without UID
    manifest: Mapping[str, Any]
    of: Ref


class Action(StrEnum):
    """KubeVirt's subresources that take a PUT."""

    CANCEL_EVACUATION = "evacuate/cancel"


class Call(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", tag="call"):
    """Calls a subresource of a VM or VMI. KubeVirt knows no preconditions there, but what the body says."""

    target: Ref
    action: Action
    body: Mapping[str, Any] = {}


Step: TypeAlias = Patch | Delete | Create | Call


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a plan is for somebody else to carry out, and where.

    `owner` is what would revert the write, in words ("Argo CD application `shop`"); `where` is what to change instead,
    one sentence; `patch` the change as YAML or JSON, or the command, as far as it can be given. `precondition` is the
    one that a write would be refused by.
    """

    owner: str
    where: str
    patch: str = ""
    precondition: str = "ours_to_write"

    @property
    def refused(self) -> Refused:
        """Why it is not carried out."""
        owned = self.precondition == "ours_to_write"
        return Refused(self.precondition, f"{self.owner} owns it" if owned else self.where)

    @property
    def said(self) -> str:
        """The same, with what to do instead."""
        return "; ".join(dict.fromkeys((self.refused.why, self.where)))


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """What the object that is created is shown against: `of` is what that is, in words, and `manifest` the same object
    with its content.
    """

    of: str
    manifest: Mapping[str, Any]


class Plan(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """What a remediation would do about one finding.

    `why` and `effect` are sentences; `undo` is one, or "none" with what can't come back. `subject` is the finding's,
    the step's `target` is what is written. `vm` is the VM concerned, empty where it is none. `loses` names what is gone
    for good, such as an address. A plan with a `proposal` is never carried out.
    """

    remediation: str
    fingerprint: str  # of the finding
    check: str
    reason: str
    subject: Ref
    step: Step
    why: str
    effect: str
    risk: Risk
    undo: str
    vm: str = ""
    loses: tuple[str, ...] = ()
    proposal: Proposal | None = None
    compared: Compared | None = None
    settles: bool = True  # whether the finding goes with it; not with a nudge, nor with a guard
    undoes: str = ""  # the attempt that it takes back
    accepted: tuple[str, ...] = ()  # the words by which a person gave up what that loses
    cause: Reference | None = None  # what one act would mend, with all findings of this reason that have the same one

    @property
    def target(self) -> Ref:
        return self.step.target

    @property
    def bound_to(self) -> Ref:
        """The existing object that the write is about: it bears the approval and the Event."""
        return self.step.of if isinstance(self.step, Create) else self.step.target

    @property
    def cause_id(self) -> str:
        """The finding's; empty where it is not known."""
        return cause_id(self.check, self.reason, self.cause) if self.cause is not None else ""

    @cached_property
    def hash(self) -> str:
        """16 hex digits: the same as long as remediation, finding and write are the same.

        An annotation that is added with the map for it is the same write as one that is added to others: the approval
        is an annotation too, and may be the first of its object.
        """
        step = self.step
        if isinstance(step, Patch):
            step = msgspec.structs.replace(step, ops=tuple(_one_by_one(step.ops)))
        content = msgspec.json.encode((self.remediation, self.fingerprint, self.bound_to, step), order="sorted")
        return blake2b(content, digest_size=8).hexdigest()


def _one_by_one(ops: tuple[Op, ...]) -> Iterator[Op]:
    for op in ops:
        if isinstance(op, Add) and op.path in MAPS and isinstance(op.value, Mapping):
            yield from (Add(f"{op.path}/{escaped(name)}", value) for name, value in op.value.items())
        else:
            yield op


def escaped(key: str) -> str:
    """A key as a part of a JSON pointer."""
    return key.replace("~", "~0").replace("/", "~1")


class Refused(msgspec.Struct, frozen=True, omit_defaults=True):
    """A remediation has no plan: the precondition that does not hold, and why, one sentence. A normal ending.

    The precondition's name is positive and says what must hold; it is a label value out of a closed set. `unseen` is
    the one object that can't be read, as in "Pod shop/db", where that is why; `remedy` is then what to do about it, one
    sentence.
    """

    precondition: str
    why: str
    unseen: str = ""
    remedy: str = ""


# How a moment is written in a sentence.


def moment(at: float) -> str:
    """Seconds since 1970 as RFC 3339 in UTC, to the second; what no calendar has as a number."""
    try:
        return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return f"{at:.0f} s after 1970"
