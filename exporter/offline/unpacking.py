"""Decompression of gzip and xz, within limits."""

from __future__ import annotations

import gzip
import lzma
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, Protocol

__all__ = ["Limits", "TooLargeError", "Unpacked", "unpacked"]

_CHUNK = 1 << 20
_TAR_BLOCK = 512


class TooLargeError(Exception):
    """Its text is one sentence."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Limits:
    """Sizes in bytes. Content larger than `free` may be at most `ratio` times its compressed size."""

    size: int = 2 << 30
    ratio: int = 500
    free: int = 64 << 20

    @property
    def too_large(self) -> str:
        return f"it is larger than {self.size / 2**30:g} GiB"

    def check(self, size: int, packed: int) -> None:
        """Raises TooLargeError."""
        if size > self.size:
            raise TooLargeError(self.too_large)
        self.check_ratio(size, packed)

    def check_ratio(self, size: int, packed: int) -> None:
        """Raises TooLargeError."""
        if size > self.free and size > self.ratio * max(packed, 1):
            raise TooLargeError(f"it decompresses to more than {self.ratio} times its size")

    def read(self, stream: _Readable) -> bytes:
        """All of a stream. Raises TooLargeError."""
        parts, size = [], 0
        while part := stream.read(_CHUNK):
            size += len(part)
            if size > self.size:
                raise TooLargeError(self.too_large)
            parts.append(part)
        return b"".join(parts)


class Unpacked:
    """A stream that can be read once, from the start."""

    def __init__(self, stream: _Readable, packed: Callable[[], int] | None, limits: Limits) -> None:
        """`packed` gives how many compressed bytes were consumed; None for a stream that is not compressed."""
        self._stream, self._used, self._limits = stream, packed, limits
        self._given = 0
        self._ahead = b""

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, or all. Raises TooLargeError and errors of the decompression."""
        if size < 0:
            return self._limits.read(self)
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


def unpacked(stream: BinaryIO, limits: Limits) -> Unpacked:
    """The decompressed content of a seekable stream at its start."""
    magic = stream.read(6)
    stream.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return Unpacked(gzip.GzipFile(fileobj=stream), stream.tell, limits)
    if magic == b"\xfd7zXZ\x00":
        return Unpacked(lzma.LZMAFile(stream), stream.tell, limits)
    return Unpacked(stream, None, limits)
