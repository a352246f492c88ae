"""Follows the sidecar: asks it for its repairs, in the background, and holds the answer back there until it changes.

Whatever the sidecar answers, the findings are served; its repairs are unknown then, and what it said last is kept.
"""

from __future__ import annotations

import asyncio
import logging
import random
import ssl
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from ..config.settings import ReconcileSettings
from ..engine.turn import in_turns
from ..kube.body import whole
from ..kube.errors import KubeError
from .repairs import Plans, Repairs, decoding

__all__ = ["Follower", "Waits"]

log = logging.getLogger(__name__)
_LARGEST = 32 << 20  # bytes of an answer
_LONGEST_TOKEN = 1 << 16  # bytes
_LONGEST_WHY = 300  # characters


@dataclass(frozen=True)
class Waits:
    """All in seconds. `change` is how long the sidecar may hold an answer back, `answer` how long it may take then;
    `pause` is between two answers, `first` and `longest` are between tries after failures, which double.
    """

    change: int = 30
    answer: float = 15.0
    pause: float = 1.0
    first: float = 1.0
    longest: float = 60.0


class Follower:
    def __init__(self, settings: ReconcileSettings, repairs: Repairs, waits: Waits | None = None) -> None:
        """The settings have a URL."""
        self._url = f"{(settings.url or '').rstrip('/')}/api/v1/plans"
        self._token, self._ca, self._name = settings.token_file, settings.ca_file, settings.server_name
        self._repairs, self._waits = repairs, waits or Waits()
        self._failures = 0

    async def run(self) -> None:
        """Does not return, and raises nothing for what the sidecar or the network does."""
        while True:
            with self._failing():
                await self._follow()
            self._failures += 1
            grown = self._waits.first * 2 ** min(self._failures - 1, 10)
            await asyncio.sleep(min(grown, self._waits.longest) * random.uniform(0.5, 1.0))  # noqa: S311

    async def once(self) -> None:
        """Asks once; raises nothing for what the sidecar or the network does."""
        with self._failing():
            async with self._session() as session:
                plans, _ = await self._asked(session, "", "")
                if plans is not None:
                    self._answered(plans)

    @contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            self._lost("it did not answer in time")
        except (aiohttp.ClientError, OSError, KubeError, ValueError) as error:
            self._lost(str(error) or type(error).__name__)

    @asynccontextmanager
    async def _session(self) -> AsyncIterator[aiohttp.ClientSession]:
        tls = await asyncio.to_thread(self._tls) if self._url.startswith("https:") else True
        # Plain bytes: how much a compressed answer unpacks to is limited where it is read.
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls), auto_decompress=False) as session:
            yield session

    async def _follow(self) -> None:
        """Until something fails: the CA and the connections are made anew then."""
        generation = tag = ""
        async with self._session() as session:
            while True:
                plans, tag = await self._asked(session, generation, tag)
                if plans is not None:
                    self._answered(plans)
                    generation = plans.generation
                await asyncio.sleep(self._waits.pause)

    async def _asked(self, session: aiohttp.ClientSession, generation: str, tag: str) -> tuple[Plans | None, str]:
        """The answer and its tag; without an answer where nothing has changed."""
        query = {"wait": str(self._waits.change), "since": generation} if generation else {}
        headers = {"Accept": "application/json", **self._authorization(), **({"If-None-Match": tag} if tag else {})}
        timeout = aiohttp.ClientTimeout(total=self._waits.change + self._waits.answer)
        # A redirection is refused: the token is for this server.
        asking = session.get(
            self._url,
            params=query,
            headers=headers,
            timeout=timeout,
            allow_redirects=False,
            server_hostname=self._name,
        )
        async with asking as response:
            if response.status == 304 and tag:
                return None, tag
            if response.status != 200:
                raise ValueError(f"it answers {response.status}{self._advice(response.status)}")
            return await in_turns(decoding(await whole(response, _LARGEST))), response.headers.get("ETag", "")

    def _authorization(self) -> dict[str, str]:
        """The token is read each time, since it is renewed."""
        if self._token is None:
            return {}
        with Path(self._token).open("rb") as opened:
            token = opened.read(_LONGEST_TOKEN).decode("ascii", "replace").strip()
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise ValueError(f"{self._token} has no token: one line of ASCII is expected")
        return {"Authorization": f"Bearer {token}"}

    def _tls(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self._ca)
        except ssl.SSLError as error:
            raise ValueError(f"{self._ca} has no certificates in PEM form: {error.reason}") from error
        except OSError as error:
            raise ValueError(f"{self._ca} can't be read: {error.strerror}") from error

    def _advice(self, status: int) -> str:
        if status in (401, 403):
            return "; reconcile.tokenFile has to name the file of a token that it accepts"
        return "; reconcile.url has to be that of the sidecar, without a path" if status in (301, 302, 404) else ""

    def _answered(self, plans: Plans) -> None:
        if self._repairs.unknown_since is not None:
            log.info('event="repairs known" url=%s repairs=%d', self._url, len(plans.repairs))
        self._failures = 0
        self._repairs.take(plans)

    def _lost(self, why: str) -> None:
        """Logs it once, not each time that it is tried again."""
        why = f"the repairs can't be read from {self._url}: {why}"[:_LONGEST_WHY]
        news = why != self._repairs.why
        self._repairs.lost(why, time.time())
        if news:
            log.warning('event="repairs unknown" why="%s"', why)
