"""How the sidecar reaches the cluster in memory: each read and each write is one step of its own.

The requests are the product's (`reconcile.requests`), and so is what an answer means (`reconcile.execute`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from exporter.fakeapi.errors import ApiError
from exporter.kube.errors import StatusError
from exporter.model.kind import ApiKind
from reconcile.execute import Answer, Outcome, _outcome
from reconcile.ledger import Entry, Event
from reconcile.ledger.open_items import OpenItems
from reconcile.plan import Create, Patch, Plan, Step, Test
from reconcile.reading import USERS
from reconcile.requests import Request, request

from .world import Key, Obj, World, meta_of

__all__ = ["COMPLETED", "PAGE", "Faults", "MemoryLedger", "ModelReads", "ModelWriter", "Turn", "Weakened", "Write"]

PAGE = 3.0  # seconds
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


@dataclass
class Faults:
    """What goes wrong with calls: asked once for each. Lists of the whole cluster
    that grow with the fleet may have more pages, each slow.
    """

    pages: Callable[[], int] = lambda: 0
    paused: Callable[[], float] = lambda: 0.0  # the seconds for which the process stands still then
    read_fails: Callable[[], bool] = lambda: False
    answer_lost: Callable[[], str] = lambda: ""  # "before" it was written, or "after"


class ModelReads:
    def __init__(self, world: World, faults: Faults, weakened: Weakened) -> None:
        self._world, self._faults, self._weakened = world, faults, weakened
        self._before: list[Obj] = []

    def begin(self) -> None:
        """What is stale from now on."""
        self._before = self._world.all(self._weakened.stale) if self._weakened.stale else []

    async def served(self, kind: ApiKind[Any]) -> str:
        return kind.versions[0]

    async def get(self, kind: ApiKind[Any], version: str, namespace: str, name: str) -> bytes | None:
        await Turn(f"get {kind.name}")
        self._fail()
        found = [each for each in self._of(kind) if _place(each) == (namespace, name)]
        return self._world.encoded(found[0]) if found else None

    async def listed(self, kind: ApiKind[Any], version: str, namespace: str | None) -> list[msgspec.Raw]:
        await Turn(f"list {kind.name}")
        self._fail()
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

    def _fail(self) -> None:
        if self._faults.read_fails():
            raise StatusError(500, "as the interleaving wants it")


def _place(thing: Obj) -> tuple[str, str]:
    meta = meta_of(thing)
    return meta.get("namespace", ""), meta["name"]


@dataclass(frozen=True)
class Write:
    """A write that the API server took: what it was meant for, and what it met."""

    by: str
    key: Key
    confirmed: Mapping[str, Any]  # as it was read
    before: Obj | None
    after: Obj | None
    plan: Plan | None
    planned: str = ""  # the hash of the plan that was permitted
    began: float = 0.0  # when the sidecar began to read for the last time


@dataclass
class ModelWriter:
    """`wrote` is called with each write that the API server takes, right after it."""

    world: World
    by: str
    faults: Faults
    weakened: Weakened
    wrote: Callable[[Write], None]
    seconds: float = 10.0
    plan: Plan | None = None  # what the ledger intends
    planned: str = ""
    began: float = 0.0

    async def dry_run(self, step: Step, kind: ApiKind[Any], version: str, whole: Mapping[str, Any]) -> Answer:
        await Turn("dry run", slow=True)
        return self._sent(step, kind, version, whole, dry=True)

    async def write(
        self, step: Step, kind: ApiKind[Any], version: str, whole: Mapping[str, Any], *, by: float | None = None
    ) -> Answer:
        await Turn("write")
        lost = self.faults.answer_lost()
        wanted = self._request(step, kind, version, whole, dry=False)
        if lost == "before":
            return Answer(outcome=Outcome.UNCLEAR, request=wanted, why="no answer")
        answer = self._sent(step, kind, version, whole, dry=False)
        return Answer(outcome=Outcome.UNCLEAR, request=wanted, why="no answer") if lost else answer

    async def record(self, namespace: str, manifest: Mapping[str, Any]) -> str:
        await Turn("event")
        return ""

    def _request(self, step: Step, kind: ApiKind[Any], version: str, whole: Mapping[str, Any], *, dry: bool) -> Request:
        untested = self.weakened.untested
        if "content" in untested and isinstance(step, Patch):
            step = msgspec.structs.replace(step, ops=tuple(op for op in step.ops if not isinstance(op, Test)))
        wanted = request(step, kind, version, whole, dry=dry)
        fields = {"uid": "uid", "version": "resourceVersion"}
        gone = {fields[each] for each in untested if each in fields}
        if wanted.method == "PATCH":
            paths = {f"/metadata/{each}" for each in gone}
            body: Any = [op for op in wanted.body if not (op["op"] == "test" and op["path"] in paths)]
        elif wanted.method == "DELETE":
            kept = {name: value for name, value in wanted.body["preconditions"].items() if name not in gone}
            body = wanted.body | {"preconditions": kept}
        else:
            body = wanted.body
        return msgspec.structs.replace(wanted, body=body)

    def _sent(self, step: Step, kind: ApiKind[Any], version: str, whole: Mapping[str, Any], *, dry: bool) -> Answer:
        wanted = self._request(step, kind, version, whole, dry=dry)
        key = (kind.name, step.target.namespace, step.target.name)
        before = self.world.get(kind.name, key[2], key[1])
        at = self.world.version
        try:
            self._apply(step, wanted, key)
        except ApiError as error:
            refused = StatusError(error.code, error.message, reason=error.reason, causes=bool(error.details))
            return Answer(outcome=_outcome(refused, wanted), request=wanted, code=error.code, why=str(refused))
        if not dry and self.world.version != at:
            after = self.world.get(kind.name, key[2], key[1])
            self.wrote(Write(self.by, key, whole, before, after, self.plan, self.planned, self.began))
        return Answer(outcome=Outcome.ACCEPTED, request=wanted, code=200)

    def _apply(self, step: Step, wanted: Request, key: Key) -> None:
        dry = wanted.dry
        if wanted.method == "PATCH":
            self.world.patch(key, wanted.body, self.by, dry=dry)
        elif wanted.method == "DELETE":
            kept = wanted.body["preconditions"]
            uid, version = kept.get("uid", ""), kept.get("resourceVersion", "")
            self.world.delete(key, self.by, uid=uid, version=version, dry="dryRun" in wanted.body)
        elif isinstance(step, Create):
            if not dry:
                self.world.create(dict(step.manifest), self.by)
        else:
            raise ApiError(400, "BadRequest", f"no {wanted.method} in this cluster")


class MemoryLedger:
    """The ledger without a disk; `clock` gives seconds since 1970."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._items = clock, OpenItems()
        self.kept: list[Entry] = []

    def append(self, event: Event, *, attempt: str = "", **fields: Any) -> Entry:
        seq = len(self.kept) + 1
        if event is Event.INTENDED:
            attempt = f"{fields['plan'].hash}-{seq}"
        entry = Entry(seq=seq, at=self._clock(), event=event, attempt=attempt, **fields)
        self._items.allow(entry)
        self._items.take(entry)
        self.kept.append(entry)
        return entry

    def unfinished(self) -> list[Entry]:
        return self._items.unfinished()

    def entries(self) -> Iterable[Entry]:
        return iter(self.kept)
