"""The files of a dump, one by one: from a directory, an archive, one file, or standard input.

The first bytes decide: a tar or zip archive, compressed by gzip or xz, or text. In directories and archives only files
named .yaml, .yml or .json (optionally with .gz or .xz) are read. Nothing is written to disk.

A file that can't be read is reported with the reason, and the others are still read; what follows damage in an archive
is lost. What a file and the whole dump may unpack to is limited.

Not read: archives in archives or directories, and targets of symlinks outside the directory.
"""

from __future__ import annotations

import gzip
import io
import os
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from lzma import LZMAError
from pathlib import Path
from tarfile import ReadError
from typing import BinaryIO

import msgspec

from .archives import Member, packed, tar_members, unpacked, zip_members
from .limits import DumpLimits, Meter, SpentError, TooLargeError

_NAMES = tuple(f"{kind}{packed}" for kind in (".yaml", ".yml", ".json") for packed in ("", ".gz", ".xz"))


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


def files(path: str, limits: DumpLimits | None = None) -> Iterator[File | Unread]:
    """The files of the dump at a path; `-` is standard input. Raises DumpError if there is none."""
    meter = Meter(limits or DumpLimits())
    if path == "-":
        if sys.stdin is None:
            raise DumpError("standard input can't be read: it is closed")
        return _each("standard input", _whole(sys.stdin.buffer, "standard input", meter), meter)
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            return _presentable(path, _directory(Path(path), meter))
        stream: BinaryIO = open(path, "rb")  # noqa: SIM115 # closed by its reader
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else str(error)
        raise DumpError(
            f"{_utf8(path)} can't be read: {why}; name a directory, an archive or a file, or - for standard input"
        ) from None
    if not stat.S_ISREG(mode):  # a pipe can't seek
        with stream:
            stream = _whole(stream, path, meter)
    return _each(path, stream, meter)


def _whole(stream: BinaryIO, path: str, meter: Meter) -> BinaryIO:
    whole = Meter(meter.limits)
    whole.opened(meter.limits.total)
    try:
        return io.BytesIO(whole.read(stream))
    except (TooLargeError, SpentError, OSError, MemoryError) as error:
        raise DumpError(f"{_utf8(path)} can't be read: {_why(error)}") from error


def _each(name: str, stream: BinaryIO, meter: Meter) -> Iterator[File | Unread]:
    meter.opened(stream.seek(0, io.SEEK_END))
    stream.seek(0)
    return _presentable(name, _archive_or_text(name, stream, meter))


def _presentable(path: str, found: Iterator[File | Unread]) -> Iterator[File | Unread]:
    """With names that can be written, and an end where the dump is too large."""
    try:
        for each in found:
            yield msgspec.structs.replace(each, name=_utf8(each.name))
    except Exception as error:  # noqa: BLE001 # whatever a dump holds, the report says where it ended
        yield Unread(_utf8(path), _why(error))


def _utf8(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _directory(top: Path, meter: Meter) -> Iterator[File | Unread]:
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
                yield from _single(path, meter)
    for error in failed:
        yield Unread(str(error.filename), error.strerror or str(error))


def _within(path: str, root: str) -> bool:
    return os.path.realpath(path).startswith(os.path.join(root, ""))


def _wanted(name: str) -> bool:
    base = name.rpartition("/")[2]
    return base.lower().endswith(_NAMES) and not base.startswith("._")  # ._ files are metadata of macOS


def _single(path: str, meter: Meter) -> Iterator[File | Unread]:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return  # a pipe or device might never end
        with open(path, "rb") as stream:
            meter.opened(os.fstat(stream.fileno()).st_size)
            content = meter.read(unpacked(stream, meter.limits))
    except SpentError:
        raise
    except Exception as error:  # noqa: BLE001 # whatever a file holds, the others are read
        yield Unread(path, _why(error))
    else:
        yield File(path, content)


def _archive_or_text(name: str, stream: BinaryIO, meter: Meter) -> Iterator[File | Unread]:
    with stream:
        magic = stream.read(4)
        stream.seek(0)
        if magic in (b"PK\x03\x04", b"PK\x05\x06"):
            yield from _members(name, zip_members(stream, _wanted, meter), meter)
        elif (content := unpacked(stream, meter.limits)).is_tar():
            yield from _members(name, tar_members(content, _wanted, meter), meter)
        else:
            yield File(name, meter.read(content))


def _members(name: str, members: Iterable[Member], meter: Meter) -> Iterator[File | Unread]:
    for member, content in members:
        path = f"{name}:{member}"
        try:
            if isinstance(content, Exception):
                raise content
            if packed(content):
                content = meter.read(unpacked(io.BytesIO(content), meter.limits))
        except SpentError:
            raise
        except Exception as error:  # noqa: BLE001 # whatever a file holds, the others are read
            yield Unread(path, _why(error))
        else:
            yield File(path, content)


def _why(error: Exception) -> str:
    if isinstance(error, TooLargeError | SpentError | NotImplementedError):
        return str(error)
    if isinstance(error, PermissionError):
        return "no permission to read it"
    if isinstance(error, MemoryError):
        return "there is not enough memory for it"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    if isinstance(error, EOFError | ReadError):
        return f"truncated: {error}" if str(error) else "truncated"
    if isinstance(error, gzip.BadGzipFile | zlib.error | LZMAError | zipfile.BadZipFile):
        return f"corrupt: {error}"
    if isinstance(error, RuntimeError):  # zip: a password
        return str(error)
    return f"corrupt: {str(error) or type(error).__name__}"
