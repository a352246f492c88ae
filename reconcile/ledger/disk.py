"""What the ledger asks of the file system, in the order in which it survives a loss of power.

A file's content is on disk once the file was synced, its name once its directory was.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from .entry import LedgerLockedError


class Disk:
    """Each method raises OSError. Files are for their owner alone, as they hold objects whole."""

    def create(self, path: Path) -> int:
        """A new file, to append to. Raises FileExistsError."""
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def open(self, path: Path) -> int:
        """A file that is there, to append to."""
        return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)

    def write(self, file: int, content: bytes) -> None:
        view = memoryview(content)
        while view:
            view = view[os.write(file, view) :]

    def sync(self, file: int) -> None:
        os.fsync(file)

    def sync_directory(self, path: Path) -> None:
        file = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def truncate(self, file: int, size: int) -> None:
        os.ftruncate(file, size)

    def rename(self, source: Path, target: Path) -> None:
        source.rename(target)

    def remove(self, path: Path) -> None:
        path.unlink()

    def write_new(self, path: Path, content: bytes) -> None:
        """A file with this content, on disk when it returns, but for its name."""
        file = self.create(path)
        try:
            self.write(file, content)
            self.sync(file)
        finally:
            os.close(file)

    def replace(self, path: Path, content: bytes) -> None:
        """The file has the old content or the new one at any moment, and the new one when it returns."""
        fresh = path.with_name(f"{path.name}.new")
        fresh.unlink(missing_ok=True)
        self.write_new(fresh, content)
        self.rename(fresh, path)
        self.sync_directory(path.parent)


# One process writes a ledger: the lock that it holds.


def take(lock: int, directory: Path) -> None:
    """`lock` is an open file. Raises LedgerLockedError where another process holds it, OSError."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        holder = os.pread(lock, 32, 0).decode("ascii", "replace").strip()
        raise LedgerLockedError(
            f"can't open the ledger in {directory} for writing: process {holder or 'of unknown ID'} writes it. "
            "Stop that process first, or use separate directories"
        ) from error
    with contextlib.suppress(OSError):  # it only says who holds it
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)


def release(lock: int | None) -> None:
    if lock is not None and lock >= 0:
        os.close(lock)
