"""What the readers of a ledger know of it, carried from file to file: so a start need not read what is long over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from .entry import Entry, LedgerError
from .reading import read
from .shelf import First, Shelf, opening


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

    def recall(self, directory: Path, shelf: Shelf, readers: Mapping[str, SummaryReader]) -> None:
        """Gives the readers all that they need to know. Raises LedgerError."""
        self._readers = dict(readers)
        for entry in read(directory, self._begin(shelf)):
            for reader in self._readers.values():
                reader.add(entry)

    def _begin(self, shelf: Shelf) -> int:
        """The number of the file to read from."""
        oldest = min(shelf.firsts, default=0)
        for number, first in reversed(shelf.firsts.items()):
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
                    f"what line 1 of {first.path} carries of the entries before it can't be read: {error}; "
                    "use the release that wrote it"
                ) from error

    def carried(self, seq: int) -> dict[str, msgspec.Raw]:
        """What to carry after the entry of that number; of a reader that does not know all entries, nothing."""
        return {name: msgspec.Raw(each.carried()) for name, each in self._readers.items() if each.seq == seq}

    def newest(self, shelf: Shelf) -> int:
        """The number of the newest file that carries what all readers know: nothing before it is needed to start."""
        if not self._readers:
            return 0
        return next(self._carrying(shelf), 0)

    def _carrying(self, shelf: Shelf) -> Iterator[int]:
        return (number for number, first in reversed(shelf.firsts.items()) if first.readers >= set(self._readers))
