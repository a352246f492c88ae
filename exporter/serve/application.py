"""The HTTP server: its routes, who is answered, and the headers of every response."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from errno import EADDRNOTAVAIL

from aiohttp import web
from aiohttp.http import HttpProcessingError
from aiohttp.web_protocol import RequestPayloadError

from ..engine.engine import Engine
from ..kube.background import alongside
from .access.browsers import SameOrigin
from .server.certificates import Certificates
from .server.connections import IN_USE, Connections
from .server.rooms import NoPlaceError, leave, most_connections, quiet_about_descriptors
from .server.sending import as_text, error, finish, later

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Guard = Callable[[web.Request], Awaitable[web.StreamResponse | None]]
"""Gives the answer to whoever is not to be served, and None to the others."""
Routes = dict[str, Handler]
Answered = Counter[tuple[str, str]]  # by path, as the route has it, and status

_HEADERS = {
    # No script but the page's own file, no foreign content, no framing: the page shows names that anybody who creates
    # an object can choose.
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser sends the login's form with Origin: null
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_UNANSWERED = "error"  # in place of a status
_OTHER = "other"  # in place of a path that is not served: nobody can make up series
_LINGER = 2.0  # seconds in which the body of a request may end, which nobody reads
_BACKLOG = 128
_HEALTH = ("/healthz", "/readyz")  # the kubelet asks without a token
_ALWAYS = (*_HEALTH, "/metrics")  # some connections are kept for these
_DOOR = web.AppKey("door", SameOrigin)
_GUARD = web.AppKey[Guard]("guard")  # absent where everybody is served
_ANSWERED = web.AppKey("answered", Answered)
_CONNECTIONS = web.AppKey("connections", list[Connections])  # none before it serves


def build(
    engine: Engine, routes: Routes, answered: Answered, guard: Guard | None = None, posts: Routes | None = None
) -> web.Application:
    def unready() -> str:
        if engine.ready:
            return ""
        return "\n".join(f"{each.check}: {each.why}" for each in engine.unknowns()) or "not evaluated yet"

    return application(routes, unready, answered, guard, posts)


def application(
    routes: Routes,
    unready: Callable[[], str],
    answered: Answered | None = None,
    guard: Guard | None = None,
    posts: Routes | None = None,
) -> web.Application:
    """Routes with GET, `posts` with POST, and health. `unready` says why it is not ready; empty while it is. In
    `answered` the requests are counted. `guard` is asked before every path but health, which gives no reasons then.
    """

    async def healthz(_: web.Request) -> web.StreamResponse:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.StreamResponse:
        why = unready()
        if not why:
            return web.Response(text="ok\n")
        return as_text(503, f"not ready\n{why}" if guard is None else "not ready")

    app = web.Application(middlewares=[_answer])
    app[_DOOR], app[_CONNECTIONS], app[_ANSWERED] = SameOrigin(), [], Counter() if answered is None else answered
    if guard is not None:
        app[_GUARD] = guard
    app.on_response_prepare.append(_add_headers)
    for path, handler in {**dict(zip(_HEALTH, (healthz, readyz), strict=True)), **routes}.items():
        app.router.add_get(path, handler, expect_handler=expected)
    for path, handler in (posts or {}).items():
        app.router.add_post(path, handler, expect_handler=expected)
    return app


async def expected(request: web.Request) -> web.StreamResponse | None:
    """Has a client go on that waits for that; who expects anything else is refused at the door."""
    if request.headers["Expect"].lower() == "100-continue" and request.version >= (1, 1):
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0
    return None


@web.middleware
async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
    connections = request.app[_CONNECTIONS]
    always = _path(request) in _ALWAYS
    with connections[0].in_use(request, always=always) if connections else nullcontext(True) as has_place:
        try:
            with _counted(request) as count:
                response = await _answered(request, handler) if has_place else later(request, 503, IN_USE)
                count(response.status)
            if not request.content.is_eof():
                response.force_close()  # nobody reads the rest of its body
            await finish(request, response)
        finally:
            leave(request)
        return response


@contextmanager
def _counted(request: web.Request) -> Iterator[Callable[[int], None]]:
    """Counts the request, by the status that it is given."""
    code = _UNANSWERED

    def count(status: int) -> None:
        nonlocal code
        code = str(status)

    try:
        yield count
    except Exception:
        count(500)  # aiohttp answers so
        raise
    finally:
        request.app[_ANSWERED][_path(request), code] += 1


def _path(request: web.Request) -> str:
    """As the route has it."""
    resource = request.match_info.route.resource
    return resource.canonical if resource else _OTHER


async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    refusal = request.app[_DOOR].refusal(request)
    if refusal is not None:
        return error(request, *refusal)
    guard = request.app.get(_GUARD)
    try:
        if guard is not None and _path(request) not in _HEALTH:
            stopped = await guard(request)
            if stopped is not None:
                return stopped
        return await handler(request)
    except NoPlaceError:
        return later(request, 503, IN_USE)
    except web.HTTPMethodNotAllowed as refused:
        allowed = ", ".join(sorted(refused.allowed_methods))
        response = error(request, 405, f"{request.method[:20]} is not allowed here. Allowed: {allowed}")
        response.headers["Allow"] = allowed
        return response
    except web.HTTPNotFound:
        paths = sorted(resource.canonical for resource in request.app.router.resources())
        return error(request, 404, f"there is nothing at {request.path[:100]!r}. Available: {', '.join(paths)}")


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)


def _is_ours(record: logging.LogRecord) -> bool:
    """That somebody sends what is no HTTP is answered, and is nothing for the log."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError | RequestPayloadError))


_LOG = logging.getLogger(__name__)
_LOG.addFilter(_is_ours)


@asynccontextmanager
async def serving(
    app: web.Application, host: str, port: int, tls: Certificates | None = None, hosts: Iterable[str] = ()
) -> AsyncIterator[str]:
    """Serves while entered, and gives the URL. Port 0 picks a free one. Without `tls` it is plain HTTP, for those who
    ask for `host`, one of `hosts` or an address. Raises OSError if the port is in use.
    """
    loop = asyncio.get_running_loop()
    runner = web.AppRunner(
        app, access_log=None, shutdown_timeout=2.0, handler_cancellation=True, logger=_LOG, lingering_time=_LINGER
    )
    await runner.setup()
    assert runner.server is not None
    most = most_connections()
    connections = Connections(runner.server, most, None if tls is None else lambda: tls.context)
    try:
        with quiet_about_descriptors(loop):
            server = await _listening(connections, host, port, min(_BACKLOG, most))
            app[_CONNECTIONS][:] = [connections]
            if tls is None:
                app[_DOOR].answers_to(host, *hosts)
            name, bound = server.sockets[0].getsockname()[:2]
            try:
                async with alongside({} if tls is None else {"follow the certificate": tls.follow()}):
                    yield f"{'http' if tls is None else 'https'}://{f'[{name}]' if ':' in name else name}:{bound}"
            finally:
                server.close()
    finally:
        await runner.cleanup()
        connections.drop_all()


async def _listening(connections: Connections, host: str, port: int, backlog: int) -> asyncio.Server:
    try:
        return await asyncio.get_running_loop().create_server(connections, host, port, backlog=backlog)
    except OSError as error:
        if error.errno is None:  # so newer Pythons say that no address of the host is ours
            raise OSError(EADDRNOTAVAIL, os.strerror(EADDRNOTAVAIL)) from error
        raise
