"""A server with the form of a login, whose API server answers reviews by a script; and a client that keeps cookies."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http.cookies import SimpleCookie

import aiohttp
from aiohttp import web

from exporter.http.access.access import Access
from exporter.http.access.asking import LOGIN, LOGOUT
from exporter.http.access.login import Login
from exporter.http.access.sessions import COOKIE, Sessions
from exporter.http.access.viewer import signed_in
from exporter.http.application import application, serving
from tests.access_stage import Scripted

__all__ = ["SECONDS", "Answer", "LoginStage", "login_stage"]

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
