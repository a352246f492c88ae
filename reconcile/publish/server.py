"""What the sidecar serves: its metrics, the plans, and health."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from aiohttp import web
from prometheus_client import generate_latest

from exporter.serve.application import Guard, application
from exporter.serve.server.sending import json_answer

from ..carry_out.metrics import Measures, ShownRepairs
from ..plan.guards import gathered

_LONGEST_WAIT = 60.0


def build(
    board: ShownRepairs, measures: Measures, modes: Mapping[str, str], instance: str, guard: Guard | None = None
) -> web.Application:
    """`instance` is the ID of this run."""

    async def plans(request: web.Request) -> web.StreamResponse:
        await _wait(request, board, instance)
        repairs = board.all()
        answer = {
            "generation": f"{instance}.{board.generation}",
            "leading": measures.standing.leading,
            "leader": measures.standing.leader,
            "modes": dict(modes),
            "canaries": measures.standing.canaries,
            "unseen": gathered(each.refused for each in repairs),
            "repairs": repairs,
        }
        return await json_answer(request, instance, answer)

    async def metrics(_: web.Request) -> web.StreamResponse:
        body = generate_latest(measures.registry)
        return web.Response(body=body, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})

    def readyz() -> str:
        """A replica that waits for the Lease is ready; it reads no findings until it leads."""
        now = measures.standing
        return "" if now.source_up or not now.leading else "the findings haven't been read yet"

    return application({"/api/v1/plans": plans, "/metrics": metrics}, readyz, guard=guard)


async def _wait(request: web.Request, board: ShownRepairs, instance: str) -> None:
    """Until the generation is another one than `since`, for `wait` seconds at most."""
    text, since = request.query.get("wait", ""), request.query.get("since", "")
    if not text.isdecimal() or not since:
        return
    try:
        async with asyncio.timeout(min(float(text), _LONGEST_WAIT)), board.changed:
            await board.changed.wait_for(lambda: f"{instance}.{board.generation}" != since)
    except TimeoutError:
        return
