"""JSON from a server that is not Kubernetes': a token out of a file, a CA, bounds, and no redirects.

The exporter asks the sidecar by it; the sidecar asks the exporter, Alertmanager and Prometheus.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import msgspec

from .body import beginning, whole
from .errors import MALFORMED, KubeError

_LONGEST_TOKEN = 1 << 16  # bytes
_SHOWN = 200  # bytes of a refusal
_REFUSAL = 8192  # bytes of one that are read

Query = Mapping[str, str] | Sequence[tuple[str, str]]


class GetError(Exception):
    """There is no answer; the text is one sentence. `status` is that of a refusal, 0 where nobody answered; `said` is
    the sentence of a steward that refuses.
    """

    def __init__(self, text: str, status: int = 0, said: str = "") -> None:
        super().__init__(text)
        self.status, self.said = status, said


class _Refusal(msgspec.Struct, frozen=True):
    error: str = ""


@dataclass(frozen=True)
class Answer:
    """Of status 200, or 304 with an empty body where the request had an If-None-Match."""

    status: int
    body: bytes
    tag: str


@dataclass(frozen=True)
class JSONServer:
    """Where it is, how it is trusted and by which token; empty for none. Files are read anew: they are replaced.

    `server_name` is what its certificate has to be for, empty for the URL's host. `token` stands in for a file with
    one, and the CAs of the file `beside` are trusted beside those of the system where there is no `ca_file`.
    """

    url: str
    token_file: str = ""
    ca_file: str = ""
    server_name: str = ""
    token: str = field(default="", repr=False)
    beside: str = ""

    async def get(self, path: str, query: Query | None = None, *, seconds: float, most: int) -> bytes:
        """The body of a 200, of at most `most` bytes, over a connection of its own. Raises GetError."""
        async with self.connected(most) as connection:
            return (await connection.get(path, query, seconds=seconds)).body

    @asynccontextmanager
    async def connected(self, most: int) -> AsyncIterator[Connection]:
        """Keeps its connections, and the CA that was read when it was entered. Raises GetError."""
        tls = await asyncio.to_thread(self._tls) if self.url.startswith("https:") else True
        # Plain bytes: how much a compressed answer unpacks to is limited where it is read.
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=tls), auto_decompress=False) as session:
            yield Connection(self, session, most)

    async def post(self, path: str, token: str, body: bytes, *, seconds: float, most: int) -> tuple[int, bytes]:
        """The status and the body of the answer to what is sent with somebody's token. Raises GetError without one."""
        url = self.url.rstrip("/") + path
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
        try:
            async with (
                self.connected(most) as connection,
                connection.session.post(
                    url,
                    data=body,
                    headers=headers,
                    timeout=aiohttp.ClientTimeout(total=seconds),
                    allow_redirects=False,
                    server_hostname=self.server_name or None,
                ) as response,
            ):
                return response.status, await whole(response, most)
        except TimeoutError as error:
            raise GetError(f"POST {url} was not answered within {seconds:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError, KubeError) as error:
            raise GetError(f"POST {url} failed: {error or type(error).__name__}") from error

    def authorization(self) -> dict[str, str]:
        """The header with the token; none without one. Raises GetError."""
        if not self.token_file:
            return {"Authorization": f"Bearer {self.token}"} if self.token else {}
        try:
            with Path(self.token_file).open("rb") as opened:
                token = opened.read(_LONGEST_TOKEN).decode("ascii", "replace").strip()
        except OSError as error:
            raise GetError(f"the token in {self.token_file} can't be read: {error.strerror or error}") from error
        if not token or not token.isascii() or not token.isprintable() or " " in token:
            raise GetError(f"{self.token_file} has no token: one line of ASCII is expected")
        return {"Authorization": f"Bearer {token}"}

    def _tls(self) -> ssl.SSLContext:
        file = self.ca_file or self.beside
        try:
            context = ssl.create_default_context(cafile=self.ca_file or None)
            if self.beside and not self.ca_file:
                context.load_verify_locations(self.beside)
        except ssl.SSLError as error:
            raise GetError(f"{file} has no certificates in PEM form: {error.reason}") from error
        except OSError as error:
            raise GetError(f"the CA certificates in {file} can't be read: {error.strerror or error}") from error
        return context


@dataclass(frozen=True)
class Connection:
    """To a server, as long as it is kept open."""

    server: JSONServer
    session: aiohttp.ClientSession
    most: int

    async def get(self, path: str, query: Query | None = None, *, seconds: float, tag: str = "") -> Answer:
        """The answer within so many seconds; 304 where it still has that tag. Raises GetError for any other status.

        A redirection is not followed: the token is for this server.
        """
        server, url = self.server, self.server.url.rstrip("/") + path
        headers = {"Accept": "application/json", **server.authorization(), **({"If-None-Match": tag} if tag else {})}
        try:
            async with self.session.get(
                url,
                params=query or {},
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=seconds),
                allow_redirects=False,
                server_hostname=server.server_name or None,
            ) as response:
                if response.status == 304 and tag:
                    return Answer(304, b"", tag)
                if response.status != 200:
                    refusal = await beginning(response, _REFUSAL)
                    shown = refusal[:_SHOWN].decode("utf-8", "replace").strip()
                    answered = f"GET {url} was answered with {response.status}"
                    raise GetError(f"{answered}: {shown}" if shown else answered, response.status, _said(refusal))
                return Answer(200, await whole(response, self.most), response.headers.get("ETag", ""))
        except TimeoutError as error:
            raise GetError(f"GET {url} was not answered within {seconds:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError, KubeError) as error:
            raise GetError(f"GET {url} failed: {error or type(error).__name__}") from error


def _said(refusal: bytes) -> str:
    try:
        return msgspec.json.decode(refusal, type=_Refusal).error
    except MALFORMED:
        return ""
