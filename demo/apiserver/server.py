"""The server: its objects are written from within and over HTTP, and read over HTTP.

    server = ApiServer()
    server.load(objects)
    await server.start()      # then read server.url

It behaves as kube-apiserver 1.36 was seen to behave, where a client could notice the
difference. Calls from within are plain and synchronous, take the whole object including
its status, and reach watches like any other write.

Not here: authentication, authorization, admission, schemas, managed fields, protobuf,
garbage collection, and every controller.
"""

import copy
import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from pathlib import Path

from aiohttp import web

from .calls import ApiCall, PathTarget, read, target
from .discovery import document, openapi
from .errors import ApiError, no_such_subresource, page_not_found
from .listing import Watches, WatchPace, list_body, selected_page
from .registry import Registry, merged
from .resources import RESOURCES, Obj, ServedResource
from .storage import Storage
from .subresources import PREFIX, SubresourceHandler
from .tables import table, wants_table
from .writing import WriteHandler

JSON = {"Content-Type": "application/json"}

Answer = tuple[int, bytes] | AsyncGenerator[bytes]
"""HTTP status and the whole body, or the lines of a watch as they come."""


def encode(obj: Obj) -> bytes:
    return json.dumps(obj, separators=(",", ":")).encode()


def refusal(err: ApiError) -> web.Response:
    return web.Response(status=err.code, body=err.body(), headers={"Content-Type": err.content_type} | err.headers)


async def send(request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    """Sends an answer. An ApiError before the first line becomes the answer."""
    if isinstance(answer, tuple):
        status, body = answer
        return web.Response(status=status, body=body, headers=JSON)
    response = web.StreamResponse(headers=JSON)
    async with aclosing(answer):
        first = await anext(answer)
        response.enable_chunked_encoding()
        await response.prepare(request)
        if first:
            await response.write(first)
        async for line in answer:
            await response.write(line)
    return response


VERSION = "v1.33.2"
HEALTH = ("/healthz", "/livez", "/readyz")


class ApiServer:
    def __init__(self, *, history: int = 10_000, pace: WatchPace | None = None) -> None:
        self.pace = pace or WatchPace()
        self._storage = Storage(history)
        self._registry = Registry(self._storage)
        self._writer = WriteHandler(self._storage)
        self._subresources = SubresourceHandler(self._storage)
        self._watches = Watches(self._storage, self.pace)
        self._served = list(RESOURCES)
        self._http: web.Server | None = None
        self._runner: web.ServerRunner | None = None
        self._url = ""

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return self._url

    async def start(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Begins to listen; port 0 takes a free one."""
        self._http = web.Server(self._handle, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(self._http, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, host, port)
        await site.start()
        at, bound = self._runner.addresses[0][:2]
        self._url = f"http://[{at}]:{bound}" if ":" in at else f"http://{at}:{bound}"

    async def stop(self) -> None:
        """Ends all connections and stops listening; the objects stay."""
        self.drop_connections()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def drop_connections(self) -> None:
        """Ends all open connections at once, as a load balancer does that goes away."""
        for connection in list(self._http.connections) if self._http else ():
            if connection.transport is not None:
                connection.transport.abort()

    # Objects, from within.

    def load(self, objects: Iterable[Obj]) -> None:
        """Creates objects as they are, with the uid and times that they carry."""
        for obj in objects:
            self.create(obj)

    def create(self, obj: Obj) -> Obj:
        return copy.deepcopy(self._registry.create(self._of(obj), obj).body)

    def get(self, plural: str, namespace: str, name: str) -> Obj:
        return copy.deepcopy(self._registry.read(self._named(plural), (namespace, name)).body)

    def objects(self, plural: str) -> list[Obj]:
        return [copy.deepcopy(row.body) for _, row in self._storage.rows(self._named(plural))]

    def patch(self, plural: str, namespace: str, name: str, merge_patch: Obj) -> Obj:
        resource = self._named(plural)
        old = self._registry.read(resource, (namespace, name)).body
        return copy.deepcopy(self._registry.update(resource, merged(old, merge_patch)).body)

    def delete(self, plural: str, namespace: str, name: str) -> None:
        """Removes an object; while it has finalizers it only gets its deletionTimestamp."""
        self._registry.delete(self._named(plural), (namespace, name))

    # Requests.

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            return await self._respond(request)
        except ApiError as err:
            return refusal(err)

    async def _respond(self, request: web.BaseRequest) -> web.StreamResponse:
        return await send(request, self._answer(await read(request)))

    def _answer(self, call: ApiCall) -> Answer:
        if call.path.startswith(PREFIX):
            return self._subresources.put(call)
        if call.method != "GET":
            return self._writer.write(call, self._target(call))
        if call.path in HEALTH:
            return 200, b"ok"
        found = document(call.path, self._served, VERSION) or openapi(call.path, self._served)
        if found is not None:
            return 200, encode(found)
        at = self._target(call)
        if call.watch:
            return self._watches.stream(at, call.query)
        if at.name:
            row = self._registry.read(at.resource, at.key)
            return 200, table(at.resource, [row.body], {}) if wants_table(call.headers) else row.encoded
        if wants_table(call.headers):
            meta, rows = selected_page(self._storage, at, call.query)
            return 200, table(at.resource, [row.body for row in rows], meta)
        return 200, list_body(self._storage, at, call.query)

    def _target(self, call: ApiCall) -> PathTarget:
        at = target(call.path, self._lookup)
        if at.subresource and not (at.subresource == "status" and at.resource.status):
            raise no_such_subresource()
        return at

    def _lookup(self, group: str, version: str, plural: str) -> ServedResource | None:
        asked = (group, version, plural)
        return next((r for r in self._served if (r.group, r.version, r.plural) == asked), None)

    def _named(self, plural: str) -> ServedResource:
        return next(r for r in RESOURCES if r.plural == plural)

    def _of(self, obj: Obj) -> ServedResource:
        asked = (obj["apiVersion"], obj["kind"])
        found = next((r for r in RESOURCES if (r.api_version, r.kind) == asked), None)
        if found is None:
            raise page_not_found()
        return found


def kubeconfig(folder: Path, server: str) -> Path:
    """Writes a kubeconfig for an API server without authentication."""
    path = folder / "kubeconfig"
    named = {"name": "demo"}
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{**named, "cluster": {"server": server}}],
                "contexts": [{**named, "context": {"cluster": "demo", "user": "demo"}}],
                "users": [{**named, "user": {}}],
                "current-context": "demo",
            }
        ),
        encoding="utf-8",
    )
    return path
