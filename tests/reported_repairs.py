"""A sidecar as the exporter sees it: a server of its plans, and a holder that says when something reached it."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

from exporter.config.settings import ReconcileSettings
from exporter.sidecar import Follower, Plans, Repairs, Waits

__all__ = ["QUICK", "Heard", "Sidecar", "following", "plans", "repair", "sidecar"]

QUICK = Waits(change=5, answer=5.0, pause=0.0, first=0.001, longest=0.01)
Answer = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


def repair(fingerprint: str = "f1", **more: Any) -> dict[str, Any]:
    return {
        "fingerprint": fingerprint,
        "remediation": "release_ipam_claim",
        "mode": "plan",
        "state": "planned",
        "hash": "3f9c2a0011223344",
        "target": "IPAMClaim ns/db.blue",
        "write": "PATCH ipamclaims.k8s.cni.cncf.io ns/db.blue: remove /metadata/finalizers/0",
        "why": "Its VM is gone.",
        "effect": "The IPAMClaim goes.",
        "risk": "address",
        "undo": "none",
        "loses": ["10.0.0.5/24"],
        "blocked": [],
        "commands": ["steward reconcile approve 3f9c2a0011223344"],
        "at": 1790000000.0,
        **more,
    }


def plans(generation: str, *repairs: dict[str, Any], **more: Any) -> dict[str, Any]:
    modes = {"release_ipam_claim": "plan"}
    return {"generation": generation, "leading": True, "modes": modes, "repairs": list(repairs), **more}


class Heard(Repairs):
    """Says what reached it, once it is through: the reason of a failure, or empty text for an answer."""

    def __init__(self) -> None:
        super().__init__(1_790_000_000.0)
        self.news: asyncio.Queue[str] = asyncio.Queue()

    def take(self, plans: Plans) -> None:
        super().take(plans)
        self.news.put_nowait("")

    def lost(self, why: str, now: float) -> None:
        super().lost(why, now)
        self.news.put_nowait(why)

    async def next(self) -> str:
        return await asyncio.wait_for(self.news.get(), 10)


class Sidecar:
    """Answers with `body`, as a sidecar does; or as `answer` says, while there is one."""

    def __init__(self) -> None:
        self.url = ""
        self.body = plans("1")
        self.answer: Answer | None = None
        self.asked: asyncio.Queue[web.BaseRequest] = asyncio.Queue()
        self.changed = asyncio.Condition()

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.asked.put_nowait(request)
        if self.answer is not None:
            return await self.answer(request)
        if request.query.get("since") == self.body["generation"]:
            before = self.body
            async with self.changed:
                await self.changed.wait_for(lambda: self.body is not before)
        return web.json_response(self.body, headers={"ETag": f'"{self.body["generation"]}"'})

    async def says(self, body: dict[str, Any]) -> None:
        async with self.changed:
            self.body = body
            self.changed.notify_all()

    def answers(self, status: int = 200, body: Any = b"", **headers: str) -> None:
        """From now on; a body that is no bytes is sent as JSON."""
        content = body if isinstance(body, bytes) else json.dumps(body).encode()

        async def answer(_: web.BaseRequest) -> web.StreamResponse:
            return web.Response(status=status, body=content, headers=headers)

        self.answer = answer

    async def request(self) -> web.BaseRequest:
        """The next one that arrives."""
        return await asyncio.wait_for(self.asked.get(), 10)


@asynccontextmanager
async def sidecar(context: ssl.SSLContext | None = None, port: int = 0) -> AsyncIterator[Sidecar]:
    made = Sidecar()
    runner = web.ServerRunner(web.Server(made.handle, access_log=None), shutdown_timeout=0.01)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port, ssl_context=context)
    await site.start()
    made.url = f"{'https' if context else 'http'}://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield made
    finally:
        await runner.cleanup()


@asynccontextmanager
async def following(url: str, waits: Waits = QUICK, **settings: str) -> AsyncIterator[Heard]:
    """What a follower of the URL has heard, while entered."""
    heard = Heard()
    follower = Follower(ReconcileSettings(url=url, **settings), heard, waits)
    task = asyncio.create_task(follower.run())
    try:
        yield heard
    finally:
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled(), task.exception()
