"""One entry of the ledger, and the line that holds it.

A line is the entry as JSON and a line break. Its last field, `sum`, is the SHA-256 of the JSON without that field, and
`previous` is the sum of the line before: what `head -c -75` leaves of a line and a `}` go into `sha256sum` to prove it.

The first entry of a file `opens` it: whose ledger it is, the SHA-256 of the files before it, and what of them still
matters. So a start reads the newest file and only sums up the others, and old files can go.
"""

from __future__ import annotations

from enum import StrEnum
from hashlib import sha256
from typing import Any

import msgspec

from exporter.facts.nesting import cut

from ..plan.plan import Plan

_LEVELS = 500  # an entry of about 1000 could be encoded, but not decoded where the stack is higher


class LedgerError(Exception):
    """The ledger can't be read or written; its text is one sentence with the file, what came back and what to do."""


class LedgerLockedError(LedgerError):
    """Another process writes it."""


class Event(StrEnum):
    INTENDED = "intended"  # about to be written
    DONE = "done"
    FAILED = "failed"
    UNCLEAR = "unclear"  # no answer came: it may have happened, and may still
    IN_USE = "in_use"  # after the write something was found to use what it released
    UNSEEN = "unseen"  # after the write it could not be seen whether something uses what it released
    RESOLVED = "resolved"  # by a look at the object, whether it happened, as far as that shows it
    VERIFIED = "verified"  # the finding is gone
    STAYED = "stayed"  # the finding of a canary stayed gone for as long as it has to
    PERSISTS = "persists"  # the finding is still there
    RETURNED = "returned"  # the finding was gone and is there again
    TAKEN_BACK = "taken_back"  # by a person, in an attempt of the ledger beside this one
    PAUSED = "paused"
    RESUMED = "resumed"
    ACCEPTED = "accepted"  # the ledger is taken as it is, although it is not known to be the one that was written
    SHADOWED = "shadowed"  # would have been written: mode `shadow` writes nothing
    WENT = "went"  # the finding of what was shadowed is gone, and no attempt was made for it
    COUNTED = "counted"  # how many findings there are, and of how many there is a plan


class Counted(msgspec.Struct, frozen=True, array_like=True):
    """Findings that one remediation is for, and those of them that it has a plan for."""

    found: int
    planned: int


class Opening(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Begins a file. `files` has the SHA-256 of each file before it that no other opening has, by its number.

    `unfinished` are the intended entries of attempts under way, and `carried` is what the readers of the ledger know of
    all entries before this one, by their names.
    """

    ledger: str  # made once, at random
    cluster: str = ""  # the UID of its namespace kube-system; empty where it was written without a cluster
    led: bool = False  # whether something was written under a Lease since it states that
    files: dict[int, str] = {}
    unfinished: tuple[Entry, ...] = ()
    carried: dict[str, msgspec.Raw] = {}


class Head(msgspec.Struct, frozen=True):
    """How far a ledger goes: its last entry. `seq` is 0 and `sum` empty where there is none."""

    ledger: str
    seq: int
    sum: str


class Entry(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """`at` is in seconds since 1970; `attempt` is the plan's hash and the `seq` of the intended entry."""

    seq: int
    at: float
    event: Event
    attempt: str = ""
    plan: Plan | None = None  # of what is intended, or shadowed
    mode: str = ""  # "approve", "auto", "apply", "undo" or "shadow"
    by: str = ""  # who asked
    authorized: bool = (
        False  # whether the API server held who approved, or resumed, to what they may, and their own name
    )
    whole: dict[str, Any] | None = None  # the object before, where it is intended or shadowed; after, where it is done
    after: dict[str, Any] | None = None  # where it is shadowed: the object as the write would have left it
    request: dict[str, Any] | None = None  # method, path, query, headers and body as sent, or as they would have been
    # Whether the write turned out to have happened, where it is resolved and known, or unclear for another reason;
    # where the finding went, whether the object shows what would have been written, since somebody else wrote it.
    happened: bool | None = None
    counts: dict[str, Counted] = {}  # of what is counted, by remediation
    why: str = ""
    undoes: str = ""  # the attempt that this one takes back
    scope: str = ""  # of a pause: "" for all, a namespace, "Kind namespace/name", or "remediation id"
    canary: str = ""  # of what is intended: what is on trial, where it is
    opens: Opening | None = None  # of the first entry of a file
    previous: str = ""
    sum: str = ""  # the last field: see the module


_TEXTS = ("attempt", "mode", "by", "why", "undoes", "scope")
_DECODER = msgspec.json.Decoder(Entry)
_SUM = len(b',"sum":""}') + 64


def sealed(entry: Entry) -> tuple[Entry, bytes]:
    """The entry with its sum, and its line. Raises ValueError for what JSON can't hold, with the reason."""
    try:
        content = msgspec.json.encode(msgspec.structs.replace(entry, sum=""))
    except RecursionError as error:
        raise ValueError(f"it is nested deeper than {_LEVELS} levels") from error
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"it can't be encoded as JSON: {error}") from error
    # What an opening carries was within the limit where it was first recorded; there it is some levels deeper.
    if cut(content).levels > _LEVELS + (10 if entry.opens else 0):
        raise ValueError(f"it is nested deeper than {_LEVELS} levels")
    entry = msgspec.structs.replace(entry, sum=sha256(content).hexdigest())
    return entry, content[:-1] + f',"sum":"{entry.sum}"}}\n'.encode()


def recorded(entry: Entry) -> tuple[Entry, bytes]:
    """As `sealed`. What is intended is kept whole or not at all; what came of it is kept in any case."""
    # Texts may have come from file names or exceptions, with surrogates that UTF-8 lacks.
    texts = {name: getattr(entry, name).encode("utf-8", "replace").decode() for name in _TEXTS}
    entry = msgspec.structs.replace(entry, **texts)
    try:
        return sealed(entry)
    except ValueError as error:
        if entry.event is Event.INTENDED or entry.whole is None:
            raise
        why = "; ".join(filter(None, (entry.why, f"the object can't be recorded: {error}")))
        return sealed(msgspec.structs.replace(entry, whole=None, after=None, why=why))


def opened(line: bytes) -> Entry:
    """The entry that a line, without its line break, holds. Raises ValueError with what is wrong with it."""
    try:
        entry = _DECODER.decode(line)
    except RecursionError as error:
        raise ValueError("it is nested too deep for a ledger entry") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise ValueError(f"it isn't a ledger entry: {error}") from error
    if line[-_SUM:] != f',"sum":"{entry.sum}"}}'.encode():
        raise ValueError("it was altered: it does not end with its checksum")
    if sha256(line[:-_SUM] + b"}").hexdigest() != entry.sum:
        raise ValueError("it was altered: its checksum doesn't match its content")
    return entry
