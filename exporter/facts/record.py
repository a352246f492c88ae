"""What every kind shares: the flat record kept per object, and references to objects."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from sys import intern
from typing import Any, ClassVar

import msgspec


class Ref(msgspec.Struct, frozen=True, gc=False, order=True):
    """Names one object. `uid` is empty where only a name is known."""

    kind: str
    namespace: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"

    @property
    def path(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Unreadable(msgspec.Struct, frozen=True, gc=False, order=True):
    """A fact of an object that could not be read: in which annotation, and why in a few words."""

    annotation: str
    why: str


class UnansweredError(Exception):
    """There is no answer: the text is why, one sentence. `ref` is the one object that can't be read, where it is."""

    ref: Ref | None = None


class UnreadableFactError(UnansweredError):
    """Somebody needs a fact of an object that could not be read."""

    def __init__(self, ref: Ref, fact: Unreadable) -> None:
        super().__init__(f"{ref}: annotation {fact.annotation} could not be read: {fact.why}")
        self.ref = ref


class UnseenError(UnansweredError):
    """Somebody needs to know all objects of a kind that can't be seen, or whether one of them is there."""


class Record(msgspec.Struct, frozen=True, gc=False):
    """The facts of one object that checks read: flat and atomic, so that the garbage collector never tracks it."""

    namespace: str
    name: str
    uid: str
    rv: int  # resourceVersion: only orders two states of one object

    KIND: ClassVar[Any]  # the Kind that it is the record of

    @property
    def ref(self) -> Ref:
        return Ref(type(self).__name__, self.namespace, self.name, self.uid)

    @property
    def vms(self) -> tuple[str, ...]:
        """The names of the VMs in its namespace that it belongs to."""
        return ()

    def known(self, *annotations: str) -> None:
        """Raises UnreadableFactError where one of these annotations could not be read."""
        for fact in self.unread:
            if fact.annotation in annotations:
                raise UnreadableFactError(self.ref, fact)

    @property
    def unread(self) -> tuple[Unreadable, ...]:
        """What could not be read of it. Kinds with annotations that are parsed have it as a field `unreadable`."""
        found: tuple[Unreadable, ...] = getattr(self, "unreadable", ())
        return found

    def same_facts(self, other: Record) -> bool:
        """Whether the records are equal but for the resourceVersion."""
        return self == other or (type(self) is type(other) and self == msgspec.structs.replace(other, rv=self.rv))


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A part of an object as the API server sends it: only the fields that we read, each of which may be null or
    absent. Encoded, it has those that are not.
    """


WireTime = str | list[object] | None
"""A time in the spec or status of a custom resource: the API server takes lists in its place."""


class WireOwner(Wire, frozen=True, gc=False):
    kind: str | None = None
    name: str | None = None
    uid: str | None = None
    api_version: str | None = None
    controller: bool | None = None


class WireMeta(Wire, frozen=True, gc=False):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resource_version: str | int | None = None
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None


class WireCondition(Wire, frozen=True, gc=False):
    type: str | None = None
    status: str | None = None
    reason: str | None = None
    message: str | None = None
    last_transition_time: WireTime = None


class Owner(msgspec.Struct, frozen=True, gc=False):
    """An owner reference to a KubeVirt object."""

    kind: str
    name: str
    uid: str


def kubevirt_owners(owners: list[WireOwner | None] | None) -> tuple[Owner, ...]:
    """The owner references whose apiVersion is of the group kubevirt.io, in their order."""
    return tuple(
        Owner(intern(owner.kind or ""), intern(owner.name or ""), intern(owner.uid or ""))
        for owner in owners or ()
        if owner is not None and (owner.api_version or "").partition("/")[0] == "kubevirt.io"
    )


def named(meta: WireMeta) -> tuple[str, str, str, int]:
    """As `identity`, of an object whose name and UID the records of others have too: all share one text."""
    namespace, name, uid, version = identity(meta)
    return namespace, intern(name), intern(uid), version


_LONGEST_VERSION = 20  # digits of the largest one


def identity(meta: WireMeta) -> tuple[str, str, str, int]:
    """The first four fields of a record. Raises ValueError if the object has no name."""
    if not meta.name:
        raise ValueError("it has no metadata.name")
    version = str(meta.resource_version or "")
    # Objects of a dump may have no resourceVersion, or anything in its place: 0.
    number = int(version) if version.isdecimal() and len(version) <= _LONGEST_VERSION else 0
    return intern(meta.namespace or ""), meta.name, meta.uid or "", number


# What every calendar can show in every time zone; `creationTimestamp: 0001-01-01T00:00:00+14:00` is legal.
_LAST = datetime(9999, 12, 30, tzinfo=UTC).timestamp()
# What the API server takes as `format: date-time` (IsDateTime of k8s.io/kube-openapi/pkg/validation/strfmt): any
# character before the fraction, any offset, the year 0; in UTC it may be the year 10000.
_TAKEN = re.compile(r"(\d{4,5}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d)(?:.\d+)?(?:[Zz]|[+-]\d\d:\d\d)")
_NEVER = "0000"


# The times of objects that were written together are equal, and share one number; emptied if too many differ.
_TIMES: dict[str, float] = {}
_MOST_TIMES = 4096
_LONGEST_TIME = 32  # characters of a text that is kept: one to the nanosecond has no more


def epoch(text: WireTime) -> float | None:
    """RFC 3339 text to seconds since 1970 in UTC, bounded to the years 1970 to 9999.

    What the API server takes for a time although it is none is as near to one as can be read, at the least 1970.
    Raises ValueError for other text that is not a time, which makes the object undecodable.
    """
    if not text:
        return None
    if isinstance(text, list):
        return 0.0
    known = _TIMES.get(text)
    if known is not None:
        return known
    seconds = _seconds(text)
    if len(text) <= _LONGEST_TIME:
        if len(_TIMES) >= _MOST_TIMES:
            _TIMES.clear()
        _TIMES[text] = seconds
    return seconds


def _seconds(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text.upper())
    except ValueError as error:
        taken = _TAKEN.fullmatch(text)
        if taken is None:
            raise ValueError(f"{text!r} is no time") from error
        year, _, _ = taken[1].partition("-")
        if year == _NEVER or len(year) > len(_NEVER):
            return 0.0 if year == _NEVER else _LAST
        moment = datetime.fromisoformat(taken[1] + "+00:00")
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return min(max(moment.timestamp(), 0.0), _LAST)
