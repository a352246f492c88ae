"""A server whose API server answers reviews by a script."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from http.cookies import SimpleCookie
from typing import Any

import aiohttp
from aiohttp import web

from exporter.kube.reviews import Attributes, Resource, User
from exporter.serve.access.access import Access
from exporter.serve.access.browsers import COOKIE, LOGIN, LOGOUT, Sessions
from exporter.serve.access.login import Login
from exporter.serve.access.viewer import signed_in, visible_to
from exporter.serve.application import application, serving

__all__ = ["SECONDS", "Answer", "LoginStage", "login_stage"]

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


# A server with the form of a login, whose API server answers reviews by a script; and a client that keeps cookies.

SECONDS = 600.0
PAGE = {"Accept": "text/html,*/*;q=0.8"}


class Answer:
    def __init__(self, answer: aiohttp.ClientResponse, text: str) -> None:
        self.status, self.headers, self.text = answer.status, answer.headers, text
        self.cookies: SimpleCookie = answer.cookies

    @property
    def session(self) -> str:
        """The id that it gives; empty where it gives none."""
        return self.cookies[COOKIE].value if COOKIE in self.cookies else ""


class LoginStage:
    def __init__(self, token_header: str | None) -> None:
        self.reviews, self.now = Scripted(), 1000.0
        self.sessions = Sessions(SECONDS, lambda: self.now)
        self.access = Access(
            self.reviews,  # type: ignore[arg-type] # all that is asked of it
            others=(LOGIN, LOGOUT),
            sessions=self.sessions,
            token_header=token_header,
            clock=lambda: self.now,
        )
        self.url = ""
        self.http: aiohttp.ClientSession

    async def get(self, path: str, session: str = "", **headers: str) -> Answer:
        return await self._send("GET", path, session, headers)

    async def post(self, path: str, session: str = "", form: dict[str, str] | None = None, **headers: str) -> Answer:
        return await self._send("POST", path, session, headers, form or {})

    async def log_in(self, token: str, to: str = "/", session: str = "", **headers: str) -> Answer:
        return await self.post(LOGIN, session, {"token": token, "next": to}, **headers)

    async def _send(
        self, method: str, path: str, session: str, headers: dict[str, str], form: dict[str, str] | None = None
    ) -> Answer:
        """The names of headers are written with _ for -."""
        sent = PAGE | {name.replace("_", "-"): value for name, value in headers.items()}
        if session:
            sent["Cookie"] = f"{COOKIE}={session}"
        asking = self.http.request(method, f"{self.url}{path}", headers=sent, data=form, allow_redirects=False)
        async with asking as answer:
            return Answer(answer, await answer.text())


@asynccontextmanager
async def login_stage(token_header: str | None = None) -> AsyncIterator[LoginStage]:
    made = LoginStage(token_header)
    door = Login(made.access.user, made.sessions)

    async def say(request: web.Request) -> web.StreamResponse:
        return web.Response(text=f"everything for {signed_in(request) or 'a token'}")

    table = {**dict.fromkeys(("/", "/findings", "/metrics", "/api/v1/findings"), say), **door.gets}
    app = application(table, lambda: "", guard=made.access, posts=door.posts)
    jar = aiohttp.DummyCookieJar()
    async with serving(app, "127.0.0.1", 0) as made.url, aiohttp.ClientSession(cookie_jar=jar) as made.http:
        yield made
        await made.access.aclose()
