"""The one writer of a ledger: what may be appended, and what is kept."""

from __future__ import annotations

import contextlib
import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from .disk import Disk
from .entry import Entry, Event, LedgerError, LedgerLockedError, sealed
from .open_items import OpenItems
from .reading import Chain, extent, read, verify
from .recovery import recovered
from .writer import Writer

__all__ = ["Ledger"]

_MAX_BYTES = 10 * 2**20
_TEXTS = ("attempt", "mode", "by", "why", "undoes", "scope")


class Ledger:
    def __init__(self, directory: Path, lock: int, clock: Callable[[], float], disk: Disk) -> None:
        """For `open`, which see. Raises LedgerError and OSError."""
        self.directory, self._lock, self._clock = directory, lock, clock
        self.max_bytes = _MAX_BYTES
        self.keep: int | None = None
        self._appending = threading.Lock()
        self._items, self._chain = OpenItems(), Chain()
        wanted = extent(directory)
        for entry, number in recovered(directory, wanted, disk, self._chain):
            self._items.take(entry, number)
        self._writer = Writer(directory, disk, wanted)

    @classmethod
    def open(
        cls,
        directory: Path,
        *,
        clock: Callable[[], float],
        max_bytes: int = _MAX_BYTES,
        keep: int | None = None,
        disk: Disk | None = None,
    ) -> Ledger:
        """Opens it for writing, and creates it where there is none; all that is there is read and proven.

        `clock` gives seconds since 1970. A file takes `max_bytes`, or one entry that is larger. `keep` is how many
        files are kept beside the newest, all where it is None; one with an unfinished attempt or a pause in force is
        kept anyway, and so are those after it. A last line that a crash cut off is moved to a file `*.torn`.

        Raises LedgerError: another process writes it, it may not be written, or something is altered or missing.
        """
        lock, disk = None, disk or Disk()
        try:
            if not directory.exists():
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                disk.sync_directory(directory.parent)
            lock = os.open(directory / "ledger.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            _take(lock, directory)
            ledger = cls(directory, lock, clock, disk)
        except OSError as error:
            _release(lock)
            raise LedgerError(
                f"cannot open the ledger in {directory} for writing: {error.strerror or error}; "
                "it needs a directory of its own that this user may write to, and space on its disk"
            ) from error
        except BaseException:
            _release(lock)
            raise
        ledger.max_bytes, ledger.keep = max_bytes, keep
        return ledger

    @staticmethod
    def read(directory: Path) -> Iterator[Entry]:
        """All entries, oldest first, also while another process writes. Raises LedgerError."""
        return read(directory)

    def close(self) -> None:
        """Lets another process write it."""
        self._writer.close()
        _release(self._lock)
        self._lock = -1

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def entries(self) -> Iterator[Entry]:
        """All entries, oldest first. Raises LedgerError."""
        return read(self.directory)

    def unfinished(self) -> list[Entry]:
        """The intended entries of attempts that are neither done, failed nor resolved, oldest first."""
        return self._items.unfinished()

    def verify(self) -> list[str]:
        """What is altered or missing on disk, one sentence each."""
        return verify(self.directory)

    @property
    def writable(self) -> bool:
        return not self.probe()

    def probe(self) -> str:
        """Why nothing can be appended, one sentence; empty where it can. It writes to the disk and takes it back."""
        with self._appending:
            return self._writer.probe()

    def append(self, event: Event, *, attempt: str = "", **fields: Any) -> Entry:
        """Writes one entry; it is on disk when this returns. `fields` are those of Entry.

        The attempt of what is intended is made here. An object that can't be recorded is left out, unless it is that of
        what is intended. Raises LedgerError where it can't be written; it is then not in
        the ledger, or nobody knows, in which case nothing more can be appended. Raises ValueError for an event that
        makes no sense, such as the end of an attempt that is not under way.
        """
        with self._appending:
            seq = (self._chain.seq or 0) + 1
            if event is Event.INTENDED and fields.get("plan") is not None:
                attempt = f"{fields['plan'].hash}-{seq}"
            given = Entry(seq=seq, at=self._clock(), event=event, attempt=attempt, previous=self._chain.sum, **fields)
            self._items.allow(given)
            try:
                entry, line = _sealed(_encodable(given))
            except ValueError as error:
                raise LedgerError(
                    f"cannot record {event} {attempt} in {self.directory}: {error}; what can't be recorded is not done"
                ) from error
            self._writer.append(line, self.max_bytes)
            self._chain.seq, self._chain.sum = entry.seq, entry.sum
            self._items.take(entry, self._writer.number)
            self._prune()
            return entry

    def _prune(self) -> None:
        if self.keep is None:
            return
        oldest = self._writer.number - max(self.keep, 0)
        held = self._items.oldest_file
        with contextlib.suppress(OSError):  # the entry is written; the next one tries again
            self._writer.remove_before(oldest if held is None else min(oldest, held))


def _sealed(entry: Entry) -> tuple[Entry, bytes]:
    """What is intended is kept whole or not at all; what came of it is kept in any case. Raises ValueError."""
    try:
        return sealed(entry)
    except ValueError as error:
        if entry.event is Event.INTENDED or entry.whole is None:
            raise
        why = "; ".join(filter(None, (entry.why, f"the object can't be recorded: {error}")))
        return sealed(msgspec.structs.replace(entry, whole=None, why=why))


def _encodable(entry: Entry) -> Entry:
    """Texts may have come from file names or exceptions, with surrogates that UTF-8 lacks."""
    texts = {name: getattr(entry, name).encode("utf-8", "replace").decode() for name in _TEXTS}
    return msgspec.structs.replace(entry, **texts)


def _take(lock: int, directory: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
        raise LedgerLockedError(
            f"cannot open the ledger in {directory} for writing: process {holder or 'of unknown id'} writes it; "
            "end that one first, or give each its own directory"
        ) from error
    with contextlib.suppress(OSError):  # it only says who holds it
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def _release(lock: int | None) -> None:
    if lock is not None and lock >= 0:
        os.close(lock)
