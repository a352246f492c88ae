"""The requests a reflector makes: which version is served, one page of a list, a watch line by line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from ..model.kind import ApiKind
from .errors import MALFORMED, AbsentError, GarbledError, StatusError
from .pace import Pace
from .transport import Transport

__all__ = ["Client"]

_LINE_BYTES = 16 * 2**20  # more than the API server stores in one object


class _Resource(msgspec.Struct, frozen=True):
    name: str = ""


class _ResourceList(msgspec.Struct, frozen=True):
    resources: list[_Resource] | None = None


_RESOURCES = msgspec.json.Decoder(_ResourceList)


class Client:
    def __init__(self, transport: Transport, pace: Pace | None = None) -> None:
        self._transport, self._pace = transport, pace or Pace()

    async def served_version(self, kind: ApiKind[Any]) -> str:
        """The first of the kind's versions that the API server serves. Raises AbsentError if it serves none.

        Asked per group and version: a group whose server is down answers with an error, and is not taken for absent.
        An account that may not ask gets the preferred version, and learns the rest from the list.
        """
        for version in kind.versions:
            try:
                body = await self._get(kind.base(version), ())
            except StatusError as error:
                if error.code == 404:
                    continue
                if error.code == 403:
                    return kind.versions[0]
                raise
            try:
                resources = _RESOURCES.decode(body).resources or ()
            except MALFORMED as error:
                raise GarbledError(f"the discovery of {kind.base(version)} can't be read: {error}") from error
            if any(resource.name == kind.plural for resource in resources):
                return version
        raise AbsentError(f"the cluster does not serve {kind.resource}")

    async def page(self, kind: ApiKind[Any], version: str, rest: str, limit: int | None = None) -> bytes:
        """One page of the list in all namespaces; `rest` is what the page before said, `limit` 0 for all at once."""
        limit = self._pace.page if limit is None else limit
        query = [
            *kind.selectors,
            *((("limit", str(limit)),) if limit else ()),
            *((("continue", rest),) if rest else ()),
        ]
        return await self._get(f"{kind.base(version)}/{kind.plural}", query)

    @asynccontextmanager
    async def watch(
        self, kind: ApiKind[Any], version: str, since: str | None, seconds: int
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of a watch from a resourceVersion on, or of a streaming list where that is None.

        The server ends it after `seconds`. Entered when the server has accepted it.
        """
        query = [*kind.selectors, ("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", str(seconds))]
        if since is None:
            query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
        else:
            query.append(("resourceVersion", since))
        path = f"{kind.base(version)}/{kind.plural}"
        async with (
            self._transport.open("GET", path, query, read_seconds=seconds + 30) as response,
            aclosing(_lines(response)) as lines,
        ):
            yield lines

    async def _get(self, path: str, query: list[tuple[str, str]] | tuple[()]) -> bytes:
        async with (
            self._transport.open("GET", path, query, read_seconds=self._pace.silence) as response,
            asyncio.timeout(self._pace.longest_list),
        ):
            return await response.read()


async def _lines(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """Whole lines; what comes after the last line break was cut off, and is dropped.

    aiohttp's own readline refuses lines above a limit that big objects reach.
    """
    rest = bytearray()
    async for chunk in response.content.iter_any():
        rest += chunk
        if b"\n" in chunk:
            *lines, rest = rest.split(b"\n")
            for line in lines:
                if line:
                    yield bytes(line)
        await asyncio.sleep(0)  # a buffer that never runs dry must not keep the loop to itself
        if len(rest) > _LINE_BYTES:
            raise GarbledError(f"a line of the watch is longer than {_LINE_BYTES} bytes")
