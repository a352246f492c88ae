"""The only module that writes to a cluster: dry runs, writes, and Events."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import msgspec

from exporter.kube.errors import KubeError, MalformedError, StatusError
from exporter.kube.get_json import whole as body_of
from exporter.kube.sending import Sending
from exporter.kube.transport import Transport
from exporter.store.kind import ApiKind

from ..plan.annotations import APPROVED_PLAN
from ..plan.plan import Plan, Step, moment
from ..plan.requests import (
    MANAGER,
    NOT_APPROVED,
    NOT_PLANNED,
    PROBE,
    Request,
    annotating,
    event_request,
    probing,
    request,
)
from .fresh_reads import document

_SECONDS = 10.0
_OBJECT_BYTES = 16 * 2**20
_TRIES = 5  # of an annotation, while others write too: a Lease is renewed every few seconds
_FORBIDDEN, _CONFLICT, _INVALID, _NOT_FOUND = 403, 409, 422, 404


class WriteOutcome(StrEnum):
    ACCEPTED = "accepted"  # a read has to show that it happened
    CHANGED = "changed"  # the object, or its UID, is another one since it was read: nothing was written
    REFUSED = "refused"  # the API server or a webhook refused: nothing was written
    UNSENT = "unsent"  # nothing of it left: nothing was written, nor ever will be
    UNCLEAR = "unclear"  # no answer: it may have been written, and may still be


class ServerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the API server answered. `why` is its message where it was not accepted."""

    outcome: WriteOutcome
    request: Request
    code: int = 0
    why: str = ""


class PlanWriter:
    def __init__(self, transport: Transport, *, seconds: float = _SECONDS) -> None:
        self._transport, self._seconds = transport, seconds

    @property
    def seconds(self) -> float:
        """How long a write can be under way, from when it is sent."""
        return self._seconds

    async def dry_run(self, step: Step, kind: ApiKind[Any], version: str, whole: Mapping[str, Any]) -> ServerAnswer:
        """How the API server and its webhooks would answer the write."""
        return await self._sent(request(step, kind, version, whole, dry=True))

    async def write(
        self, step: Step, kind: ApiKind[Any], version: str, whole: Mapping[str, Any], *, by: float | None = None
    ) -> ServerAnswer:
        """`by` is until when it has to be sent, by `boottime`; later it is not sent at all."""
        sending = Sending(by) if by is not None else None
        return await self._sent(request(step, kind, version, whole, dry=False), sending)

    async def guarded(self, namespace: str) -> tuple[bool | None, str]:
        """Whether a policy refuses what no plan makes, asked by a dry run of a write in a namespace where RBAC allows
        it; None where that is not known: without an answer, and where something else refused it (RBAC, a webhook,
        another policy). Where it does not refuse, why that is not known or what was answered.
        """
        return await self._refused(probing(namespace), NOT_PLANNED)

    async def authorizing(self, namespace: str) -> tuple[bool | None, str]:
        """The same of the policy by which only who may approve does, under their own name."""
        return await self._refused(probing(namespace, {APPROVED_PLAN: f"{'0' * 16} by {PROBE}"}), NOT_APPROVED)

    async def _refused(self, wanted: Request, says: str) -> tuple[bool | None, str]:
        answer = await self._sent(wanted)
        if answer.outcome is WriteOutcome.ACCEPTED:
            return False, "the API server accepted a dry run that the policy has to reject"
        policy = answer.code == _FORBIDDEN and says in answer.why
        return (True, "") if policy else (None, answer.why)

    async def record(self, namespace: str, manifest: Mapping[str, Any]) -> str:
        """Creates an Event; empty, or why it could not be. One of that name is there already after a restart."""
        answer = await self._sent(event_request(namespace, manifest))
        if answer.outcome is WriteOutcome.ACCEPTED or answer.code == _CONFLICT:
            return ""
        return f"can't create an Event in namespace {namespace}: {answer.why}"

    async def annotate(self, path: str, annotations: Mapping[str, str | None]) -> ServerAnswer:
        """Sets our own annotations on an object by its URL path, and takes off those that are None.

        It is read right before, and again where somebody else wrote in between: who pauses something means whatever
        else is written to it. Raises KubeError where it can't be read.
        """
        for _ in range(_TRIES):
            async with self._transport.open("GET", path, read_seconds=self._seconds) as response:
                whole = document(await body_of(response, _OBJECT_BYTES))
            try:
                wanted = annotating(path, whole, annotations)
            except ValueError as error:
                raise MalformedError(f"GET {path} was answered with something else: {error}") from error
            answer = await self._sent(wanted)
            if answer.outcome is not WriteOutcome.CHANGED:
                break
        return answer

    async def _sent(self, wanted: Request, sending: Sending | None = None) -> ServerAnswer:
        try:
            async with (
                asyncio.timeout(self._seconds),
                self._transport.open(
                    wanted.method,
                    wanted.path,
                    wanted.query,
                    wanted.headers,
                    read_seconds=self._seconds,
                    body=wanted.body,
                    sending=sending,
                ) as response,
            ):
                code = response.status
                await body_of(response, _OBJECT_BYTES)
        except TimeoutError:
            why = f"no answer within {self._seconds:g} s"
            return ServerAnswer(outcome=_unanswered(sending), request=wanted, why=why)
        except StatusError as error:
            return ServerAnswer(outcome=_outcome(error, wanted), request=wanted, code=error.code, why=str(error))
        except KubeError as error:
            return ServerAnswer(outcome=_unanswered(sending), request=wanted, why=str(error))
        return ServerAnswer(outcome=WriteOutcome.ACCEPTED, request=wanted, code=code)


class IdleWriter(PlanWriter):
    """In place of a writer where no remediation may write: it sends nothing but reads."""

    async def _sent(self, wanted: Request, sending: Sending | None = None) -> ServerAnswer:  # noqa: ARG002
        return ServerAnswer(outcome=WriteOutcome.UNSENT, request=wanted, why="no remediation has permission to write")


def _unanswered(sending: Sending | None) -> WriteOutcome:
    return WriteOutcome.UNSENT if sending is not None and not sending.begun else WriteOutcome.UNCLEAR


def _outcome(error: StatusError, wanted: Request) -> WriteOutcome:
    if error.code >= 500:
        # KubeVirt's subresources answer 500 where they refuse, and so does a webhook; but a timeout is 500 as well.
        return WriteOutcome.REFUSED if wanted.dry else WriteOutcome.UNCLEAR
    if error.code in (_CONFLICT, _NOT_FOUND) or (error.code == _INVALID and not error.causes):
        return WriteOutcome.CHANGED
    return WriteOutcome.REFUSED


# The Event on an object that something was done to.

_LONGEST_NAME = 200  # of the object, in the Event's name; a name has 253 characters at most
_LONGEST_MESSAGE = 1024
_DONE, _UNDONE, _FAILED, _IN_USE = REASONS = ("Repaired", "RepairUndone", "RepairFailed", "ReleasedInUse")


def event(plan: Plan, attempt: str, outcome: str, at: float, api_version: str) -> tuple[str, Mapping[str, Any]]:
    """Its namespace, and the Event. Its name is that of the attempt: written twice, it is there once.

    `outcome` is done, failed, or in_use where something uses what was released.
    """
    # No names of others: whoever reads Events here need not know what finding and ledger say of other namespaces.
    said = f"{plan.remediation}: {_says(plan, attempt, outcome)} (attempt {attempt})"
    suffix = f"{attempt}{'.in-use' if outcome == 'in_use' else ''}"
    target = plan.bound_to
    namespace = target.namespace or "default"
    return namespace, {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"namespace": namespace, "name": f"{target.name[:_LONGEST_NAME].rstrip('.-')}.{suffix}"},
        "involvedObject": {
            "apiVersion": api_version,
            "kind": target.kind,
            "namespace": target.namespace,
            "name": target.name,
            "uid": target.uid,
        },
        "reason": _reason(plan, outcome),
        "message": said[:_LONGEST_MESSAGE],
        "type": "Normal" if outcome == "done" else "Warning",
        "firstTimestamp": moment(at),
        "lastTimestamp": moment(at),
        "count": 1,
        "source": {"component": MANAGER},
        "reportingComponent": MANAGER,
    }


def _reason(plan: Plan, outcome: str) -> str:
    if outcome == "done":
        return _UNDONE if plan.undoes or not plan.check else _DONE
    return _IN_USE if outcome == "in_use" else _FAILED


def _says(plan: Plan, attempt: str, outcome: str) -> str:
    if outcome == "in_use":
        who = f"To see the user: steward reconcile ledger {attempt}"
        return f"The released address is in use. Stop its user, and start it again to get another address. {who}"
    return f"{plan.effect} {_because(plan)}"


def _because(plan: Plan) -> str:
    if plan.undoes:
        return f"Because: attempt {plan.undoes} is undone"
    if not plan.check:  # no finding asks for it, but a person
        return f"Because: {plan.why.removesuffix('.')}"
    return f"Because: {plan.check} reports {plan.reason}"
