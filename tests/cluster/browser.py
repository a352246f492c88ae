"""A Chromium without a screen that tests steer by its DevTools protocol."""

from __future__ import annotations

import asyncio
import itertools
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import aiohttp

__all__ = ["CHROMIUM", "QUIET", "AxeMissing", "Tab", "axe", "browser", "violations"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
_STARTS = 60.0  # seconds
_ANSWERS = 30.0


class Tab:
    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket, self._ids = socket, itertools.count(1)
        self._loads = 0  # pages that were loaded, whoever read that of the socket
        self.asked: list[str] = []  # URLs that were requested

    async def call(self, method: str, **parameters: Any) -> Any:
        own = next(self._ids)
        await self._socket.send_json({"id": own, "method": method, "params": parameters})
        async with asyncio.timeout(_ANSWERS):
            while (message := await self._socket.receive_json()).get("id") != own:
                self._note(message)
        assert "error" not in message, message
        return message["result"]

    @asynccontextmanager
    async def leading(self, pages: int = 1) -> AsyncIterator[None]:
        """What is done within leads to another page, or to several one after another, until the last one is loaded."""
        before = self._loads
        yield
        async with asyncio.timeout(_ANSWERS):
            while self._loads < before + pages:
                self._note(await self._socket.receive_json())

    async def open(self, url: str) -> None:
        """Until it is loaded."""
        async with self.leading():
            await self.call("Page.navigate", url=url)

    def _note(self, message: Any) -> None:
        if message.get("method") == "Network.requestWillBeSent":
            self.asked.append(message["params"]["request"]["url"])
        self._loads += message.get("method") == "Page.loadEventFired"

    async def value(self, expression: str) -> Any:
        """Of JavaScript; a promise is waited for."""
        answer = await self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def press(self, key: str, text: str = "") -> None:
        """A key of the keyboard, such as Tab; `text` is what it writes."""
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            code = {"Tab": 9, "Enter": 13, " ": 32}.get(key, 0)
            await self.call("Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, **typed)

    async def until(self, expression: str) -> None:
        """Until it is true, as the page says after each change of itself."""
        waiting = (
            "new Promise((done) => { const look = () => { if (%s) { watch.disconnect(); done(true); } };"
            "const watch = new MutationObserver(look);"
            "watch.observe(document, {subtree: true, childList: true, attributes: true, characterData: true});"
            "look(); })"
        )
        assert await self.value(waiting % expression)

    async def looks(self, width: int, scheme: str) -> None:
        """As wide as a screen of so many pixels, in a `light` or `dark` system."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=width < 600
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        await self.call("Emulation.setEmulatedMedia", features=features)


@asynccontextmanager
async def browser(folder: Path, *flags: str) -> AsyncIterator[Tab]:
    """A tab of a browser of its own, whose profile is below the folder."""
    assert CHROMIUM
    profile = folder / "profile"
    process = await asyncio.create_subprocess_exec(
        *(CHROMIUM, *QUIET, *flags, f"--user-data-dir={profile}", "--remote-debugging-port=0", "about:blank"),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        assert process.stderr is not None
        async with asyncio.timeout(_STARTS):
            line = b""
            while b"DevTools listening on " not in line:
                line = await process.stderr.readline()
        address = line.decode().split("/")[2]
        reading = asyncio.create_task(process.stderr.read())  # or the pipe is full at some time
        async with aiohttp.ClientSession() as session:
            async with session.get(f"http://{address}/json") as answer:
                (page,) = (each for each in await answer.json() if each["type"] == "page")
            async with session.ws_connect(page["webSocketDebuggerUrl"], max_msg_size=0) as socket:
                tab = Tab(socket)
                for domain in ("Page", "Network", "Runtime"):
                    await tab.call(f"{domain}.enable")
                yield tab
        reading.cancel()
    finally:
        process.kill()
        await process.wait()


# axe-core, which looks for what shuts somebody out of a page; got by npm into the cache of tools, once.

_VERSION = "4.14.1"
_SECONDS = 120
_RUN = """axe.run(document, {resultTypes: ["violations"]}).then((found) => found.violations.map((each) =>
  `${each.id}: ${each.nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`))"""


class AxeMissing(RuntimeError):  # noqa: N818 - a state of the machine, named so
    """It is not on this machine, and can't be had; the message says why."""


@cache
def axe() -> str:
    """Its text. Raises AxeMissing."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "kubevirt-steward" / "tools" / f"axe-core-{_VERSION}"
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        _install(folder)
    return script.read_text(encoding="utf-8")


def _install(folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        raise AxeMissing("there is no axe-core, and no npm to get it; on Debian install the package npm")
    folder.mkdir(parents=True, exist_ok=True)
    words = (npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder))
    try:
        done = subprocess.run(
            [*words, f"axe-core@{_VERSION}"], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise AxeMissing(f"npm did not get axe-core in {_SECONDS} s") from error
    if done.returncode:
        raise AxeMissing(f"npm can't get axe-core: {done.stderr.strip()[-300:]}")


async def violations(tab: Tab) -> list[Any]:
    """What axe-core finds on the page that is open. Raises AxeMissing."""
    await tab.value(f"{axe()}; true")
    found: list[Any] = await tab.value(_RUN)
    return found
