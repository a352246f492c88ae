"""Reads a ledger, also while another process writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from .entry import Entry, LedgerError, opened

REMEDY = (
    "restore it from a backup. A new ledger in an empty directory loses limits, edit wars and unfinished attempts. The "
    "sidecar uses a new ledger only after `steward reconcile ledger --accept`"
)
_NAME = re.compile(r"ledger-(\d{6,})\.jsonl")


class Extent(msgspec.Struct, frozen=True):
    """The files that there have to be, and whose they are: what `ledger.json` says."""

    first: int = 1
    last: int = 0
    ledger: str = ""
    cluster: str = ""


class Line(NamedTuple):
    file: Path
    number: int  # from 1
    offset: int  # bytes
    content: bytes  # without its line break
    ends: bool  # with a line break

    def __str__(self) -> str:
        return f"line {self.number} of {self.file}"


def file_name(number: int) -> str:
    return f"ledger-{number:06}.jsonl"


def files(directory: Path) -> dict[int, Path]:
    """The files by their numbers, in order. Raises LedgerError."""
    try:
        found = {int(name[1]): each for each in directory.iterdir() if (name := _NAME.fullmatch(each.name))}
    except OSError as error:
        raise LedgerError(
            f"can't read the ledger in {directory}: {error.strerror}. Create it, or name the ledger's directory"
        ) from error
    return dict(sorted(found.items()))


def extent(directory: Path) -> Extent:
    """Raises LedgerError where it can't be read."""
    path = directory / "ledger.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Extent)
    except FileNotFoundError:
        return Extent()
    except OSError as error:
        raise LedgerError(f"can't read {path}: {error.strerror}. Grant read permission") from error
    except (msgspec.MsgspecError, ValueError) as error:
        raise LedgerError(f"{path} is not what the ledger wrote ({error}); {REMEDY}") from error


def missing(there: dict[int, Path], wanted: Extent, directory: Path) -> list[str]:
    """A sentence for each file that has to be there and is not."""
    last = max((wanted.last, *there))
    return [
        f"{directory / file_name(each)} is missing; {REMEDY}"
        for each in range(wanted.first, last + 1)
        if each not in there
    ]


def lines(path: Path) -> Iterator[Line]:
    """Raises LedgerError."""
    offset = 0
    try:
        with path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                yield Line(path, number, offset, raw.removesuffix(b"\n"), raw.endswith(b"\n"))
                offset += len(raw)
    except OSError as error:
        raise LedgerError(f"can't read {path}: {error.strerror}. Grant read permission") from error


class Chain:
    """What the next line has to follow: at first nothing is known, and any does."""

    def __init__(self) -> None:
        self.seq: int | None = None
        self.sum = ""

    def follow(self, line: Line) -> Entry:
        """The entry of the next line; the chain then goes on from it. Raises LedgerError, and is begun anew then."""
        seq, previous = self.seq, self.sum
        self.seq = None
        try:
            entry = opened(line.content)
        except ValueError as error:
            raise LedgerError(f"{line} can't be used: {error}; {REMEDY}") from error
        self.seq, self.sum = entry.seq, entry.sum
        if seq is not None and (entry.seq != seq + 1 or entry.previous != previous):
            raise LedgerError(
                f"{line} has entry {entry.seq}, which doesn't follow entry {seq}: "
                f"an entry between them was removed or inserted; {REMEDY}"
            )
        return entry


def read(directory: Path, first: int = 0) -> Iterator[Entry]:
    """All entries, oldest first, or those from the file of number `first` on; what is being written now is left out.

    Raises LedgerError at what is wrong.
    """
    chain, number = Chain(), max(first - 1, 0)
    while True:
        there, wanted = files(directory), extent(directory)
        if gone := missing({**dict.fromkeys(range(wanted.first), directory), **there}, wanted, directory):
            raise LedgerError(gone[0])
        before, number = number, next((each for each in there if each > number), 0)
        if not number:
            return
        if number != before + 1:
            chain = Chain()  # those between were removed meanwhile, as they may
        try:
            yield from _followed(there[number], chain, newest=number == max(there))
        except LedgerError:
            if number >= extent(directory).first:
                raise


def newest_first(directory: Path) -> Iterator[Iterator[Entry]]:
    """The entries of one file after another, the newest file first; those of each are in the order of writing.

    Raises LedgerError at what is wrong, also while the entries of a file are iterated.
    """
    there, wanted = files(directory), extent(directory)
    if gone := missing({**dict.fromkeys(range(wanted.first), directory), **there}, wanted, directory):
        raise LedgerError(gone[0])
    for number in reversed(there):
        yield _unless_removed(directory, number, there[number], newest=number == max(there))


def _unless_removed(directory: Path, number: int, path: Path, *, newest: bool) -> Iterator[Entry]:
    try:
        yield from _followed(path, Chain(), newest=newest)
    except LedgerError:
        if number >= extent(directory).first:
            raise


def _followed(path: Path, chain: Chain, *, newest: bool) -> Iterator[Entry]:
    for line in lines(path):
        if not line.ends and newest:
            return  # being written
        yield chain.follow(line)
