"""The files of a ledger by their first entries: whose they are, what proves the older ones, and where an entry is."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import msgspec

from .entry import Entry, Event, LedgerError, Opening, opened
from .reading import REMEDY, Chain, Extent, Line, lines


class Identity(msgspec.Struct, frozen=True):
    """Whose a ledger is; empty where nothing says so."""

    ledger: str = ""
    cluster: str = ""

    def __str__(self) -> str:
        if not self.ledger:
            return "a ledger without an identity"
        return f"ledger {self.ledger} of {f'cluster {self.cluster}' if self.cluster else 'no known cluster'}"


class First(msgspec.Struct, frozen=True):
    """Of the first entry of a file; `identity` is None where it states none."""

    path: Path
    seq: int
    at: float
    previous: str
    identity: Identity | None = None
    accepted: bool = False
    files: Mapping[int, str] = {}  # the sums of files before it
    readers: frozenset[str] = frozenset()  # whose knowledge it carries


def first_of(entry: Entry, path: Path) -> First:
    accepted, opens = entry.event is Event.ACCEPTED, entry.opens
    if opens is None:
        return First(path, entry.seq, entry.at, entry.previous)
    whose = Identity(opens.ledger, opens.cluster)
    carried = frozenset(opens.carried)
    return First(path, entry.seq, entry.at, entry.previous, whose, accepted, opens.files, carried)


def firsts(there: Mapping[int, Path]) -> Iterator[tuple[int, First]]:
    """Of each file that has an entry; of the newest one the first line may be cut off. Raises LedgerError."""
    newest = max(there, default=0)
    for number, path in there.items():
        line = next(lines(path), None)
        if line is None or (number == newest and not _usable(line)):
            continue
        yield number, first_of(Chain().follow(line), path)


def _usable(line: Line) -> bool:
    """What is wrong with a line of the newest file is said by whoever reads all of it."""
    try:
        opened(line.content)
    except ValueError:
        return False
    return True


def opening(path: Path) -> Opening | None:
    """What the first entry of a file states. Raises LedgerError."""
    line = next(lines(path), None)
    return Chain().follow(line).opens if line is not None else None


def identity(found: Mapping[int, First], wanted: Extent, directory: Path) -> tuple[Identity, bool]:
    """What all files and `ledger.json` agree on, empty where nothing says so; and whether a file states it.

    Raises LedgerError.
    """
    known: Identity | None = None
    for first in found.values():
        said = first.identity
        if said is None and known is not None:
            raise LedgerError(f"line 1 of {first.path} has no identity, and the file before it is of {known}; {REMEDY}")
        if known is not None and said != known and not _adopts(first, known):
            raise LedgerError(
                f"line 1 of {first.path} is of {said}, and the file before it of {known}: "
                f"files of two ledgers are mixed; {REMEDY}"
            )
        known = said
    declared = Identity(wanted.ledger, wanted.cluster)
    if known is None:
        return declared, False
    # A cluster is declared just before the entry that gives it to a ledger that had none.
    if declared.ledger and (declared.ledger != known.ledger or (known.cluster and declared.cluster != known.cluster)):
        raise LedgerError(f"{directory / 'ledger.json'} is of {declared}, and the files are of {known}; {REMEDY}")
    return known, True


def _adopts(first: First, known: Identity) -> bool:
    """Whether an entry gives its cluster to a ledger that had none."""
    said = first.identity
    return said is not None and first.accepted and said.ledger == known.ledger and not known.cluster


class LedgerFiles:
    """Finds entries by their numbers, without reading all files."""

    def __init__(self, found: Mapping[int, First]) -> None:
        self.firsts = dict(found)

    def add(self, number: int, entry: Entry, path: Path) -> None:
        """The first entry of a new file."""
        self.firsts[number] = first_of(entry, path)

    def remove_before(self, number: int) -> None:
        self.firsts = {each: first for each, first in self.firsts.items() if each >= number}

    def entry(self, seq: int) -> Entry | None:
        """None where there is none of that number. Raises LedgerError."""
        first = next((each for each in reversed(self.firsts.values()) if each.seq <= seq), None)
        if first is None:
            return None
        start = b'{"seq":%d,' % seq
        found = next((line for line in lines(first.path) if line.content.startswith(start)), None)
        return Chain().follow(found) if found is not None else None

    def sum_at(self, seq: int) -> str | None:
        """The sum of the entry of that number, also of the last one that was removed; None where it is not known."""
        oldest = next(iter(self.firsts.values()), None)
        if oldest is not None and seq == oldest.seq - 1:
            return oldest.previous
        found = self.entry(seq)
        return found.sum if found is not None else None


def sum_of(path: Path) -> str:
    """The SHA-256 of a file. Raises LedgerError."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise LedgerError(f"can't read {path}: {error.strerror}. Grant read permission") from error


def sums(found: Mapping[int, First]) -> dict[int, str]:
    """Of the files that a later one has the SHA-256 of."""
    return {number: each for first in found.values() for number, each in first.files.items()}


def altered(there: Mapping[int, Path], proofs: Mapping[int, str]) -> Iterator[str]:
    """A sentence for each file that is not the one that was written; a gigabyte takes a second or two."""
    chosen = [number for number in there if number in proofs]
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
        for number, now in zip(chosen, threads.map(lambda each: sum_of(there[each]), chosen), strict=True):
            if now != proofs[number]:
                yield _where(there[number])


def _where(path: Path) -> str:
    """The line, where a line is wrong in itself."""
    chain = Chain()
    try:
        for line in lines(path):
            chain.follow(line)
    except LedgerError as error:
        return str(error)
    return f"{path} was altered: its checksum differs from its record in a later file; {REMEDY}"


# How much of a ledger is kept. Whole files go, the oldest first.


class Retention(msgspec.Struct, frozen=True):
    """`max_age` is in seconds, `max_size` in bytes; None is without end."""

    max_age: float | None = None
    max_size: int | None = None

    def oldest(self, own: LedgerFiles, newest: int, now: float) -> int:
        """The number of the oldest file to keep; of those from `newest` on all are kept.

        A file is too old when its last entry is.
        """
        rest = list(own.firsts.items())
        size = sum(_size(first.path) for _, first in rest)
        for (number, first), (_, after) in pairwise(rest):
            old = self.max_age is not None and after.at < now - self.max_age
            large = self.max_size is not None and size > self.max_size
            if number >= newest or not (old or large):
                return number
            size -= _size(first.path)
        return rest[-1][0] if rest else 0


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.stat().st_size
    return 0
