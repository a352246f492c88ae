"""What a start learns of a ledger: the newest file is read line by line, and the others are summed up."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from .entry import Entry, Event, LedgerError, opened
from .files import First, Identity, LedgerFiles, altered, firsts, identity, opening, sum_of, sums
from .reading import Chain, Extent, Line, extent, files, lines, missing, read
from .writer import Disk

# What of a ledger is not over: attempts under way.

_ENDS = frozenset({Event.DONE, Event.FAILED, Event.RESOLVED})
_OF_ATTEMPT_UNDER_WAY = _ENDS | {Event.UNCLEAR, Event.IN_USE, Event.UNSEEN}
_OF_NO_ATTEMPT = frozenset({Event.PAUSED, Event.RESUMED, Event.ACCEPTED, Event.COUNTED})
_PLANNED = frozenset({Event.INTENDED, Event.SHADOWED})


class OpenItems:
    def __init__(self, unfinished: Iterable[Entry] = ()) -> None:
        self._attempts = {entry.attempt: entry for entry in unfinished}

    def unfinished(self) -> list[Entry]:
        return list(self._attempts.values())

    def allow(self, entry: Entry) -> None:
        """Raises ValueError for an entry that makes no sense after those that were taken."""
        event, attempt = entry.event, entry.attempt
        if event in _PLANNED and entry.plan is None:
            raise ValueError(f"what is {event} needs its plan")
        if event in _OF_ATTEMPT_UNDER_WAY and attempt not in self._attempts:
            raise ValueError(f"{event} of attempt {attempt!r}, which is not under way")
        if event is Event.RESOLVED and entry.happened is None and not entry.why:
            raise ValueError(f"attempt {attempt} is only resolved by whether it happened, or why that is not known")
        if event not in _OF_NO_ATTEMPT and not attempt:
            raise ValueError(f"{event} is of an attempt; name it")

    def take(self, entry: Entry) -> None:
        if entry.event is Event.INTENDED:
            self._attempts[entry.attempt] = entry
        elif entry.event in _ENDS:
            self._attempts.pop(entry.attempt, None)


# Reads a ledger before it is written on, and repairs what a crash may have left: a last line that was cut off.


def recovered(there: Mapping[int, Path], disk: Disk, chain: Chain) -> Iterator[tuple[Entry, int]]:
    """The entries of files up to the newest, with their numbers; the torn line is then in a file of its own.

    Raises LedgerError for anything else that is not as it was written, and OSError.
    """
    for number, path in there.items():
        for line in lines(path):
            torn = number == max(there) and _torn(line)
            if torn and not _complete(line):
                _move_aside(line, disk)
                return
            yield chain.follow(line), number
            if torn:
                _end(line, disk)
                return


def _complete(line: Line) -> bool:
    """Whether only the line break is missing: such an entry may have been reported as written."""
    try:
        opened(line.content)
    except ValueError:
        return False
    return True


def _torn(line: Line) -> bool:
    """Whether a crash explains it: it has no end, or it is the last one and has blocks that never were written."""
    if not line.ends:
        return True
    return b"\0" in line.content and line.offset + len(line.content) + 1 == line.file.stat().st_size


def _end(line: Line, disk: Disk) -> None:
    file = disk.open(line.file)
    try:
        disk.write(file, b"\n")
        disk.sync(file)
    finally:
        os.close(file)


def _move_aside(line: Line, disk: Disk) -> None:
    content = line.content + b"\n" * line.ends
    name = f"{line.file.stem}-{line.offset}"
    aside = line.file.with_name(f"{name}.torn")
    more = 1
    while aside.exists():
        more += 1
        aside = line.file.with_name(f"{name}-{more}.torn")
    disk.write_new(aside, content)
    disk.sync_directory(aside.parent)
    file = disk.open(line.file)
    try:
        disk.truncate(file, line.offset)
        disk.sync(file)
    finally:
        os.close(file)


class Start(NamedTuple):
    """`stated` is whether a file states whose the ledger is, `led` whether something was written under a Lease since,
    `unproven` the SHA-256 of files that no later one has.
    """

    wanted: Extent
    whose: Identity
    stated: bool
    led: bool
    own: LedgerFiles
    items: OpenItems
    chain: Chain
    unproven: dict[int, str]


def under_lease(entry: Entry) -> bool:
    """Whether it is of a write for which the Lease had to be held: it then had the ledger's last entry."""
    return entry.event is Event.INTENDED and entry.mode in ("approve", "auto")


def start(directory: Path, disk: Disk) -> Start:
    """All that is there is proven. Raises LedgerError, and OSError for what can't be written."""
    there, wanted = files(directory), extent(directory)
    if gone := missing(there, wanted, directory):
        raise LedgerError(gone[0])
    found = dict(firsts(there))
    whose, stated = identity(found, wanted, directory)
    proofs = sums(found)
    if wrong := next(altered(there, proofs), ""):
        raise LedgerError(wrong)
    rest = {number: path for number, path in there.items() if number not in proofs}
    opens = opening(found[min(rest)].path) if rest and min(rest) in found else None
    items, chain = OpenItems(opens.unfinished if opens is not None else ()), Chain()
    led = opens is not None and opens.led
    states = opens is not None
    for entry, _ in recovered(rest, disk, chain):
        items.take(entry)
        states = states or entry.opens is not None
        led = led or (states and under_lease(entry))
    whose = Identity(whose.ledger or secrets.token_hex(8), whose.cluster)
    unproven = {number: sum_of(path) for number, path in rest.items() if number != max(there)}
    own = LedgerFiles(dict(firsts(there)))  # anew: half a line may have been moved aside
    return Start(wanted, whose, stated, led, own, items, chain, unproven)


# What the readers of a ledger know of it, carried from file to file: so a start need not read what is long over.


class SummaryReader(Protocol):
    """`seq` is the number of the last entry that was added."""

    seq: int

    def add(self, entry: Entry) -> None:
        """Entries in their order."""

    def carried(self) -> bytes:
        """As JSON, all that matters of the entries until now."""

    def fits(self, carried: bytes) -> bool:
        """Whether that is enough for it; not where it looks back further than whoever wrote it, or can't read it."""

    def restore(self, carried: bytes) -> None:
        """Goes on from there. Raises ValueError for what it did not write."""


class Summaries:
    def __init__(self) -> None:
        self._readers: dict[str, SummaryReader] = {}

    def recall(self, directory: Path, own: LedgerFiles, readers: Mapping[str, SummaryReader]) -> None:
        """Gives the readers all that they need to know. Raises LedgerError."""
        self._readers = dict(readers)
        for entry in read(directory, self._begin(own)):
            for reader in self._readers.values():
                reader.add(entry)

    def _begin(self, own: LedgerFiles) -> int:
        """The number of the file to read from."""
        oldest = min(own.firsts, default=0)
        for number, first in reversed(own.firsts.items()):
            opens = opening(first.path) if first.readers >= set(self._readers) else None
            if opens is None:
                continue
            known = {name: bytes(opens.carried[name]) for name in self._readers}
            if all(reader.fits(known[name]) for name, reader in self._readers.items()):
                self._restore(known, first)
                return number
            if number == oldest and first.seq > 1:  # what was before it is nowhere else
                self._restore(known, first)
        return oldest

    def _restore(self, known: Mapping[str, bytes], first: First) -> None:
        for name, reader in self._readers.items():
            try:
                reader.restore(known[name])
            except (msgspec.MsgspecError, ValueError) as error:
                raise LedgerError(
                    f"what line 1 of {first.path} records about earlier entries can't be read: {error}. "
                    "Use the release that wrote it"
                ) from error

    def carried(self, seq: int) -> dict[str, msgspec.Raw]:
        """What to carry after the entry of that number; of a reader that does not know all entries, nothing."""
        return {name: msgspec.Raw(each.carried()) for name, each in self._readers.items() if each.seq == seq}

    def newest(self, own: LedgerFiles) -> int:
        """The number of the newest file that carries what all readers know: nothing before it is needed to start."""
        if not self._readers:
            return 0
        return next(self._carrying(own), 0)

    def _carrying(self, own: LedgerFiles) -> Iterator[int]:
        return (number for number, first in reversed(own.firsts.items()) if first.readers >= set(self._readers))
