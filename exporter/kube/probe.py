"""Asks the API server how it would answer an eviction or an edit, by a dry run: the only requests that are not reads.

Admission webhooks and PDBs answer a dry run as they would answer the real request. One that is no dry run is never
sent. For an Eviction `dryRun` is in the query and in the body: for a DELETE with a body the API server ignores the
query, and the write is real. For a PATCH only the query counts, and the patch is empty: it would change nothing anyway.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from ..facts.record import Ref
from ..store.kinds import virtual_machine
from .errors import StatusError
from .get_json import beginning
from .transport import Transport

_READ_SECONDS = 30.0
_SECONDS_BETWEEN = 0.5
_ANSWER_BYTES = 65536
_DRY = ["All"]
_DRY_QUERY = (("dryRun", "All"),)


class NotDryError(Exception):
    """A request would not have been a dry run, and was not sent."""


class _Paced:
    def __init__(
        self,
        transport: Transport,
        *,
        seconds_between: float = _SECONDS_BETWEEN,
        read_seconds: float = _READ_SECONDS,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """One request at a time, and a pause of `seconds_between` after each; none waits longer than `read_seconds`."""
        self._transport, self._pause, self._sleep = transport, seconds_between, sleep
        self._read_seconds = read_seconds
        self._one = asyncio.Lock()

    async def _in_turn(self, send: Callable[[], Awaitable[tuple[int, str]]]) -> tuple[int, str]:
        async with self._one:
            answer = await send()
            await self._sleep(self._pause)
        return answer

    async def _answer(
        self, method: str, path: str, query: Sequence[tuple[str, str]], headers: Mapping[str, str], body: dict[str, Any]
    ) -> tuple[int, str]:
        try:
            async with self._transport.open(
                method, path, query, headers, read_seconds=self._read_seconds, body=body
            ) as response:
                await beginning(response, _ANSWER_BYTES)
                return response.status, ""
        except StatusError as error:
            return error.code, str(error).partition(" ")[2]


class Probe(_Paced):
    """How an eviction of a pod would be answered."""

    async def ask(self, pod: Ref) -> tuple[int, str]:
        """The status and message of the answer for the pod with this UID. Raises UnreachableError, ConfigError."""
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
        options = {"dryRun": _DRY, **({"preconditions": {"uid": pod.uid}} if pod.uid else {})}
        meta = {"namespace": pod.namespace, "name": pod.name}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta, "deleteOptions": options}
        return await self._in_turn(lambda: self.send(path, body))

    async def send(self, path: str, body: dict[str, Any]) -> tuple[int, str]:
        """Raises NotDryError for a body without dryRun."""
        if (body.get("deleteOptions") or {}).get("dryRun") != _DRY:
            raise NotDryError(f"POST {path} would not be a dry run and is not sent")
        return await self._answer("POST", path, _DRY_QUERY, {}, body)


class EditProbe(_Paced):
    """How an edit of a VM would be answered, whatever it changes: KubeVirt's webhook looks at the whole VM."""

    async def ask(self, vm: Ref) -> tuple[int, str]:
        """The status and message of the answer. Raises UnreachableError, ConfigError."""
        kind = virtual_machine.KIND
        path = f"{kind.base(kind.versions[0])}/namespaces/{vm.namespace}/{kind.plural}/{vm.name}"
        return await self._in_turn(lambda: self.send(path, _DRY_QUERY, {}))

    async def send(self, path: str, query: Sequence[tuple[str, str]], patch: dict[str, Any]) -> tuple[int, str]:
        """Raises NotDryError for a request without dryRun, and for a patch that is not empty."""
        if tuple(query) != _DRY_QUERY or patch:
            raise NotDryError(f"PATCH {path} would not be a dry run of no change and is not sent")
        return await self._answer("PATCH", path, query, {"Content-Type": "application/merge-patch+json"}, patch)
