"""Asks the API server how it would answer an eviction, by a dry run: the only request here that is not a read.

It creates an Eviction with dryRun, which admission webhooks and PDBs answer as they would answer a real one. `dryRun`
is in the query and in the body: for a DELETE with a body the API server ignores the query, and the write is real. A
request without it in the body is never sent.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..model.record import Ref
from .body import beginning
from .errors import StatusError
from .transport import Transport

__all__ = ["NotDryError", "Probe"]

_READ_SECONDS = 30.0
_SECONDS_BETWEEN = 0.5
_ANSWER_BYTES = 65536
_DRY = ["All"]


class NotDryError(Exception):
    """A request would have evicted the pod, and was not sent."""


class Probe:
    def __init__(
        self,
        transport: Transport,
        *,
        seconds_between: float = _SECONDS_BETWEEN,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """One request at a time, and a pause of `seconds_between` after each."""
        self._transport, self._pause, self._sleep = transport, seconds_between, sleep
        self._one = asyncio.Lock()

    async def ask(self, pod: Ref) -> tuple[int, str]:
        """The status and message of the answer for the pod with this UID. Raises UnreachableError, ConfigError."""
        path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
        options = {"dryRun": _DRY, **({"preconditions": {"uid": pod.uid}} if pod.uid else {})}
        meta = {"namespace": pod.namespace, "name": pod.name}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": meta, "deleteOptions": options}
        async with self._one:
            answer = await self.send(path, body)
            await self._sleep(self._pause)
        return answer

    async def send(self, path: str, body: Mapping[str, Any]) -> tuple[int, str]:
        """Raises NotDryError for a body without dryRun."""
        if (body.get("deleteOptions") or {}).get("dryRun") != _DRY:
            raise NotDryError(f"POST {path} would not be a dry run and is not sent")
        try:
            async with self._transport.open(
                "POST", path, [("dryRun", "All")], read_seconds=_READ_SECONDS, body=body
            ) as response:
                await beginning(response, _ANSWER_BYTES)
                return response.status, ""
        except StatusError as error:
            return error.code, str(error).partition(" ")[2]
