"""The files of a dump, one by one: from a directory, an archive, one file, or standard input.

The first bytes decide: a tar or zip archive, compressed by gzip or xz, or text. In directories and archives only files
named .yaml, .yml or .json (optionally with .gz or .xz) are read. Nothing is written to disk.

A file that can't be read is reported with the reason, and the others are still read; what follows damage in an archive
is lost. Limited: the size of a file, and its compression ratio.

Not read: archives in archives or directories, and targets of symlinks outside the directory.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path
from tarfile import EOFHeaderError, HeaderError, ReadError  # type: ignore[attr-defined] # typeshed lacks the first
from typing import BinaryIO, Self

import msgspec

from .unpacking import Limits, TooLargeError, Unpacked, unpacked

__all__ = ["DumpError", "File", "Unread", "files"]

_NAMES = tuple(f"{kind}{packed}" for kind in (".yaml", ".yml", ".json") for packed in ("", ".gz", ".xz"))
_BROKEN = (OSError, EOFError, zlib.error, LZMAError, tarfile.TarError, zipfile.BadZipFile, TooLargeError)
_UNSUPPORTED = (NotImplementedError, RuntimeError)  # zip: an unsupported method, a password


class DumpError(Exception):
    """There is no dump; the text is one sentence."""


class File(msgspec.Struct, frozen=True):
    name: str
    content: bytes

    @property
    def json(self) -> bool:
        """Whether it is JSON by its name."""
        return self.name.lower().endswith(tuple(name for name in _NAMES if name.startswith(".json")))


class Unread(msgspec.Struct, frozen=True):
    """A file that could not be read, and why; it may have contained anything."""

    name: str
    why: str


def files(path: str, limits: Limits | None = None) -> Iterator[File | Unread]:
    """The files of the dump at a path; `-` is standard input. Raises DumpError if there is none."""
    limits = limits or Limits()
    if path == "-":
        return _archive_or_text("standard input", io.BytesIO(_whole(sys.stdin.buffer, path, limits)), limits)
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            return _directory(Path(path), limits)
        stream: BinaryIO = open(path, "rb")  # noqa: SIM115 # closed by its reader
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise DumpError(
            f"{path} can't be read: {why}; name a directory, an archive or a file, or - for standard input"
        ) from None
    if not stat.S_ISREG(mode):  # a pipe can't seek
        with stream:
            stream = io.BytesIO(_whole(stream, path, limits))
    return _archive_or_text(path, stream, limits)


def _whole(stream: BinaryIO, path: str, limits: Limits) -> bytes:
    try:
        return limits.read(stream)
    except (TooLargeError, OSError) as error:
        raise DumpError(f"{path} can't be read: {error}") from error


def _directory(top: Path, limits: Limits) -> Iterator[File | Unread]:
    root = os.path.realpath(top)
    failed: list[OSError] = []
    for folder, folders, names in os.walk(top, onerror=failed.append):
        folders.sort()
        for error in failed:
            yield Unread(str(error.filename), error.strerror or str(error))
        failed.clear()
        for name in [*sorted(names), *folders]:
            path = os.path.join(folder, name)
            if os.path.islink(path) and (name in folders or _wanted(name)) and not _within(path, root):
                yield Unread(path, "a symlink out of the directory is not followed")
            elif name not in folders and _wanted(name):
                yield from _single(path, limits)
    for error in failed:
        yield Unread(str(error.filename), error.strerror or str(error))


def _within(path: str, root: str) -> bool:
    return os.path.realpath(path).startswith(os.path.join(root, ""))


def _wanted(name: str) -> bool:
    base = name.rpartition("/")[2]
    return base.lower().endswith(_NAMES) and not base.startswith("._")  # ._ files are metadata of macOS


def _single(path: str, limits: Limits) -> Iterator[File | Unread]:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return  # a pipe or device might never end
        with open(path, "rb") as stream:
            yield File(path, limits.read(unpacked(stream, limits)))
    except _BROKEN as error:
        yield Unread(path, _why(error))


def _archive_or_text(name: str, stream: BinaryIO, limits: Limits) -> Iterator[File | Unread]:
    with stream:
        try:
            magic = stream.read(4)
            stream.seek(0)
            if magic in (b"PK\x03\x04", b"PK\x05\x06"):
                yield from _zip(name, stream, limits)
            elif (content := unpacked(stream, limits)).is_tar():
                yield from _tar(name, content, limits)
            else:
                yield File(name, limits.read(content))
        except _BROKEN as error:
            yield Unread(name, _why(error))


class _Member(tarfile.TarInfo):
    """tarfile takes any header that it can't parse for the end of the archive; here only a block of zeros is."""

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tarfile)
        except EOFHeaderError:
            raise
        except HeaderError as error:
            raise ReadError(str(error)) from error


def _tar(name: str, content: Unpacked, limits: Limits) -> Iterator[File | Unread]:
    with tarfile.open(name, fileobj=content, mode="r|", tarinfo=_Member) as archive:  # type: ignore[call-overload] # reads
        for member in archive:
            if not member.isreg() or not _wanted(member.name):
                continue
            path = f"{name}:{member.name}"
            if member.size > limits.size:
                yield Unread(path, limits.too_large)
                continue
            stream = archive.extractfile(member)
            if stream is not None:
                yield _member(path, stream.read(), limits)


def _zip(name: str, stream: BinaryIO, limits: Limits) -> Iterator[File | Unread]:
    with zipfile.ZipFile(stream) as archive:
        for member in archive.infolist():
            if member.is_dir() or not _wanted(member.filename):
                continue
            path = f"{name}:{member.filename}"
            try:
                limits.check(member.file_size, member.compress_size)
                yield _member(path, archive.read(member), limits)
            except (*_BROKEN, *_UNSUPPORTED) as error:
                yield Unread(path, _why(error))


def _member(path: str, content: bytes, limits: Limits) -> File | Unread:
    """A file of an archive, which may itself be compressed."""
    try:
        return File(path, limits.read(unpacked(io.BytesIO(content), limits)))
    except _BROKEN as error:
        return Unread(path, _why(error))


def _why(error: BaseException) -> str:
    if isinstance(error, TooLargeError):
        return str(error)
    if isinstance(error, PermissionError):
        return "no permission to read it"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, EOFError | ReadError):
        return f"truncated: {error}" if str(error) else "truncated"
    if isinstance(error, gzip.BadGzipFile | zlib.error | LZMAError | zipfile.BadZipFile):
        return f"corrupt: {error}"
    return str(error) or type(error).__name__
