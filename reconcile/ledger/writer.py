"""Appends lines to the files of a ledger: each is on disk before the next one, and a failure leaves no half line."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

import msgspec

from .disk import Disk
from .entry import LedgerError
from .reading import Extent, file_name, files

__all__ = ["Writer"]

_PROBE = bytes(256 * 1024)  # more than most entries take
_ADVICE = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "raise the quota or free some space",
    errno.EFBIG: "raise the limit on the size of files",
    errno.EROFS: "mount it for writing",
    errno.EACCES: "give this user the permission",
    errno.EPERM: "give this user the permission",
}


class Writer:
    """After a failed `fsync` nothing is appended any more: only who opens the ledger anew sees what is on disk."""

    def __init__(self, directory: Path, disk: Disk, wanted: Extent) -> None:
        self.directory, self._disk = directory, disk
        self._declared = wanted
        self._broken = ""
        self._file: int | None = None
        self.number = max(files(directory), default=0)
        if self.number:
            self._file = disk.open(self._path)
            self._size = self._path.stat().st_size
            disk.sync(self._file)  # what was read may only be in memory
        else:
            self._start_file()

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def append(self, line: bytes, max_bytes: int) -> None:
        """Raises LedgerError; the line is then not there, unless syncing failed."""
        try:
            file = self._checked()
            if self._size and self._size + len(line) > max_bytes:
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
            self._broken = f"fsync failed there ({error.strerror}), so what is on disk is not known"
            raise self._failure(error) from error
        self._size += len(line)

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
    def _path(self) -> Path:
        return self.directory / file_name(self.number)

    def _checked(self) -> int:
        """The file, if it still is the one that the last line went to."""
        if self._broken or self._file is None:
            raise LedgerError(
                f"cannot write to {self._path}: {self._broken or 'the ledger is closed'}; open the ledger anew"
            )
        ours, there = os.fstat(self._file), self._path.stat()
        if not os.path.samestat(ours, there) or there.st_size != self._size:
            raise LedgerError(
                f"cannot write to {self._path}: somebody else replaced or changed it; "
                "open the ledger anew to see what it has"
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
        self.close()
        self._file, self._size, self.number = file, 0, self.number + 1
        return file

    def _declare(self, first: int = 0) -> None:
        """Says on disk which files there have to be."""
        wanted = Extent(max(first, self._declared.first), self.number)
        if wanted != self._declared:
            self._disk.replace(self.directory / "ledger.json", msgspec.json.encode(wanted))
            self._declared = wanted

    def _take_back(self, file: int) -> None:
        """Half a line goes; where that fails too, it stays the last one, and is torn for who opens the ledger anew."""
        try:
            self._disk.truncate(file, self._size)
            self._disk.sync(file)
        except OSError as error:
            self._broken = f"half an entry can't be taken back ({error.strerror})"

    def _failure(self, error: OSError) -> LedgerError:
        what, do = error.strerror or str(error), _ADVICE.get(error.errno or 0, "look at the disk that it is on")
        return LedgerError(f"cannot write to {self._path}: {what}; {do}, no remediation is carried out before")
