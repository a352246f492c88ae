"""One process writes a ledger: the lock that it holds."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path

from .entry import LedgerLockedError


def take(lock: int, directory: Path) -> None:
    """`lock` is an open file. Raises LedgerLockedError where another process holds it, OSError."""
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


def release(lock: int | None) -> None:
    if lock is not None and lock >= 0:
        os.close(lock)
