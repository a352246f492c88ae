"""An API server in this process, over real HTTP: list, watch, get, write and discovery.

    server = ApiServer()
    server.load(objects)
    await server.start()      # then read server.url

It behaves as kube-apiserver 1.36 was seen to behave, where a client could tell the
difference. Objects can be changed from within too; those calls are plain and synchronous,
take the whole object including its status, and reach watches like any other write.

Not here: authentication, authorization, admission, schemas, managed fields, server-side
apply, protobuf, tables, garbage collection, and every controller. Pods go at once when deleted.
"""

import copy
from collections import deque
from collections.abc import Callable, Iterable
from datetime import datetime

from aiohttp import web

from . import wire
from .calls import NOTED, Call, Target, target
from .discovery import document
from .errors import ApiError, no_such_subresource, page_not_found
from .faults import Fault, Faults
from .listing import list_body
from .patching import merged
from .registry import DeleteOptions, Registry, utc_now
from .resources import RESOURCES, Obj, Resource
from .storage import Storage
from .watching import Pace, Watches
from .writing import write

VERSION = "v1.33.2"
HEALTH = ("/healthz", "/livez", "/readyz")


class ApiServer:
    def __init__(
        self,
        *,
        history: int = 10_000,
        pace: Pace | None = None,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.faults = Faults()
        self.requests: deque[Call] = deque(maxlen=1000)
        """The last requests, oldest first."""
        self.pace = pace or Pace()
        self._storage = Storage(history)
        self._registry = Registry(self._storage, clock)
        self._watches = Watches(self._storage, self.pace)
        self._served = list(RESOURCES)
        self._http: web.Server | None = None
        self._runner: web.ServerRunner | None = None
        self._url = ""

    @property
    def url(self) -> str:
        """Where it listens, without a slash at the end."""
        return self._url

    @property
    def version(self) -> int:
        """The resourceVersion of the last write."""
        return self._storage.version

    @property
    def streaming_lists(self) -> bool:
        return self._watches.streaming_lists

    @streaming_lists.setter
    def streaming_lists(self, offered: bool) -> None:
        """Off: answers them as a server on etcd 3.4 does."""
        self._watches.streaming_lists = offered

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

    # Objects, from within.

    def load(self, objects: Iterable[Obj]) -> None:
        """Creates objects as they are, with the uid, times and deletion marks that they carry."""
        for obj in objects:
            self.create(obj)

    def create(self, obj: Obj) -> Obj:
        return copy.deepcopy(self._registry.create(self._of(obj), obj).body)

    def get(self, plural: str, namespace: str, name: str) -> Obj:
        return copy.deepcopy(self._registry.read(self._named(plural), (namespace, name)).body)

    def objects(self, plural: str) -> list[Obj]:
        return [copy.deepcopy(row.body) for _, row in self._storage.rows(self._named(plural))]

    def replace(self, obj: Obj) -> Obj:
        """Writes a whole object; 409 when it carries a resourceVersion that is not the latest."""
        return copy.deepcopy(self._registry.update(self._of(obj), obj).body)

    def patch(self, plural: str, namespace: str, name: str, merge_patch: Obj) -> Obj:
        resource = self._named(plural)
        old = self._registry.read(resource, (namespace, name)).body
        return copy.deepcopy(self._registry.update(resource, merged(old, merge_patch)).body)

    def delete(self, plural: str, namespace: str, name: str, propagation: str = "") -> None:
        """Removes an object, or marks it as being deleted while it has finalizers."""
        options = DeleteOptions(propagation=propagation)
        self._registry.delete(self._named(plural), (namespace, name), options)

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
        self._watches.end(resource)
        if resource in self._served:
            self._served.remove(resource)

    def compact(self) -> None:
        """Makes every version before this one too old, for watches and for lists that go on."""
        self._storage.compact()

    def bookmark(self) -> None:
        """Sends a bookmark to all watches that asked for them."""
        self._watches.bookmark_all()

    def drop_connections(self) -> None:
        """Ends all open connections at once, as a load balancer does that goes away."""
        for connection in list(self._http.connections) if self._http else ():
            if connection.transport is not None:
                connection.transport.abort()

    def watching(self, plural: str) -> int:
        """How many watches on a resource are open."""
        return self._watches.count(self._named(plural))

    async def until_watched(self, plural: str, count: int = 1) -> None:
        """Waits until so many watches on a resource are open."""
        await self._watches.until(lambda: self.watching(plural) >= count)

    async def until_unwatched(self, plural: str) -> None:
        """Waits until no watch on a resource is open."""
        await self._watches.until(lambda: not self.watching(plural))

    # Requests.

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        headers = {name: request.headers[name] for name in NOTED if name in request.headers}
        call = Call(request.method, request.path, dict(request.query), headers, await request.read())
        self.requests.append(call)
        fault = self.faults.take(call)
        try:
            return await self._answer(request, call, fault)
        except ApiError as err:
            return wire.refusal(err)

    async def _answer(self, request: web.BaseRequest, call: Call, fault: Fault | None) -> web.StreamResponse:
        if fault and fault.before:
            fault.before()
        if fault and fault.answer:
            raise fault.answer(call, self._target_or_none(call))
        found = document(call.path, self._served, VERSION) if call.method == "GET" else None
        if found is not None:
            return await wire.send(request, 200, wire.encode(found), fault)
        if call.path in HEALTH:
            return web.Response(text="ok")
        at = self._target(call)
        if call.watch:
            return await wire.stream(request, self._watches.stream(at, call.query), fault)
        status, body = (200, self._read(call, at)) if call.method == "GET" else write(self._registry, call, at)
        return await wire.send(request, status, body, fault)

    def _read(self, call: Call, at: Target) -> bytes:
        if at.name:
            return self._registry.read(at.resource, at.key).encoded
        return list_body(self._storage, at, call.query)

    def _target(self, call: Call) -> Target:
        at = target(call.path, self._lookup)
        if at.subresource and not (at.subresource == "status" and at.resource.status):
            raise no_such_subresource()
        return at

    def _target_or_none(self, call: Call) -> Target | None:
        try:
            return target(call.path, self._lookup)
        except ApiError:
            return None

    def _lookup(self, group: str, version: str, plural: str) -> Resource | None:
        asked = (group, version, plural)
        return next((r for r in self._served if (r.group, r.version, r.plural) == asked), None)

    def _named(self, plural: str) -> Resource:
        return next(r for r in RESOURCES if r.plural == plural)

    def _of(self, obj: Obj) -> Resource:
        asked = (obj["apiVersion"], obj["kind"])
        found = next((r for r in RESOURCES if (r.api_version, r.kind) == asked), None)
        if found is None:
            raise page_not_found()
        return found
