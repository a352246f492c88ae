"""The requests of a reflector: API discovery, one page of a list, a watch line by line."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec

from ..engine.turn import Slice
from ..store.kind import ApiKind
from .errors import MALFORMED, AbsentError, KubeError, MalformedError, StatusError, UnreachableError, refusal_of
from .get_json import pieces, whole
from .transport import Transport

# The timeouts and waits of a reflector.


@dataclass(frozen=True)
class Timeouts:
    """All in seconds, except the page size."""

    watch: float = 270.0  # timeoutSeconds of a watch, jittered by a ninth
    grace: float = 15.0  # a watch that outlives its timeout by this is ended from our side
    catch_up: float = 0.3  # a resumed watch delivers what it missed right after its headers
    silence: float = 60.0  # a list without data for this long times out
    longest_list: float = 300.0  # and so does one that takes longer than this
    first_wait: float = 0.8
    longest_wait: float = 30.0
    look_again: float = 10.0  # for permissions or a CRD
    quiet: float = 180.0  # without an event or bookmark, of a server that sends bookmarks: once a minute
    stale_after: float = 60.0  # of no connection
    page: int = 250  # objects; decoding a page blocks the event loop
    jitter: bool = True


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
            what = f"whether it serves {kind.resource} is unknown. Run `kubectl get --raw /readyz?verbose`"
            raise StatusError(503, f"the API server is not ready: {what}", error.retry_after) from error

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


# The first request to an API server: what is wrong with every request is said once, before anything is watched.

_SECONDS = 10.0
_BYTES = 65536
_LOOK = "`kubectl cluster-info` asks the same one"


class GreetingError(KubeError):
    """No request will be answered. Its text is one sentence, with what to do."""


class _Version(msgspec.Struct, frozen=True, rename="camel"):
    git_version: str


async def greet(transport: Transport) -> str:
    """The version of the API server, such as v1.34.1; empty where one may not ask for it. Raises GreetingError for what
    is wrong with the server or the credentials, and ConfigError.
    """
    try:
        async with transport.open("GET", "/version", read_seconds=_SECONDS) as response:
            body = await whole(response, _BYTES)
        return msgspec.json.decode(body, type=_Version).git_version
    except UnreachableError as error:
        raise GreetingError(_unreachable(transport.server, error)) from error
    except StatusError as error:
        if error.code == 403:
            return ""
        raise GreetingError(_refused(transport.server, error)) from error
    except MALFORMED as error:
        raise GreetingError(_no_api(transport.server, "another answer than a version")) from error


def _unreachable(server: str, error: UnreachableError) -> str:
    why = refusal_of(error)
    what = f"{server} is not reachable: {why}" if why else str(error)
    return f"{what}. Check the server in your kubeconfig and the network path to it: {_LOOK}"


def _refused(server: str, error: StatusError) -> str:
    if error.code == 401:
        return (
            f"{server} rejects your credentials (401 Unauthorized): they have expired or belong to another cluster. "
            "Log in again and check with `kubectl auth whoami`"
        )
    if error.code < 500:
        return _no_api(server, str(error))
    return f"{server} can't respond now: {error}. Try again later, or check with `kubectl get --raw /readyz?verbose`"


def _no_api(server: str, answer: str) -> str:
    return f"{server} is not a Kubernetes API: it answers /version with {answer}. Check the server in your kubeconfig"
