"""Decompression of gzip and xz, within limits."""

from __future__ import annotations

import gzip
import lzma
import tarfile
from collections.abc import Callable
from typing import BinaryIO, Protocol

from .limits import DumpLimits

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
