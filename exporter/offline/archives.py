"""The members of tar and zip archives, within limits, whatever their headers say.

Of a zip, those that are stored or deflated; of a tar, those without holes.
"""

from __future__ import annotations

import gzip
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from tarfile import EOFHeaderError, HeaderError, ReadError  # type: ignore[attr-defined] # typeshed lacks the first
from typing import BinaryIO, Protocol, Self

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
