"""Appends lines to the files of a ledger: each is on disk before the next one, and a failure leaves no half line."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from hashlib import sha256
from pathlib import Path

import msgspec

from .disk import Disk
from .entry import LedgerError
from .files import Identity
from .reading import Extent, file_name, files

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
