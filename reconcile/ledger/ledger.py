"""The one writer of a ledger: what may be appended, and what is kept."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from .entry import Entry, Event, Head, LedgerError, Opening, recorded
from .files import Identity, Retention
from .proving import verify
from .reading import read
from .starting import Summaries, SummaryReader, start, under_lease
from .writer import Disk, LedgerWriter, release, take

log = logging.getLogger(__name__)
_MAX_BYTES = 10 * 2**20
_OF_BEFORE = "an earlier version wrote it without an identity: it is used for this cluster"


class Ledger:
    def __init__(self, directory: Path, lock: int, clock: Callable[[], float], disk: Disk) -> None:
        """For `open`, which see. Raises LedgerError and OSError."""
        self.directory, self._lock, self._clock = directory, lock, clock
        self.max_bytes = _MAX_BYTES
        self.retention = Retention()
        self.refused = ""
        self._appending = threading.Lock()
        known = start(directory, disk)
        self._items, self._chain, self._files = known.items, known.chain, known.own
        self._stated, self.led, self._summaries = known.stated, known.led, Summaries()
        self._writer = LedgerWriter(directory, disk, known.wanted, known.unproven)
        self._writer.whose = known.whose

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        clock: Callable[[], float],
        max_bytes: int = _MAX_BYTES,
        cluster: str = "",
        retention: Retention | None = None,
        disk: Disk | None = None,
    ) -> Ledger:
        """Opens it for writing, and creates it where there is none; all that is there is proven.

        `clock` gives seconds since 1970. A file takes `max_bytes`, or one entry that is larger. `cluster` is the UID of
        its namespace kube-system, as `belong` takes it. `retention` is what may be removed, nothing where it is None.
        A last line that a crash cut off is moved to a file `*.torn`.

        Raises LedgerError: another process writes it, it may not be written, it is of another cluster, or something is
        altered or missing.
        """
        lock, disk = None, disk or Disk()
        try:
            if not directory.exists():
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                disk.sync_directory(directory.parent)
            lock = os.open(directory / "ledger.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            take(lock, directory)
            ledger = cls(directory, lock, clock, disk)
        except OSError as error:
            release(lock)
            raise LedgerError(
                f"can't open the ledger in {directory} for writing: {error.strerror or error}. The ledger needs a "
                "directory of its own, write permission and disk space. Set --ledger, or ledger.directory in the "
                "configuration"
            ) from error
        except BaseException:
            release(lock)
            raise
        ledger.max_bytes, ledger.retention = max_bytes, retention or Retention()
        try:
            if cluster:
                ledger.belong(cluster)
        except BaseException:
            ledger.close()
            raise
        return ledger

    @staticmethod
    def read(directory: Path) -> Iterator[Entry]:
        """All entries, oldest first, also while another process writes. Raises LedgerError."""
        return read(directory)

    def close(self) -> None:
        """Lets another process write it."""
        self._writer.close()
        release(self._lock)
        self._lock = -1

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What it holds.

    def entries(self) -> Iterator[Entry]:
        """All entries, oldest first. Raises LedgerError."""
        return read(self.directory)

    def unfinished(self) -> list[Entry]:
        """The intended entries of attempts that are neither done, failed nor resolved, oldest first."""
        return self._items.unfinished()

    def intended(self, attempt: str) -> Entry | None:
        """What was intended by an attempt, or shadowed; None where it is not there any more. Raises LedgerError."""
        _, _, seq = attempt.rpartition("-")
        found = self._files.entry(int(seq)) if seq.isdecimal() else None
        return found if found is not None and found.attempt == attempt else None

    def recall(self, **readers: SummaryReader) -> None:
        """Gives readers all that they need to know of the entries until now.

        They get those that come from whoever appends them. What they know is carried from file to file under their
        names, and from then on old files are removed, as far as `retention` says. Raises LedgerError.
        """
        self._summaries.recall(self.directory, self._files, readers)
        self._prune()

    @property
    def head(self) -> Head:
        return Head(self.whose.ledger, self._chain.seq or 0, self._chain.sum)

    def sum_at(self, seq: int) -> str | None:
        """The sum of the entry of that number; None where it is not known. Raises LedgerError."""
        return self._chain.sum if seq == self._chain.seq else self._files.sum_at(seq)

    def verify(self) -> list[str]:
        """What is altered or missing on disk, one sentence each."""
        return verify(self.directory)

    # Whose it is.

    def belong(self, cluster: str) -> None:
        """Takes it as that of the cluster whose namespace kube-system has this UID.

        Raises LedgerError where it is of another one, or can't be written.
        """
        if self.whose.cluster and self.whose.cluster != cluster:
            raise LedgerError(
                f"the ledger in {self.directory} belongs to cluster {self.whose.cluster} (UID of namespace "
                f"kube-system), and this is cluster {cluster}. Set another directory for this cluster "
                "(ledger.directory, --ledger), or move that ledger aside to begin a new ledger"
            )
        if self.whose.cluster and (self._stated or not self._chain.seq):
            return
        self._writer.belong(Identity(self.whose.ledger, cluster))
        if self._chain.seq:
            self._append(Event.ACCEPTED, {"why": _OF_BEFORE}, anew=True)
            log.warning('event="ledger accepted" directory="%s" why="%s"', self.directory, _OF_BEFORE)

    @property
    def whose(self) -> Identity:
        return self._writer.whose

    # Writing.

    @property
    def writable(self) -> bool:
        return not self.probe()

    def probe(self) -> str:
        """Why nothing can be appended, one sentence; empty where it can. It writes to the disk and takes it back."""
        if self.refused:
            return self.refused
        with self._appending:
            return self._writer.probe()

    def append(self, event: Event, *, attempt: str = "", **fields: Any) -> Entry:
        """Writes one entry; it is on disk when this returns. `fields` are those of Entry.

        The attempt of what is intended, or shadowed, is made here. An object that can't be recorded is left out, unless
        it is that of what is intended. Raises LedgerError where it can't be written, or is `refused`; it is then not in
        the ledger, or nobody knows, in which case nothing more can be appended. Raises ValueError for an event that
        makes no sense, such as the end of an attempt that is not under way.
        """
        if self.refused:
            raise LedgerError(self.refused)
        return self._append(event, {"attempt": attempt, **fields})

    def accept(self, *, by: str, why: str) -> Entry:
        """Takes it as it is although it is refused: an entry says so. Raises LedgerError."""
        self.refused = ""
        return self._append(Event.ACCEPTED, {"by": by, "why": why})

    def _append(self, event: Event, fields: dict[str, Any], *, anew: bool = False) -> Entry:
        with self._appending:
            seq = (self._chain.seq or 0) + 1
            if event in (Event.INTENDED, Event.SHADOWED) and fields.get("plan") is not None:
                fields = {**fields, "attempt": f"{fields['plan'].hash}-{seq}"}
            given = Entry(seq=seq, at=self._clock(), event=event, previous=self._chain.sum, **fields)
            self._items.allow(given)
            entry = self._written(given, anew=anew)
            self._chain.seq, self._chain.sum = entry.seq, entry.sum
            self._items.take(entry)
            self.led = self.led or under_lease(entry)
            if entry.opens is not None:
                self._stated = True
                self._files.add(self._writer.number, entry, self._writer.path)
                self._prune()
            return entry

    def _written(self, given: Entry, *, anew: bool) -> Entry:
        """`anew` begins a new file. Raises LedgerError."""
        try:
            entry, line = recorded(given)
            short, anew = len(line), not self._writer.empty and (anew or self._writer.turns(len(line), self.max_bytes))
            if anew or self._writer.empty:
                entry, line = recorded(msgspec.structs.replace(given, opens=self._opening(anew=anew)))
        except ValueError as error:
            raise LedgerError(
                f"can't record {given.event} {given.attempt} in {self.directory}: {error}. "
                "Nothing is written without a record"
            ) from error
        self._writer.append(line, anew=anew, carried=len(line) - short)
        return entry

    def _opening(self, *, anew: bool) -> Opening:
        return Opening(
            ledger=self.whose.ledger,
            cluster=self.whose.cluster,
            led=self.led,
            files=self._writer.proofs(anew=anew),
            unfinished=tuple(msgspec.structs.replace(each, opens=None) for each in self._items.unfinished()),
            carried=self._summaries.carried(self._chain.seq or 0),
        )

    def _prune(self) -> None:
        oldest = self.retention.oldest(self._files, self._summaries.newest(self._files), self._clock())
        with contextlib.suppress(OSError):  # the entry is written; the next file tries again
            self._writer.remove_before(oldest)
            self._files.remove_before(oldest)
