"""Appends lines to the files of a ledger: each is on disk before the next one, and a failure leaves no half line.

`Disk` is what the ledger asks of the file system, in the order in which it survives a loss of power: a file's content
is on disk once the file was synced, its name once its directory was.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
from hashlib import sha256
from pathlib import Path

import msgspec

from .entry import LedgerError, LedgerLockedError
from .files import Identity
from .reading import Extent, file_name, files


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


_PROBE = bytes(256 * 1024)  # more than most entries take
_ADVICE = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "raise the quota or free some space",
    errno.EFBIG: "raise the limit on the size of files",
    errno.EROFS: "mount it for writing",
    errno.EACCES: "give this user the permission",
    errno.EPERM: "give this user the permission",
}


class LedgerWriter:
    """After a failed `fsync` nothing is appended any more: only who opens the ledger anew sees what is on disk."""

    def __init__(self, directory: Path, disk: Disk, wanted: Extent, unproven: dict[int, str]) -> None:
        """`unproven` are the SHA-256 of files that no later file has."""
        self.directory, self._disk = directory, disk
        self.whose = Identity(wanted.ledger, wanted.cluster)
        self._declared, self._unproven = wanted, dict(unproven)
        self._broken = ""
        self._file: int | None = None
        self._sum, self._carried = sha256(), 0
        self.number = max(files(directory), default=0)
        if self.number:
            self._file = disk.open(self.path)
            self._size = self.path.stat().st_size
            disk.sync(self._file)  # what was read may only be in memory
            with self.path.open("rb") as file:
                self._sum = hashlib.file_digest(file, "sha256")
        else:
            self._start_file()

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def belong(self, whose: Identity) -> None:
        """Says on disk whose the files are. Raises LedgerError."""
        self.whose = whose
        try:
            self._declare()
        except OSError as error:
            raise self._failure(error) from error

    def turns(self, length: int, max_bytes: int) -> bool:
        """Whether a line of so many bytes begins a new file. What a file carries of those before it does not count."""
        return bool(self._size) and self._size - self._carried + length > max_bytes

    @property
    def empty(self) -> bool:
        """Whether the file has no line yet."""
        return not self._size

    def proofs(self, *, anew: bool) -> dict[int, str]:
        """The SHA-256 of the files before the next line that no later file has; with `anew` the line begins a file."""
        return self._unproven | ({self.number: self._sum.hexdigest()} if anew else {})

    def append(self, line: bytes, *, anew: bool = False, carried: int = 0) -> None:
        """Raises LedgerError; the line is then not there, unless syncing failed.

        With `anew` it begins a new file; so many of its bytes, of the first line of one, are `carried`.
        """
        try:
            file = self._checked()
            if anew:
                file = self._start_file()
            self._declare()
        except OSError as error:
            raise self._failure(error) from error
        try:
            self._disk.write(file, line)
        except OSError as error:
            self._take_back(file)
            raise self._failure(error) from error
        try:
            self._disk.sync(file)
        except OSError as error:
            self._broken = f"fsync failed ({error.strerror}), so the content on disk is unknown"
            raise self._failure(error) from error
        if self.empty:
            self._carried, self._unproven = carried, {}
        self._size += len(line)
        self._sum.update(line)

    def remove_before(self, number: int) -> None:
        """Removes the files before this one, once it is on disk that they may be missing. Raises OSError."""
        there = [path for each, path in files(self.directory).items() if each < number]
        if not there:
            return
        self._declare(number)
        for path in there:
            self._disk.remove(path)
        self._disk.sync_directory(self.directory)

    def probe(self) -> str:
        """Why nothing can be appended, one sentence; empty where it can. It writes to the disk and takes it back."""
        path = self.directory / "ledger.probe"
        try:
            self._checked()
            path.unlink(missing_ok=True)
            try:
                self._disk.write_new(path, _PROBE)
            finally:
                path.unlink(missing_ok=True)
        except OSError as error:
            return str(self._failure(error))
        except LedgerError as error:
            return str(error)
        return ""

    @property
    def path(self) -> Path:
        return self.directory / file_name(self.number)

    def _checked(self) -> int:
        """The file, if it still is the one that the last line went to."""
        if self._broken or self._file is None:
            raise LedgerError(
                f"can't write to {self.path}: {self._broken or 'the ledger is closed'}. Reopen the ledger"
            )
        ours, there = os.fstat(self._file), self.path.stat()
        if not os.path.samestat(ours, there) or there.st_size != self._size:
            raise LedgerError(
                f"can't write to {self.path}: another process replaced or changed it. "
                "Reopen the ledger to read its present content"
            )
        return self._file

    def _start_file(self) -> int:
        path = self.directory / file_name(self.number + 1)
        with contextlib.suppress(FileNotFoundError):
            if not path.stat().st_size:
                self._disk.remove(path)  # made just before a failure
        file = self._disk.create(path)
        try:
            self._disk.sync(file)
            self._disk.sync_directory(self.directory)
        except OSError:
            os.close(file)
            raise
        self._unproven = self.proofs(anew=self.number > 0)
        self.close()
        self._file, self._size, self.number = file, 0, self.number + 1
        self._sum, self._carried = sha256(), 0
        return file

    def _declare(self, first: int = 0) -> None:
        """Says on disk which files there have to be, and whose they are."""
        wanted = Extent(max(first, self._declared.first), self.number, self.whose.ledger, self.whose.cluster)
        if wanted != self._declared:
            self._disk.replace(self.directory / "ledger.json", msgspec.json.encode(wanted))
            self._declared = wanted

    def _take_back(self, file: int) -> None:
        """Half a line goes; where that fails too, it stays the last one, and is torn for who opens the ledger anew."""
        try:
            self._disk.truncate(file, self._size)
            self._disk.sync(file)
        except OSError as error:
            self._broken = f"an incomplete entry can't be removed ({error.strerror})"

    def _failure(self, error: OSError) -> LedgerError:
        what, do = error.strerror or str(error), _ADVICE.get(error.errno or 0, "check its disk")
        return LedgerError(f"can't write to {self.path}: {what}; {do}. No repair is carried out before")
