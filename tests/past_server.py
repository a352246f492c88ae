"""A Prometheus that answers as a test says: with ranges, garbage, too much, an error, or never."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from aiohttp import web

from exporter.config.outside import PrometheusSettings
from exporter.prometheus import Bounds, Past

__all__ = ["Stub", "answer", "asking"]

Respond = Callable[[web.Request], Awaitable[web.StreamResponse]]


def answer(ranges: Mapping[str, list[tuple[float, float]]]) -> web.Response:
    """As Prometheus writes it: times are numbers, values are texts."""
    result = [
        {"metric": {"of": name}, "values": [[at, f"{value:g}"] for at, value in points]}
        for name, points in ranges.items()
    ]
    text = json.dumps({"status": "success", "data": {"resultType": "matrix", "result": result}})
    return web.Response(text=text, content_type="application/json")


class Stub:
    """`respond` may be set while it runs; `asked` has the parameters of each request, `tokens` what it had of them."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self.asked: list[Mapping[str, str]] = []
        self.tokens: list[str] = []
        self.released = asyncio.Event()  # what hangs until it is
        self.url = ""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self.asked.append(dict(request.query))
        self.tokens.append(request.headers.get("Authorization", ""))
        return await self.respond(request)

    async def hang(self, _: web.Request) -> web.StreamResponse:
        await self.released.wait()
        return answer({"found": [(1.0, 1.0)]})


@asynccontextmanager
async def asking(stub: Stub, bounds: Bounds, clock: Callable[[], float], **settings: str) -> AsyncIterator[Past]:
    """What asks the stub, while entered."""
    app = web.Application()
    app.router.add_get("/prefix/api/v1/query_range", stub.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    stub.url = f"http://127.0.0.1:{runner.addresses[0][1]}/prefix"
    loop = asyncio.get_running_loop()
    past = Past(PrometheusSettings(url=stub.url, **settings), clock, loop.time, bounds)
    job = asyncio.create_task(past.run())
    try:
        yield past
    finally:
        job.cancel()
        stub.released.set()
        await asyncio.gather(job, return_exceptions=True)
        await runner.cleanup()
