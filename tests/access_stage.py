"""A server whose API server answers reviews by a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp import web

from exporter.http.access.access import Access
from exporter.http.access.viewer import visible_to
from exporter.http.application import application, serving
from exporter.kube.reviews import Attributes, Resource, User

VMS = Resource("kubevirt.io", "virtualmachines", "list")


def in_namespace(name: str) -> Resource:
    return Resource(VMS.group, VMS.resource, VMS.verb, name)


class Scripted:
    """Answers as it is set: users by their token, and what each may do. `asked` has all questions."""

    def __init__(self) -> None:
        self.users: dict[str, str] = {}
        self.may: dict[str, set[Attributes]] = {}
        self.failure: Exception | None = None
        self.asked: list[tuple[str, Any]] = []
        self.open, self.began = asyncio.Event(), asyncio.Event()
        self.open.set()

    def add(self, token: str, *may: Attributes) -> None:
        self.users[token] = f"user-of-{token}"
        self.may[f"user-of-{token}"] = set(may)

    async def user(self, token: str, queue: str = "", who: str = "") -> User | None:
        await self._answer("token", token)
        name = self.users.get(token)
        return User(name, "uid", ("group",)) if name else None

    async def allowed(self, user: User, attributes: Attributes, queue: str = "") -> bool:
        await self._answer("access", attributes)
        return attributes in self.may[user.name]

    async def _answer(self, review: str, what: Any) -> None:
        self.asked.append((review, what))
        self.began.set()
        await self.open.wait()
        if self.failure is not None:
            raise self.failure


class Stage:
    def __init__(self, known: Iterable[str] = ("a", "b")) -> None:
        self.reviews, self.now = Scripted(), 1000.0
        self.uids: dict[str, str] = {}
        self.access = Access(
            self.reviews,  # type: ignore[arg-type] # all that is asked of it
            tenants=("/", "/api/v1/findings"),
            others=("/own",),
            namespaces=lambda: known,
            uid_of=lambda name: self.uids.get(name, ""),
            clock=lambda: self.now,
        )
        self.url = ""
        self.http: aiohttp.ClientSession

    async def get(self, path: str, *headers: tuple[str, str], token: str = "") -> tuple[int, str, Any]:
        sent = [*headers, *([("Authorization", f"Bearer {token}")] if token else [])]
        async with self.http.get(f"{self.url}{path}", headers=sent) as answer:
            return answer.status, await answer.text(), answer.headers

    async def status(self, path: str, token: str) -> int:
        return (await self.get(path, token=token))[0]

    def questions(self, review: str) -> int:
        return sum(each == review for each, _ in self.reviews.asked)


@asynccontextmanager
async def staged(known: Iterable[str] = ("a", "b")) -> AsyncIterator[Stage]:
    made = Stage(known)

    async def say(request: web.Request) -> web.StreamResponse:
        visible = visible_to(request)
        return web.Response(text="everything" if visible is None else f"{sorted(visible.names or ['all'])}")

    paths = ("/", "/metrics", "/api/v1/findings", "/api/v1/drain", "/own")
    app = application(dict.fromkeys(paths, say), lambda: "", guard=made.access)
    async with serving(app, "127.0.0.1", 0) as made.url, aiohttp.ClientSession() as made.http:
        yield made
        made.reviews.open.set()
        await made.access.aclose()
