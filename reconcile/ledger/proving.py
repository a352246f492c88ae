"""Proves of a ledger what can be proven from its files alone: that each entry follows the one before it, unaltered."""

from __future__ import annotations

from pathlib import Path

import msgspec

from .entry import Entry, Head, LedgerError
from .files import Identity, altered, firsts, identity, sums
from .reading import Chain, extent, files, lines, missing


class Proof(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong, one sentence each, and what was read: `count` entries, from `first` to `last` where there are any.
    `cut` is a sentence where the last line has no end.

    That none is missing after the last one can't be seen here: the Lease has how far the ledger goes.
    """

    wrong: tuple[str, ...]
    whose: Identity = Identity()
    count: int = 0
    first: int = 0
    last: int = 0
    sum: str = ""  # of the last one
    cut: str = ""

    @property
    def head(self) -> Head:
        return Head(self.whose.ledger, self.last, self.sum)


def verify(directory: Path) -> list[str]:
    """What is wrong with a ledger, one sentence each; empty where all is as it was written."""
    return list(prove(directory).wrong)


def prove(directory: Path) -> Proof:
    """Reads all of it, also while another process writes."""
    try:
        there, wanted = files(directory), extent(directory)
    except LedgerError as error:
        return Proof(wrong=(str(error),))
    walk = _Walk(there)
    wrong = [*missing(there, wanted, directory), *walk.wrong()]
    whose = Identity(wanted.ledger, wanted.cluster)
    if not wrong:
        try:
            found = dict(firsts(there))
            whose, _ = identity(found, wanted, directory)
            wrong = list(altered(there, sums(found)))
        except LedgerError as error:
            wrong = [str(error)]
    return Proof(
        wrong=tuple(wrong), whose=whose, count=walk.count, first=walk.first, last=walk.last, sum=walk.sum, cut=walk.cut
    )


class _Walk:
    """All lines of all files in their order."""

    def __init__(self, there: dict[int, Path]) -> None:
        self._there = there
        self.count = self.first = self.last = 0
        self.sum = self.cut = ""

    def wrong(self) -> list[str]:
        found: list[str] = []
        chain, before = Chain(), 0
        for number, path in self._there.items():
            if before and number != before + 1:
                chain = Chain()  # a missing file is one sentence, not two
            before = number
            try:
                found += self._of(path, chain, newest=number == max(self._there))
            except LedgerError as error:
                found.append(str(error))
                chain = Chain()
        return found

    def _of(self, path: Path, chain: Chain, *, newest: bool) -> list[str]:
        found: list[str] = []
        for line in lines(path):
            if not line.ends and newest:
                self.cut = (
                    f"The last line of {path.name} has no end and is not counted: an entry is being written, or a "
                    "write was interrupted."
                )
                break
            try:
                self._took(chain.follow(line))
            except LedgerError as error:
                found.append(str(error))
        return found

    def _took(self, entry: Entry) -> None:
        self.count += 1
        self.first = self.first or entry.seq
        self.last, self.sum = entry.seq, entry.sum
