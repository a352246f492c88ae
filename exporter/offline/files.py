"""The files of a dump, one by one: from a directory, an archive, one file, or standard input.

The first bytes decide: a tar or zip archive, compressed by gzip or xz, or text. In directories and archives only files
named .yaml, .yml or .json (optionally with .gz or .xz) are read. Nothing is written to disk.

A file that can't be read is reported with the reason, and the others are still read; what follows damage in an archive
is lost. What a file and the whole dump may unpack to is limited.

Not read: archives in archives or directories, and targets of symlinks outside the directory.

Members of archives are read within limits, whatever their headers say: of a zip, those that are stored or deflated; of
a tar, those without holes.
"""

from __future__ import annotations

import gzip
import io
import lzma
import os
import stat
import sys
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from lzma import LZMAError
from pathlib import Path
from tarfile import EOFHeaderError, HeaderError, ReadError  # type: ignore[attr-defined] # typeshed lacks the first
from typing import BinaryIO, Protocol, Self

import msgspec

from .limits import DumpLimits, Meter, SpentError, TooLargeError

# Decompression of gzip and xz, within limits.

_TAR_BLOCK = 512
_GZIP, _XZ = b"\x1f\x8b", b"\xfd7zXZ\x00"


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class Unpacked:
    """A stream that can be read once, from the start."""

    def __init__(self, stream: _Readable, used: Callable[[], int] | None, limits: DumpLimits) -> None:
        """`used` gives how many compressed bytes were consumed; None for a stream that is not compressed."""
        self._stream, self._used, self._limits = stream, used, limits
        self._given = 0
        self._ahead = b""

    def read(self, size: int) -> bytes:
        """At most `size` bytes. Raises TooLargeError and errors of the decompression."""
        part = self._ahead[:size]
        self._ahead = self._ahead[size:]
        if len(part) < size:
            part += self._stream.read(size - len(part))
        self._given += len(part)
        if self._used:
            self._limits.check_ratio(self._given, self._used())
        return part

    def is_tar(self) -> bool:
        while len(self._ahead) < _TAR_BLOCK and (part := self._stream.read(_TAR_BLOCK - len(self._ahead))):
            self._ahead += part
        try:
            tarfile.TarInfo.frombuf(self._ahead[:_TAR_BLOCK], "utf-8", "surrogateescape")
        except tarfile.HeaderError:
            return False
        return True


def packed(content: bytes) -> bool:
    return content.startswith((_GZIP, _XZ))


def unpacked(stream: BinaryIO, limits: DumpLimits) -> Unpacked:
    """The decompressed content of a seekable stream at its start."""
    magic = stream.read(len(_XZ))
    stream.seek(0)
    if magic.startswith(_GZIP):
        return Unpacked(gzip.GzipFile(fileobj=stream), stream.tell, limits)
    if magic == _XZ:
        return Unpacked(lzma.LZMAFile(stream), stream.tell, limits)
    return Unpacked(stream, None, limits)


Member = tuple[str, bytes | Exception]  # its name, and its content or why it can't be read

_ZIPPED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the others unpack without a limit
_EXTENSIONS = (*tarfile.GNU_TYPES, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE)
_LONGEST_EXTENSION = 1 << 20


class _Info(tarfile.TarInfo):
    """tarfile takes any header that it can't parse for the end of the archive; here only a block of zeros is. And it
    takes sizes as they are written."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        found = super().frombuf(buf, encoding, errors)
        if found.type in _EXTENSIONS and found.type != tarfile.GNUTYPE_SPARSE and found.size > _LONGEST_EXTENSION:
            raise TooLargeError("a header in it is larger than 1 MiB")
        return found

    @classmethod
    def fromtarfile(cls, tarfile: tarfile.TarFile) -> Self:
        try:
            return super().fromtarfile(tarfile)
        except EOFHeaderError:
            raise
        except HeaderError as error:
            raise ReadError(str(error)) from error


def tar_members(content: Unpacked, wanted: Callable[[str], bool], meter: Meter) -> Iterator[Member]:
    limits = meter.limits
    with tarfile.open(fileobj=content, mode="r|", tarinfo=_Info) as archive:  # type: ignore[call-overload] # reads
        for member in archive:
            archive.members.clear()  # it would keep all of them
            if member.isreg() and wanted(member.name):
                yield member.name, _tar_content(archive, member, meter)
            if not 0 <= member.size <= limits.total:
                raise TooLargeError(f"a header in it says {member.size} bytes")


def _tar_content(archive: tarfile.TarFile, member: tarfile.TarInfo, meter: Meter) -> bytes | Exception:
    if member.size > meter.limits.size:
        return TooLargeError(meter.limits.too_large)
    if member.issparse():
        return TooLargeError("it has holes; sparse files are not read")
    stream = archive.extractfile(member)
    return meter.read(stream) if stream is not None else b""


def zip_members(stream: BinaryIO, wanted: Callable[[str], bool], meter: Meter) -> Iterator[Member]:
    with zipfile.ZipFile(stream) as archive:
        for member in archive.infolist():
            if not member.is_dir() and wanted(member.filename):
                yield member.filename, _zip_content(archive, member, meter)


def _zip_content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, meter: Meter) -> bytes | Exception:
    try:
        meter.limits.check(member.file_size, member.compress_size)
        if member.compress_type not in _ZIPPED:
            return NotImplementedError("its compression is not supported. Use an ordinary zip")
        with archive.open(member) as opened:
            return meter.read(opened)
    except SpentError:
        raise
    except Exception as error:  # noqa: BLE001 # zipfile raises many, and the other members may be fine
        return error


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
