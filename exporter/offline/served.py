"""A dump that is served: read once, before anybody is answered, and then nothing changes any more."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from ..engine.intake import Intake
from ..store.kind import Kind
from .files import files
from .source import OfflineSource, Progress, Tally


class DumpSource:
    """In place of a source that watches."""

    def __init__(self, path: str, kinds: Iterable[Kind[Any]], intake: Intake, *, complete: bool) -> None:
        self._path, self._source = path, OfflineSource(kinds, intake, complete=complete)
        self.reflectors: tuple[Any, ...] = ()
        self.requests: Counter[tuple[str, str, str]] = Counter()

    async def read(self, progress: Progress) -> Tally:
        """Raises DumpError."""
        await self._source.read(files(self._path), progress)
        return self._source.tally

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[None]:
        yield

    def skew(self) -> None:
        """No API server has another clock."""
