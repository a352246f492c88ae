"""An API server that can be made to fail, and that keeps what was asked of it.

server = FakeApiServer()
server.faults.add(Fault("/ipamclaims", watch=True, times=2, cut_after=300))
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from aiohttp import web

from demo.apiserver import listing, server
from demo.apiserver.calls import ApiCall, PathTarget, read
from demo.apiserver.errors import ApiError
from demo.apiserver.listing import WatchPace
from demo.apiserver.server import JSON, Answer, ApiServer
from demo.apiserver.storage import StorageBackup

from .faults import Fault, Faults

__all__ = ["FakeApiServer", "send"]

# Puts an answer on the connection, with what a fault does to it on the way.


async def send(request: web.BaseRequest, answer: Answer, fault: Fault) -> web.StreamResponse:
    """As `demo.apiserver.server.send`. Raises ConnectionResetError where the fault cuts the connection."""
    faulty = _FaultyWire(request, fault)
    if isinstance(answer, tuple):
        status, body = answer
        await faulty.open(status)
        await faulty.write(body)
        return faulty.response
    async with aclosing(answer):
        first = await anext(answer)
        await faulty.open(200)
        await faulty.write_line(first)
        async for line in answer:
            await faulty.write_line(line)
    return faulty.response


class _FaultyWire:
    """One answer in the making."""

    def __init__(self, request: web.BaseRequest, fault: Fault) -> None:
        self.response = web.StreamResponse(headers=JSON)
        self._request = request
        self._fault = fault
        self._left = fault.cut_after

    async def open(self, status: int) -> None:
        self.response.set_status(status)
        self.response.enable_chunked_encoding()
        await self.response.prepare(self._request)
        if self._fault.frozen:
            await asyncio.Event().wait()  # until the connection or the server ends

    async def write_line(self, line: bytes) -> None:
        for sent in self._fault.rewrite(line) if self._fault.rewrite and line else (line,):
            await self.write(sent)

    async def write(self, data: bytes) -> None:
        if self._left is None:
            await self._put(data)
            return
        data, whole = data[: self._left], data
        self._left -= len(data)
        await self._put(data)
        if len(data) < len(whole) or not self._left:
            self._cut()

    async def _put(self, data: bytes) -> None:
        if self._fault.drip is None:
            if data:
                await self.response.write(data)
            return
        for i in range(len(data)):
            await self.response.write(data[i : i + 1])
            await asyncio.sleep(self._fault.drip)

    def _cut(self) -> None:
        """Closes the connection where it stands; what was written still goes out."""
        if self._request.transport is not None:
            self._request.transport.close()
        raise ConnectionResetError("cut by a fault")


NO_STREAMING_LIST = (
    "a watch stream was requested by the client but the required storage feature RequestWatchProgress is disabled"
)
_END = b"end"


class FakeApiServer(ApiServer):
    def __init__(self, *, history: int = 10_000, pace: WatchPace | None = None) -> None:
        super().__init__(history=history, pace=pace)
        self.faults = Faults()
        self.requests: deque[ApiCall] = deque(maxlen=1000)
        """The last requests, oldest first."""
        self.streaming_lists = True
        """False answers streaming lists as an API server on etcd 3.4: 200, then one ERROR event."""
        self._changed = asyncio.Condition()

    @property
    def version(self) -> int:
        """The resourceVersion of the last write."""
        return self._storage.version

    # The server's own state.

    def serve(self, plural: str) -> None:
        """A CRD appears."""
        resource = self._named(plural)
        if resource not in self._served:
            self._served.append(resource)

    def unserve(self, plural: str) -> None:
        """A CRD vanishes: its objects go, its watches end, its path answers 404."""
        resource = self._named(plural)
        for key, row in self._storage.rows(resource):
            self._storage.remove(resource, key, row.body)
        for watch in self._watches.open:
            if watch.target.resource == resource:
                watch.lines.put_nowait(_END)
        if resource in self._served:
            self._served.remove(resource)

    def compact(self) -> None:
        """Makes every version before this one too old, for watches and for lists that go on."""
        self._storage.compacted = self._storage.version

    def backup(self) -> StorageBackup:
        return self._storage.backup()

    def restore(self, backup: StorageBackup) -> None:
        """etcd goes back to a backup. Open watches stay, and are silent until their last version comes again."""
        for watch in self._watches.open:
            watch.since = max(watch.since, self._storage.version)
        self._storage.restore(backup)

    def bookmark(self) -> None:
        """Sends a bookmark to all watches that asked for them."""
        for watch in self._watches.open:
            watch.bookmark(self._storage.version)

    def watching(self, plural: str) -> int:
        """How many watches on a resource are open."""
        resource = self._named(plural)
        return sum(watch.target.resource == resource for watch in self._watches.open)

    async def until_watched(self, plural: str, count: int = 1) -> None:
        """Waits until so many watches on a resource are open."""
        await self._until(lambda: self.watching(plural) >= count)

    async def until_unwatched(self, plural: str) -> None:
        """Waits until no watch on a resource is open."""
        await self._until(lambda: not self.watching(plural))

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(holds)

    # Requests.

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        call = await read(request)
        self.requests.append(call)
        fault = self.faults.take(call)
        if fault is None:
            return await server.send(request, self._answer(call))
        if fault.before:
            fault.before()
        if fault.answer:
            raise fault.answer(call, self._target_or_none(call))
        return await send(request, self._answer(call), fault)

    def _answer(self, call: ApiCall) -> server.Answer:
        if call.watch and "sendInitialEvents" in call.query and not self.streaming_lists:
            return _only(listing.error(ApiError(500, "", NO_STREAMING_LIST)))
        answer = super()._answer(call)
        return answer if isinstance(answer, tuple) else self._reported(answer)

    async def _reported(self, lines: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        """The lines of a watch; wakes those who wait for watches to open or end."""
        try:
            async with aclosing(lines):
                async for line in lines:
                    if line is _END:
                        return
                    if not line:
                        await self._report()
                    yield line
        finally:
            await self._report()

    async def _report(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _target_or_none(self, call: ApiCall) -> PathTarget | None:
        try:
            return self._target(call)
        except ApiError:
            return None


async def _only(line: bytes) -> AsyncGenerator[bytes]:
    yield line
