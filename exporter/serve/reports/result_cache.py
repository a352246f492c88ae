"""What several requests ask for is made once, and one after the other, so that many requests cost no more than one.

What is kept of it is bounded, by number and by size: a client can ask for as many filters as it likes.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from msgspec import UnsetType

from ...engine.engine import Engine
from ...findings.finding import Finding
from ...sidecar import Repairs, ReportedRepair
from ...store.cluster import Change

_MOST = 16
MOST_SIZE = 32 << 20

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Versions:
    """What an answer is made of is the same as before if its version is."""

    def __init__(self, engine: Engine, repairs: Repairs) -> None:
        self._engine, self._published, self._changes = engine, 0, 0
        self.repairs = repairs
        engine.listen(self._publish)
        engine.observe(self._change)

    def _publish(self, *_: object) -> None:
        self._published += 1

    def _change(self, _: Change) -> None:
        self._changes += 1

    @property
    def findings(self) -> Hashable:
        """Of the findings and of where there is no answer: most changes in the cluster alter neither."""
        return self._published, self._engine.unknown_version

    @property
    def reports(self) -> Hashable:
        """Of the findings as they are reported, with what the sidecar says of them."""
        return self.findings, self.repairs.version

    @property
    def everything(self) -> Hashable:
        return self._changes, self._engine.generation, self.findings

    def report_of(self, finding: Finding) -> tuple[Finding, str, str, tuple[ReportedRepair, ...] | UnsetType]:
        """What it is reported with."""
        shown = self._engine.restraints.applied(finding)
        return shown, "", self.unknown_of(finding), self.repairs.of(finding.fingerprint)

    def unknown_of(self, finding: Finding) -> str:
        """Why it may be old; empty where it is not, or is closed by now."""
        try:
            return self._engine.unknown_of(finding)
        except KeyError:
            return ""


class Shared(Generic[Key, Value]):
    def __init__(
        self, version: Callable[[], Hashable], size: Callable[[Value], int] = lambda _: 0, most_size: int = MOST_SIZE
    ) -> None:
        """`size` is that of a value in bytes; `most_size` that of all that are kept."""
        self._version, self._size, self._most_size = version, size, most_size
        self._made: OrderedDict[Key, Value] = OrderedDict()
        self._made_of: Hashable = None
        self._turn = asyncio.Lock()

    async def get(self, key: Key, make: Callable[[], Awaitable[Value]]) -> Value:
        """What was made of the present version; else it is made, when everything asked for before is."""
        if key in self._made and self._version() == self._made_of:
            self._made.move_to_end(key)
            return self._made[key]
        async with self._turn:
            version = self._version()
            if version != self._made_of:
                self._made.clear()
                self._made_of = version
            elif key in self._made:
                return self._made[key]
            value = self._made[key] = await make()
            while len(self._made) > _MOST or sum(map(self._size, self._made.values())) > self._most_size:
                self._made.popitem(last=False)
            return value
