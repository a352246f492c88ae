"""An API server that costs little: a fleet's bytes over TLS, in a process of its own.

It answers discovery, lists in pages, watches with their initial events and bookmarks, and nothing else: whoever asks
may see all, nothing is written over HTTP, and selectors are not looked at, since every object matches those of the ones
that ask. Everything is JSON, where a real API server speaks protobuf of core kinds with clients that prefer it.
"""

from __future__ import annotations

import argparse
import asyncio
import ssl
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context

import trustme
from aiohttp import web

from bench.fleet.orders import OBJECTS, Orders, say
from bench.fleet.population import Fleet
from bench.fleet.storage import SERVED, Encoded, Prepared, Rows, Storage, encoded
from demo.apiserver import server
from demo.apiserver.calls import ApiCall, PathTarget, read, target
from demo.apiserver.discovery import document
from demo.apiserver.errors import ApiError, not_found, page_not_found
from demo.apiserver.listing import END_OF_LIST, bookmark
from demo.apiserver.resources import ServedResource
from demo.apiserver.server import HEALTH

_VERSION = "v1.36.3"
_BOOKMARKS = 30.0  # seconds
_BATCH = 64  # objects that are handed on together while a watch lists
_PART = 500  # VMs whose objects are made together


class Stub:
    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.watches: dict[ServedResource, list[asyncio.Queue[bytes]]] = {each: [] for each in SERVED}

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await server.send(request, self._answer(await read(request)))
        except ApiError as err:
            return server.refusal(err)

    async def publish(self, change: Prepared) -> None:
        line = b'{"type":"MODIFIED","object":%b}\n' % self.storage.put(change)
        for watch in self.watches[change.resource]:
            watch.put_nowait(line)

    def _answer(self, call: ApiCall) -> server.Answer:
        if call.method != "GET":
            raise page_not_found()
        if call.path in HEALTH:
            return 200, b"ok"
        found = document(call.path, SERVED, _VERSION)
        if found is not None:
            return 200, server.encode(found)
        at = target(
            call.path, lambda *asked: next((r for r in SERVED if (r.group, r.version, r.plural) == asked), None)
        )
        if call.watch:
            return self._watch(at, call)
        rows = self.storage.rows[at.resource]
        if at.name:
            if at.key not in rows.keys:
                raise not_found(at.resource, at.name)
            return 200, rows.bodies[rows.keys[at.key]]
        return 200, self._page(at, rows, int(call.query.get("limit", "0")), int(call.query.get("continue") or 0))

    def _page(self, at: PathTarget, rows: Rows, limit: int, start: int) -> bytes:
        end = start + limit if limit else len(rows.bodies)
        left = len(rows.bodies) - end
        meta = {"resourceVersion": str(self.storage.version)}
        meta |= {"continue": str(end), "remainingItemCount": left} if left > 0 else {}  # type: ignore[dict-item]
        head = {"apiVersion": at.resource.api_version, "kind": f"{at.resource.kind}List", "metadata": meta}
        return server.encode(head)[:-1] + b',"items":[' + b",".join(rows.bodies[start:end]) + b"]}"

    async def _watch(self, at: PathTarget, call: ApiCall) -> AsyncGenerator[bytes]:
        seconds = float(call.query.get("timeoutSeconds") or 3600)
        bookmarks = call.query.get("allowWatchBookmarks") in ("1", "true")
        lines: asyncio.Queue[bytes] = asyncio.Queue()
        initial = list(self.storage.rows[at.resource].bodies) if call.query.get("sendInitialEvents") == "true" else None
        version = self.storage.version
        self.watches[at.resource].append(lines)
        try:
            yield b""
            if initial is not None:
                for start in range(0, len(initial), _BATCH):
                    yield b"".join(b'{"type":"ADDED","object":%b}\n' % each for each in initial[start : start + _BATCH])
                yield bookmark(at.resource, version, END_OF_LIST)
                initial.clear()
            async for line in self._live(at.resource, lines, seconds, bookmarks=bookmarks):
                yield line
        finally:
            self.watches[at.resource].remove(lines)

    async def _live(
        self, resource: ServedResource, lines: asyncio.Queue[bytes], seconds: float, *, bookmarks: bool
    ) -> AsyncGenerator[bytes]:
        clock = asyncio.get_running_loop().time
        end = clock() + seconds
        while (left := end - clock()) > 0:
            try:
                async with asyncio.timeout(min(_BOOKMARKS, left)):
                    yield await lines.get()
            except TimeoutError:
                if bookmarks:
                    yield bookmark(resource, self.storage.version)


def made_by_another(fleet: Fleet) -> Iterator[Encoded]:
    """The objects of a fleet, made by a process of its own: what is garbage while objects are made would take six times
    the memory of their bytes here, where these stay.
    """
    yield from map(encoded, fleet.around())
    parts = (range(start, min(start + _PART, fleet.vms)) for start in range(0, fleet.vms, _PART))
    with ProcessPoolExecutor(1, get_context("spawn")) as another:
        for part in parts:
            yield from another.submit(_part, fleet, part).result()


def _part(fleet: Fleet, numbers: range) -> list[Encoded]:
    return [encoded(obj) for obj in fleet.vms_of(numbers)]


async def serve(fleet: Fleet) -> None:
    stub = Stub(Storage(made_by_another(fleet)))
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    runner = web.ServerRunner(web.Server(stub.handle, access_log=None), shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    say({"server": f"https://127.0.0.1:{runner.addresses[0][1]}", "ca": authority.cert_pem.bytes().decode()})
    await Orders(lambda change: stub.storage.prepared(change, OBJECTS), stub.publish).follow()
    await runner.cleanup()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("vms", type=int)
    parser.add_argument("--revisions", action="store_true")
    parser.add_argument("--unlike", action="store_true")
    given = parser.parse_args()
    asyncio.run(serve(Fleet(given.vms, datetime.now(UTC), given.revisions, given.unlike)))
