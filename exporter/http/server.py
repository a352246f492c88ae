"""The HTTP server: its routes, and the headers of every response."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web

from ..engine.engine import Engine

__all__ = ["Routes", "build", "serving"]

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Routes = dict[str, Handler]

_HEADERS = {
    # No script, no foreign content, no framing: the page shows names that anybody who creates an object can choose.
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def build(engine: Engine, routes: Routes) -> web.Application:
    async def healthz(_: web.Request) -> web.StreamResponse:
        return web.Response(text="ok\n")

    async def readyz(_: web.Request) -> web.StreamResponse:
        if engine.ready:
            return web.Response(text="ok\n")
        why = "\n".join(f"{each.check}: {each.why}" for each in engine.unknowns()) or "not evaluated yet"
        return web.Response(status=503, text=f"not ready\n{why}\n")

    app = web.Application()
    app.on_response_prepare.append(_add_headers)
    for path, handler in {"/healthz": healthz, "/readyz": readyz, **routes}.items():
        app.router.add_get(path, handler)
    return app


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)


@asynccontextmanager
async def serving(app: web.Application, host: str, port: int) -> AsyncIterator[str]:
    """Serves while entered, and gives the URL. Port 0 picks a free one. Raises OSError if the port is in use."""
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=2.0)
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port)
        await site.start()
        address = runner.addresses[0]
        yield f"http://{f'[{address[0]}]' if ':' in address[0] else address[0]}:{address[1]}"
    finally:
        await runner.cleanup()
