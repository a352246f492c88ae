"""The requests of a reflector: API discovery, one page of a list, a watch line by line."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

import aiohttp
import msgspec

from ..engine.turn import Slice
from ..store.kind import ApiKind
from .body import pieces, whole
from .errors import MALFORMED, AbsentError, MalformedError, StatusError
from .timeouts import Timeouts
from .transport import Transport

UNANSWERED = "error"  # in place of a status
_LINE_BYTES = 16 * 2**20  # more than the API server stores in one object
_PAGE_BYTES = 256 * 2**20  # of some hundred objects
_DISCOVERY_BYTES = 8 * 2**20


class _Resource(msgspec.Struct, frozen=True):
    name: str = ""


class _ResourceList(msgspec.Struct, frozen=True):
    resources: list[_Resource] | None = None


_RESOURCES = msgspec.json.Decoder(_ResourceList)


class Client:
    def __init__(self, transport: Transport, pace: Timeouts | None = None) -> None:
        self._transport, self._pace = transport, pace or Timeouts()
        # By verb, kind and status; one that is repeated with fresh credentials counts once.
        self.requests: Counter[tuple[str, str, str]] = Counter()

    async def served_version(self, kind: ApiKind[Any], *, absent: bool = False) -> str:
        """The first of the kind's versions that the API server serves. Raises AbsentError if it serves none, and
        StatusError while it is not ready to say so; `absent`: this was so before, and needs no confirmation.

        Discovery is per group and version, so that a group whose API server is down is an error and not absent.
        Without permission for discovery this is the preferred version; the list then fails or not.
        """
        version = await self._served_version(kind)
        if not version and not absent:
            await self._check_ready(kind)
            version = await self._served_version(kind)
        if not version:
            raise AbsentError(f"the cluster does not serve {kind.resource}")
        return version

    async def _served_version(self, kind: ApiKind[Any]) -> str:
        """Empty where discovery has none."""
        for version in kind.versions:
            try:
                body = await self._get("get", kind, kind.base(version), (), _DISCOVERY_BYTES)
            except StatusError as error:
                if error.code == 404:
                    continue
                if error.code == 403:
                    return kind.versions[0]
                raise
            try:
                resources = _RESOURCES.decode(body).resources or ()
            except MALFORMED as error:
                raise MalformedError(f"malformed discovery document of {kind.base(version)}: {error}") from error
            if any(resource.name == kind.plural for resource in resources):
                return version
        return ""

    async def _check_ready(self, kind: ApiKind[Any]) -> None:
        """Raises StatusError while the API server is not ready: one that starts answers 404 for the groups of all CRDs
        for a moment, after it has begun to answer (the discovery controller of k8s.io/apiextensions-apiserver runs
        later than its handler).
        """
        try:
            await self._get("get", kind, "/readyz", (), _DISCOVERY_BYTES)
        except StatusError as error:
            if error.code < 500 and error.code != 429:
                await asyncio.sleep(self._pace.first_wait)  # who may not ask gives it the moment
                return
            what = f"whether it serves {kind.resource} is not known: `kubectl get --raw /readyz?verbose` says more"
            raise StatusError(503, f"the API server is not ready, so {what}", error.retry_after) from error

    async def newest(self, kind: ApiKind[Any], version: str) -> bytes:
        """A page with the newest resourceVersion, and at most one object.

        Without the kind's selectors: with them the API server would read all objects to find one that matches.
        """
        return await self._get("list", kind, f"{kind.base(version)}/{kind.plural}", [("limit", "1")], _LINE_BYTES)

    async def page(self, kind: ApiKind[Any], version: str, rest: str, limit: int, namespace: str = "") -> bytes:
        """One page of at most `limit` objects of the list in one namespace, or in all; `rest` is the continue token."""
        query = [*kind.selectors, ("limit", str(limit)), *((("continue", rest),) if rest else ())]
        place = f"namespaces/{namespace}/{kind.plural}" if namespace else kind.plural
        return await self._get("list", kind, f"{kind.base(version)}/{place}", query, _PAGE_BYTES)

    @asynccontextmanager
    async def watch(
        self, kind: ApiKind[Any], version: str, since: str | None, seconds: int
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The lines of a watch from the resourceVersion `since`, or of a streaming list if that is None.

        The API server ends it after `seconds`. Entered once the API server has accepted the request.
        """
        query = [*kind.selectors, ("watch", "true"), ("allowWatchBookmarks", "true"), ("timeoutSeconds", str(seconds))]
        if since is None:
            query += [("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan")]
        else:
            query.append(("resourceVersion", since))
        path = f"{kind.base(version)}/{kind.plural}"
        async with (
            self._open("watch", kind, path, query, seconds + 30) as response,
            aclosing(_lines(response)) as lines,
        ):
            yield lines

    async def _get(
        self, verb: str, kind: ApiKind[Any], path: str, query: Sequence[tuple[str, str]], most: int
    ) -> bytes:
        async with (
            self._open(verb, kind, path, query, self._pace.silence) as response,
            asyncio.timeout(self._pace.longest_list),
        ):
            return await whole(response, most)

    @asynccontextmanager
    async def _open(
        self, verb: str, kind: ApiKind[Any], path: str, query: Sequence[tuple[str, str]], read_seconds: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response; what goes wrong with it afterwards changes nothing in how the request is counted."""
        async with AsyncExitStack() as stack:
            code = UNANSWERED
            try:
                opened = self._transport.open("GET", path, query, read_seconds=read_seconds)
                response = await stack.enter_async_context(opened)
                code = str(response.status)
            except StatusError as error:
                code = str(error.code)
                raise
            finally:
                self.requests[verb, kind.name, code] += 1
            yield response


async def _lines(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """Complete lines; a partial last line is dropped.

    aiohttp's own readline has a limit that large objects exceed.
    """
    begun = bytearray()  # of a line that has not ended
    slice_ = Slice(time.monotonic)
    async with aclosing(pieces(response)) as chunks:
        async for chunk in chunks:
            slice_.begin()
            first, *others = chunk.split(b"\n")
            begun += first
            if others:
                if begun:
                    yield bytes(begun)
                *lines, rest = others
                for line in lines:
                    if line:
                        yield line
                    if slice_.over:  # there may be hundreds, and as many of other kinds
                        await slice_.pause()
                begun = bytearray(rest)
            await asyncio.sleep(0)  # yield even while the buffer always has data
            if len(begun) > _LINE_BYTES:
                raise MalformedError(f"a watch event is larger than {_LINE_BYTES} bytes")
