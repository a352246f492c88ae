"""How the sidecar reads the cluster in memory: each read is one step of its own; and what goes wrong with calls."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from email.utils import formatdate
from typing import Any

import msgspec

from exporter.kube.errors import StatusError
from exporter.store.kind import ApiKind
from reconcile.carry_out.fresh_reads import USERS

from .world import Obj, World, meta_of

__all__ = ["COMPLETED", "PAGE", "Faults", "ModelReads", "Turn", "Weakened"]

PAGE = 3.0  # seconds
_DATED = 10  # of so many answers the date is looked at, which takes its time
COMPLETED = ("Succeeded", "Failed")


class Turn:
    """Awaited before each call: the scheduler decides when it is made. `slow` is one that waits for webhooks or people;
    what it takes `more` is in seconds.
    """

    def __init__(self, what: str, *, slow: bool = False, more: float = 0.0) -> None:
        self.what, self.slow, self.more = what, slow, more

    def __await__(self) -> Generator[Turn, None, None]:
        yield self


@dataclass(frozen=True)
class Weakened:
    """What a mutant takes away: see `mutants`."""

    blind: str = ""  # the kind of which nothing is seen
    stale: str = ""  # the kind of which is seen what was there when the attempt began
    untested: frozenset[str] = frozenset()  # uid, version, content
    made_once: bool = False
    ungated: str = ""  # the gate that is not asked
    old: bool = False  # what was read may be of any age
    loud: bool = False  # mode `shadow` writes as auto does


@dataclass
class Faults:
    """What goes wrong with calls: asked once for each. Lists of the whole cluster
    that grow with the fleet may have more pages, each slow.
    """

    pages: Callable[[], int] = lambda: 0
    paused: Callable[[], float] = lambda: 0.0  # the seconds for which the process stands still then
    read_fails: Callable[[], bool] = lambda: False
    answer_lost: Callable[[], str] = lambda: ""  # "before" it was written, or "after"
    late: Callable[[], float] = lambda: 0.0  # the seconds for which a write that was sent is under way
    stopped: Callable[[], bool] = lambda: False  # whether its sender stands still until it has arrived
    outlived: Callable[[], bool] = lambda: False  # whether a write goes out although its process is killed before


class ModelReads:
    def __init__(
        self, world: World, faults: Faults, weakened: Weakened, dated: Callable[[float, float, str], None]
    ) -> None:
        """`dated` gets when a request was sent, when it was answered, and the date of the answer."""
        self._world, self._faults, self._weakened, self._dated = world, faults, weakened, dated
        self._before: list[Obj] = []
        self._asked = 0

    def begin(self) -> None:
        """An attempt: what is stale is so from now on."""
        self._asked = 0
        self._before = self._world.all(self._weakened.stale) if self._weakened.stale else []

    async def served(self, kind: ApiKind[Any]) -> str:
        return kind.versions[0]

    async def get(self, kind: ApiKind[Any], version: str, namespace: str, name: str) -> bytes | None:
        await self._called(f"get {kind.name}")
        found = [each for each in self._of(kind) if _place(each) == (namespace, name)]
        return self._world.encoded(found[0]) if found else None

    async def listed(self, kind: ApiKind[Any], version: str, namespace: str | None) -> list[msgspec.Raw]:
        await self._called(f"list {kind.name}")
        found = [
            msgspec.Raw(self._world.encoded(each))
            for each in self._of(kind)
            if namespace in (None, _place(each)[0]) and not (kind.selectors and each["status"]["phase"] in COMPLETED)
        ]
        for _ in range(
            self._faults.pages() if namespace is None and kind.name in USERS else 0
        ):  # all of one moment, which is a while ago
            await Turn(f"page of {kind.name}", more=PAGE)
        return found

    def _of(self, kind: ApiKind[Any]) -> list[Obj]:
        if kind.name == self._weakened.blind:
            return []
        return self._before if kind.name == self._weakened.stale else self._world.all(kind.name)

    async def _called(self, what: str) -> None:
        sent, self._asked = self._world.now, self._asked + 1
        await Turn(what)
        if self._asked % _DATED == 1:
            self._dated(sent, self._world.now, formatdate(self._world.now, usegmt=True))
        if self._faults.read_fails():
            raise StatusError(500, "as the interleaving wants it")


def _place(thing: Obj) -> tuple[str, str]:
    meta = meta_of(thing)
    return meta.get("namespace", ""), meta["name"]
