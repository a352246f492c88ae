"""How the sidecar writes to the cluster in memory: when a request is taken, what it met, and what is answered.

The requests are the product's (`reconcile.plan.requests`), and so is what an answer means (`carry_out.execute`). A
request that was sent may be under way for up to a minute, the API server's own limit (`--request-timeout`): its sender
has given up by then, has written other things, or was killed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from demo.apiserver.errors import ApiError
from exporter.kube.errors import StatusError
from exporter.store.kind import ApiKind
from reconcile.carry_out.execute import ServerAnswer, WriteOutcome, _outcome
from reconcile.plan.plan import Create, Patch, Plan, Step, Test
from reconcile.plan.requests import Request, request

from .access import Faults, Turn, Weakened
from .world import Key, Obj, World

__all__ = ["ModelWriter", "Write"]

_WAITS = 3.0  # seconds in which others act, while an answer is awaited


@dataclass(frozen=True)
class Write:
    """A write that the API server takes: what it was meant for, and what it meets."""

    by: str
    key: Key
    confirmed: Mapping[str, Any]  # as it was read
    before: Obj | None
    after: Obj | None
    plan: Plan | None
    attempt: str = ""
    undoes: str = ""  # the attempt that it takes back
    planned: str = ""  # the hash of the plan that was permitted
    began: float = 0.0  # when the sidecar began to read for the last time
    sent: float = 0.0
    skewed: bool = False  # whether its clock and the world's differ, by less than what is noticed


@dataclass(frozen=True)
class Intended:
    """What the ledger says last of what is about to be sent."""

    plan: Plan | None = None
    attempt: str = ""
    undoes: str = ""
    planned: str = ""
    began: float = 0.0


@dataclass
class _Sent:
    """A request with what it was made of; it is taken once, whoever waits for the answer."""

    step: Step
    wanted: Request
    key: Key
    whole: Mapping[str, Any]
    intended: Intended
    at: float
    answer: ServerAnswer | None = None


@dataclass
class ModelWriter:
    """`sends` is called with each write that the API server would take right now, when it is sent; `wrote` with each
    that it takes, right after it.
    """

    world: World
    by: str
    faults: Faults
    weakened: Weakened
    wrote: Callable[[Write], None]
    sends: Callable[[Write], None] = lambda _: None
    skewed: Callable[[], bool] = lambda: False
    timer: Callable[[], float] = lambda: 0.0
    seconds: float = 10.0
    intended: Intended = Intended()

    async def dry_run(self, step: Step, kind: ApiKind[Any], version: str, whole: Mapping[str, Any]) -> ServerAnswer:
        await Turn("dry run", slow=True)
        sent = self._sent(step, kind, version, whole, dry=True)
        try:
            self._taken(sent, dry=True)
        except ApiError as error:
            return _refused(error, sent.wanted)
        return ServerAnswer(outcome=WriteOutcome.ACCEPTED, request=sent.wanted, code=200)

    async def write(
        self, step: Step, kind: ApiKind[Any], version: str, whole: Mapping[str, Any], *, by: float | None = None
    ) -> ServerAnswer:
        sent, late = self._sent(step, kind, version, whole, dry=False), self.faults.late()
        try:
            await Turn("write")
        except GeneratorExit:  # its process is killed: what is in the kernel's buffers goes out nevertheless
            if self.faults.outlived():
                self._leaves(sent)
                self.world.later(late, lambda: self._arrives(sent))
            raise
        if by is not None and self.timer() > by:
            return ServerAnswer(outcome=WriteOutcome.UNSENT, request=sent.wanted, why="it could not be sent in time")
        lost = self.faults.answer_lost()
        unclear = ServerAnswer(outcome=WriteOutcome.UNCLEAR, request=sent.wanted, why="no answer")
        if lost == "before":
            return unclear
        self._leaves(sent)
        if not late:
            answer = self._arrives(sent)
            return unclear if lost else answer
        self.world.later(late, lambda: self._arrives(sent))
        waited = late if self.faults.stopped() else min(late, self.seconds)
        while waited > 0 and sent.answer is None:
            await Turn("answer", more=min(waited, _WAITS))
            waited -= _WAITS
        return unclear if lost or sent.answer is None else sent.answer

    async def record(self, namespace: str, manifest: Mapping[str, Any]) -> str:
        await Turn("event")
        return ""

    def _sent(self, step: Step, kind: ApiKind[Any], version: str, whole: Mapping[str, Any], *, dry: bool) -> _Sent:
        wanted = self._request(step, kind, version, whole, dry=dry)
        key = (kind.name, step.target.namespace, step.target.name)
        return _Sent(step, wanted, key, whole, self.intended, self.world.now)

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

    def _leaves(self, sent: _Sent) -> None:
        """What it would do right now; that is all that its sender can know."""
        sent.at = self.world.now
        before = self.world.get(sent.key[0], sent.key[2], sent.key[1])
        try:
            after = self._taken(sent, dry=True)
        except ApiError:
            return
        if after != before:
            self.sends(self._write(sent, before, after))

    def _arrives(self, sent: _Sent) -> ServerAnswer:
        if sent.answer is not None:
            return sent.answer
        before, at = self.world.get(sent.key[0], sent.key[2], sent.key[1]), self.world.version
        try:
            self._taken(sent, dry=False)
        except ApiError as error:
            sent.answer = _refused(error, sent.wanted)
            return sent.answer
        sent.answer = ServerAnswer(outcome=WriteOutcome.ACCEPTED, request=sent.wanted, code=200)
        if self.world.version != at:
            self.wrote(self._write(sent, before, self.world.get(sent.key[0], sent.key[2], sent.key[1])))
        return sent.answer

    def _write(self, sent: _Sent, before: Obj | None, after: Obj | None) -> Write:
        of = sent.intended
        return Write(
            self.by,
            sent.key,
            sent.whole,
            before,
            after,
            of.plan,
            attempt=of.attempt,
            undoes=of.undoes,
            planned=of.planned,
            began=of.began,
            sent=sent.at,
            skewed=self.skewed(),
        )

    def _taken(self, sent: _Sent, *, dry: bool) -> Obj | None:
        """What there is of the object then. Raises ApiError."""
        wanted, key = sent.wanted, sent.key
        if wanted.method == "PATCH":
            return self.world.patch(key, wanted.body, self.by, dry=dry)
        if wanted.method == "DELETE":
            kept = wanted.body["preconditions"]
            uid, version = kept.get("uid", ""), kept.get("resourceVersion", "")
            return self.world.delete(key, self.by, uid=uid, version=version, dry=dry)
        if isinstance(sent.step, Create):
            return self.world.create(dict(sent.step.manifest), self.by, dry=dry)
        raise ApiError(400, "BadRequest", f"no {wanted.method} in this cluster")


def _refused(error: ApiError, wanted: Request) -> ServerAnswer:
    refused = StatusError(error.code, error.message, reason=error.reason, causes=bool(error.details))
    return ServerAnswer(outcome=_outcome(refused, wanted), request=wanted, code=error.code, why=str(refused))
