"""The login by the form in a real browser: by the keyboard alone, without a script, and by a link of another site."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from exporter.serve.access.access import FINDINGS, Access
from exporter.serve.access.browsers import COOKIE, Sessions
from exporter.serve.access.login import Login
from exporter.serve.routes import FOR_TENANTS, UNASKED
from exporter.serve.server.certificates import Certificates
from tests.access_stage import Scripted
from tests.cluster.browser import CHROMIUM, Tab, browser
from tests.served import Served, served
from tests.tls_clients import Mounted

from .browser import AxeMissing, violations

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian install the package chromium")
_TITLE = "document.querySelector('h1').textContent"
_FOCUSED = "document.activeElement.matches('input')"


@asynccontextmanager
async def guarded(folder: Path) -> AsyncIterator[tuple[Served, Tab]]:
    """Pages behind a login, and a tab that takes their certificate."""
    reviews, mounted, sessions = Scripted(), Mounted(folder), Sessions(600)
    reviews.add("good", FINDINGS)
    reviews.add("poor")
    access = Access(reviews, tenants=FOR_TENANTS, others=UNASKED, sessions=sessions)  # type: ignore[arg-type]
    tls = (Certificates(*mounted.files), mounted.trusts)
    door = Login(access.user, sessions)
    async with (
        served(2, guard=access, door=door, tls=tls) as made,
        browser(folder / "browser", "--ignore-certificate-errors") as tab,
    ):
        yield made, tab
        await access.aclose()


async def _enter(tab: Tab, token: str) -> None:
    """Into the field that has the focus, once it has: a browser gives it with its first frame, maybe after the load."""
    async with asyncio.timeout(30):
        while not await tab.value(_FOCUSED):  # asked from here, since no callback runs where scripts are off
            pass
    await tab.call("Input.insertText", text=token)
    async with tab.leading():
        await tab.press("Enter", "\r")


@pytest.mark.parametrize("script", [True, False], ids=["with a script", "without"])
async def test_by_the_keyboard_alone_one_logs_in_sees_the_page_and_logs_out(script: bool, tmp_path: Path) -> None:
    async with guarded(tmp_path) as (server, tab):
        await tab.call("Emulation.setScriptExecutionDisabled", value=not script)
        await tab.open(f"{server.url}/findings?severity=warning")
        assert await tab.value(_TITLE) == "Log in"
        await _enter(tab, "wrong")
        assert "rejects this token" in await tab.value("document.querySelector('#mistake').textContent")
        await _enter(tab, "good")
        assert await tab.value("location.pathname + location.search") == "/findings?severity=warning"
        assert await tab.value(_TITLE) == "2 findings of 2 causes"
        assert await tab.value("document.cookie") == ""  # no script can read it
        cookies = (await tab.call("Network.getCookies"))["cookies"]
        assert [(each["name"], each["secure"], each["httpOnly"], each["sameSite"]) for each in cookies] == [
            (COOKIE, True, True, "Strict")
        ]
        await tab.value("document.querySelector('form.user button').focus()")
        async with tab.leading():
            await tab.press("Enter", "\r")
        assert await tab.value("location.pathname") == "/login"
        await tab.open(f"{server.url}/findings")
        assert await tab.value(_TITLE) == "Log in"


async def test_who_may_not_see_a_page_is_told_who_they_are_and_can_leave(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (server, tab):
        await tab.open(server.url)
        await _enter(tab, "poor")
        assert await tab.value(_TITLE) == "user-of-poor has no permission to see this"
        async with tab.leading():
            await tab.value("document.querySelector('form[action=\"/logout\"] button').click()")
        assert await tab.value(_TITLE) == "Log in"


async def test_a_link_of_another_site_leads_to_the_page_of_who_is_logged_in(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (server, tab), linking(f"{server.url}/findings") as elsewhere:
        await tab.open(server.url)
        await _enter(tab, "good")
        await tab.open(elsewhere)
        async with tab.leading(2):  # the first one asks once more from here
            await tab.value("document.querySelector('a').click()")
        assert await tab.value("location.pathname") == "/findings"
        assert await tab.value(_TITLE) == "2 findings of 2 causes"
        # A form of that site takes nobody out, and nobody in.
        await tab.open(elsewhere)
        async with tab.leading():
            await tab.value("document.querySelector('form').submit()")
        assert "a page of" in await tab.value("document.body.textContent")
        await tab.open(f"{server.url}/findings")
        assert await tab.value(_TITLE) == "2 findings of 2 causes"


@asynccontextmanager
async def linking(url: str) -> AsyncIterator[str]:
    """A page of another site, that of localhost, with a link to the URL and a form that logs out."""

    async def page(_: web.Request) -> web.Response:
        logout = url.replace("/findings", "/logout")
        text = f'<a href="{url}">look</a><form method="post" action="{logout}"></form>'
        return web.Response(text=text, content_type="text/html")

    app = web.Application()
    app.router.add_get("/", page)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://localhost:{runner.addresses[0][1]}/"
    finally:
        await runner.cleanup()


async def test_axe_finds_nothing_in_the_form(tmp_path: Path) -> None:
    async with guarded(tmp_path) as (server, tab):
        for token in ("", "wrong", "poor"):
            await tab.open(f"{server.url}/findings")
            if token:
                await _enter(tab, token)
            for scheme in ("light", "dark"):
                for width in (1280, 390):
                    await tab.looks(width, scheme)
                    try:
                        assert await violations(tab) == [], (token, scheme, width)
                    except AxeMissing as missing:
                        pytest.skip(str(missing))
                    assert await tab.value("document.documentElement.scrollWidth") <= width
