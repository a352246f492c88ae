"""How much a dump may cost, whoever wrote it: bytes, nesting, aliases and seconds, of one file and of the whole dump.

A dump of a real cluster stays far below all of them. Beyond one, the file (for what counts in total: the rest of the
dump) is not read, and the report names it with the reason.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

DEEPEST_READ = 100  # levels in an object, below what is read of it
DEEPEST_SKIPPED = 10_000  # levels of YAML that nothing reads: each token costs time with the levels around it
DEEPEST_LISTS = 20  # lists of objects in lists of objects

_ALIASED = 16 << 20  # characters that the aliases of a dump may expand to, beside those in proportion to its size
_ALIASED_PER_BYTE = 16
_SECONDS = 5.0  # of CPU time to parse the YAML of a dump, beside those in proportion to its size
_SECONDS_PER_BYTE = 4e-6  # ten times what ordinary YAML takes

_CHUNK = 1 << 20


class TooLargeError(Exception):
    """A file is too large. Its text is one sentence."""


class SpentError(Exception):
    """The whole dump is too large. Its text is one sentence."""


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class DumpLimits:
    """Sizes in bytes, unpacked: of one file, and of all. More than `free` may be at most `ratio` times its packed
    size, which holds for each file and for the dump as a whole."""

    size: int = 2 << 30
    total: int = 16 << 30
    ratio: int = 200
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


class Meter:
    """Reads the files of one dump, and counts what all of them unpack to."""

    def __init__(self, limits: DumpLimits) -> None:
        self.limits = limits
        self._packed = self._given = 0

    def opened(self, size: int) -> None:
        """A file of the dump was opened: its size as it is stored."""
        self._packed += size

    def read(self, stream: _Readable) -> bytes:
        """All of a stream. Raises TooLargeError and SpentError."""
        parts, size = [], 0
        while part := stream.read(_CHUNK):
            size += len(part)
            if size > self.limits.size:
                raise TooLargeError(self.limits.too_large)
            self._count(len(part))
            parts.append(part)
        return b"".join(parts)

    def _count(self, size: int) -> None:
        limits = self.limits
        self._given += size
        if self._given > limits.total:
            raise SpentError(f"the dump has more than {limits.total / 2**30:g} GiB; from here on it is not read")
        if self._given > limits.free and self._given > limits.ratio * max(self._packed, 1):
            raise SpentError(
                f"the dump unpacks to more than {limits.ratio} times its size; from here on it is not read"
            )


class Effort:
    """What parsing the YAML of one dump may cost: in proportion to each file, and a reserve for the whole dump."""

    def __init__(self) -> None:
        self._aliased, self._seconds = float(_ALIASED), _SECONDS
        self._end = 0.0

    def begin(self, size: int) -> None:
        """A file of `size` bytes is parsed next."""
        if self._end:
            self._seconds = min(max(self._end - time.thread_time(), 0.0), _SECONDS)
        self._end = time.thread_time() + self._seconds + size * _SECONDS_PER_BYTE
        self._aliased = min(self._aliased, _ALIASED) + size * _ALIASED_PER_BYTE

    def expand(self, characters: int) -> bool:
        """Whether aliases may expand to this much more."""
        self._aliased = max(self._aliased - characters, 0)
        return self._aliased > 0

    @property
    def over(self) -> bool:
        """Whether the time for this file is over."""
        return time.thread_time() > self._end
