"""What people ask for by the page, written with the token of who asks: annotations that approve or pause, and texts of
ConfigMaps.

The API server decides by that token who it is and what they may do, and its audit log has their name. Nothing here is
written with the permissions of the sidecar.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from exporter.facts.record import Ref
from exporter.kube.errors import KubeError
from exporter.kube.reviews import own_name
from exporter.kube.transport import Transport
from exporter.store.kind import ApiKind

from ..plan.requests import metadata
from .execute import PlanWriter, ServerAnswer, WriteOutcome, event_on
from .fresh_reads import ApiReads, object_path

log = logging.getLogger(__name__)


class RefusedError(Exception):
    """Nothing was written, or nobody knows; the text is one sentence. `status` is what the caller is answered."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class OnBehalf:
    def __init__(self, transport: Transport, kinds: Mapping[str, ApiKind[Any]], clock: Callable[[], float]) -> None:
        """Of the transport only the server and how it is trusted are used, and never its credentials."""
        self._transport, self._kinds, self._clock = transport, kinds, clock

    async def annotate(
        self, token: str, target: Ref, reason: str, annotations: Callable[[str], Mapping[str, str | None]]
    ) -> str:
        """Sets annotations, which are made with the name of who asks, on an object; gives that name. An Event of this
        `reason` says so where they may create one. Raises RefusedError.
        """
        kind = self._kinds.get(target.kind)
        if kind is None:
            raise RefusedError(f"{target.kind} is no kind that is repaired", 400)
        async with self._as(token, f"{target} is not annotated") as (own, by):
            version = await ApiReads(own).served(kind)
            writer = PlanWriter(own)
            wanted = annotations(by)
            path = object_path(kind, version, target.namespace, target.name)
            _refuse(await writer.annotate(path, wanted, uid=target.uid), f"{target} is not annotated")
            api_version = f"{kind.group}/{version}" if kind.group else version
            said = "; ".join(f"{name}: {text}" for name, text in wanted.items() if text is not None)
            await self._tell(writer, target, api_version, reason, by, said)
            return by

    async def rewrite(
        self, token: str, target: Ref, key: str, reason: str, change: Callable[[str, Mapping[str, Any]], str], said: str
    ) -> tuple[str, Mapping[str, Any]]:
        """Puts under a key of a ConfigMap what `change` makes of it by the name of who asks; gives that name, and the
        ConfigMap as it was. An Event says `said` where they may create one. Raises RefusedError, also for the
        ValueError of `change`.
        """
        undone = f"{target} is as it was"
        async with self._as(token, undone) as (own, by):
            writer = PlanWriter(own)
            path = f"/api/v1/namespaces/{target.namespace}/configmaps/{target.name}"
            try:
                answer, before = await writer.rewrite(path, key, lambda whole: change(by, whole))
            except ValueError as error:
                raise RefusedError(f"{undone}: {error}", 409) from error
            _refuse(answer, undone)
            seen = Ref("ConfigMap", target.namespace, target.name, str(metadata(before)["uid"]))
            await self._tell(writer, seen, "v1", reason, by, said)
            return by, before

    @asynccontextmanager
    async def _as(self, token: str, undone: str) -> AsyncIterator[tuple[Transport, str]]:
        """With the permissions of a token, and the name that it has. Raises RefusedError."""
        own = self._transport.bearing(token)
        try:
            yield own, await own_name(own)
        except KubeError as error:
            code = getattr(error, "code", 0)
            raise RefusedError(f"{undone}: {error}", code if code in (401, 403, 404) else 502) from error
        except ValueError as error:
            raise RefusedError(str(error), 400) from error
        finally:
            await own.close()

    async def _tell(self, writer: PlanWriter, target: Ref, api_version: str, reason: str, by: str, said: str) -> None:
        log.info('event="asked for" what=%s by="%s" object="%s"', reason, by, target)
        text = f"{by} by the page: {said}"
        why = await writer.record(*event_on(target, api_version, secrets.token_hex(8), reason, text, self._clock()))
        if why:
            log.info('event="no Event" why="%s"', why)


def _refuse(answer: ServerAnswer, undone: str) -> None:
    """Raises RefusedError where it was not accepted."""
    if answer.outcome is not WriteOutcome.ACCEPTED:
        status = 403 if answer.code == 403 else 502 if answer.outcome is WriteOutcome.UNCLEAR else 409
        raise RefusedError(f"{undone}: {answer.why}", status)
