"""What every kind shares: the flat record kept per object, and references to objects."""

from __future__ import annotations

from datetime import datetime
from sys import intern

import msgspec

__all__ = [
    "Owner",
    "Record",
    "Ref",
    "Wire",
    "WireCondition",
    "WireMeta",
    "WireOwner",
    "epoch",
    "identity",
    "kubevirt_owners",
]


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


class Record(msgspec.Struct, frozen=True, gc=False):
    """The facts of one object that checks ask for; flat and of atoms, so that the garbage collector never walks it."""

    namespace: str
    name: str
    uid: str
    rv: int  # resourceVersion: orders two states of one object, says nothing else

    @property
    def ref(self) -> Ref:
        return Ref(type(self).__name__, self.namespace, self.name, self.uid)

    @property
    def vms(self) -> tuple[str, ...]:
        """The names of the VMs, in its namespace, that it is part of."""
        return ()

    def same_facts(self, other: Record) -> bool:
        """Whether nothing that a check could read differs."""
        return self == other or (type(self) is type(other) and self == msgspec.structs.replace(other, rv=self.rv))


class Wire(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A part of an object as the API server sends it: only the fields we read, each may be null or absent."""


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
    last_transition_time: str | None = None


class Owner(msgspec.Struct, frozen=True, gc=False):
    """An owner reference to a KubeVirt object."""

    kind: str
    name: str
    uid: str


def kubevirt_owners(owners: list[WireOwner | None] | None) -> tuple[Owner, ...]:
    """The owner references whose apiVersion is of the group kubevirt.io, in their order."""
    return tuple(
        Owner(intern(owner.kind or ""), owner.name or "", owner.uid or "")
        for owner in owners or ()
        if owner is not None and (owner.api_version or "").partition("/")[0] == "kubevirt.io"
    )


def identity(meta: WireMeta) -> tuple[str, str, str, int]:
    """The first four fields of a record. Raises ValueError for an object without a name."""
    if not meta.name:
        raise ValueError("it has no metadata.name")
    version = str(meta.resource_version or "")
    # A dump may come without resourceVersions; 0 then.
    return intern(meta.namespace or ""), meta.name, meta.uid or "", int(version) if version.isdecimal() else 0


def epoch(text: str | None) -> float | None:
    """RFC 3339 text to seconds since 1970 in UTC.

    Raises ValueError on text that is no time: the object then counts as undecodable.
    """
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return moment.timestamp()
