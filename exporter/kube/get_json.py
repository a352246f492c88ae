"""JSON from a server that is not Kubernetes': a token out of a file, a CA, bounds, and no redirects.

The exporter asks the sidecar by it; the sidecar asks the exporter, Alertmanager and Prometheus.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import msgspec

from .errors import MALFORMED, KubeError, MalformedError, UnreachableError

# The body of a response, read within bounds: also one that a server compressed although nobody asked for it, and a
# list in pages, which has to end.

_PIECE = 2**18  # bytes that are decompressed at once
_EITHER = 47  # for zlib: a gzip or a zlib header
_MOST_OBJECTS = 1_000_000  # of one list, ten times as many as of the largest kind of a large fleet
_MOST_EMPTY = 10  # pages in a row without an object, of a list that goes on


class ListBounds:
    """What has come of one list. A list that does not end raises MalformedError before it takes all memory."""

    def __init__(self, of: str) -> None:
        """`of` is what is listed."""
        self._of, self._objects, self._empty, self._rest = of, 0, 0, ""

    def add(self, objects: int) -> None:
        """Takes in so many objects more."""
        self._objects += objects
        if self._objects > _MOST_OBJECTS:
            raise MalformedError(f"the list of {self._of} does not end: it has more than {_MOST_OBJECTS} objects")

    def add_page(self, objects: int, rest: str) -> None:
        """The same of a page; `rest` is its continue token, empty on the last one."""
        self.add(objects)
        self._empty = 0 if objects else self._empty + 1
        if rest and rest == self._rest:
            raise MalformedError(f"the list of {self._of} does not end: two pages have the same continue token")
        if rest and self._empty >= _MOST_EMPTY:
            why = f"{self._empty} pages in a row have a continue token and no object"
            raise MalformedError(f"the list of {self._of} does not end: {why}")
        self._rest = rest


async def whole(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body. Raises MalformedError for one of more than `most` bytes, and does not read it further."""
    body = await beginning(response, most + 1)
    if len(body) > most:
        raise MalformedError(f"the response is larger than {most // 2**20} MiB")
    return body


async def beginning(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The first bytes of the body, or all of it."""
    body = bytearray()
    async with aclosing(pieces(response)) as read:
        async for piece in read:
            body += piece[: most - len(body)]
            if len(body) == most:
                break
    return bytes(body)


async def pieces(response: aiohttp.ClientResponse) -> AsyncGenerator[bytes, None]:
    """The body as it comes, decompressed. Raises MalformedError; UnreachableError for one that is cut off."""
    coding = response.headers.get("Content-Encoding", "").strip().lower()
    if coding in ("", "identity"):
        async for piece in response.content.iter_any():
            yield piece
        return
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise MalformedError(f"the response is compressed as {coding[:32]!r}, which was not asked for")
    inflate = zlib.decompressobj(_EITHER)
    async for piece in response.content.iter_any():
        for inflated in _inflated(inflate, piece):
            yield inflated
            await asyncio.sleep(0)  # little may become much
    if not inflate.eof:
        raise UnreachableError("the compressed response ends before it is complete")


def _inflated(inflate: zlib._Decompress, piece: bytes) -> Iterator[bytes]:
    rest, more = piece, True
    while more:
        try:
            inflated = inflate.decompress(rest, _PIECE)
        except zlib.error as error:
            raise MalformedError(f"the response can't be decompressed: {error}") from error
        if inflate.unused_data:
            raise MalformedError("the compressed response has data after its end")
        rest = inflate.unconsumed_tail
        more = bool(rest) or len(inflated) == _PIECE
        if inflated:
            yield inflated


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
class Body:
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

    async def get(self, path: str, query: Query | None = None, *, seconds: float, tag: str = "") -> Body:
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
                    return Body(304, b"", tag)
                if response.status != 200:
                    refusal = await beginning(response, _REFUSAL)
                    shown = refusal[:_SHOWN].decode("utf-8", "replace").strip()
                    answered = f"GET {url} was answered with {response.status}"
                    raise GetError(f"{answered}: {shown}" if shown else answered, response.status, _said(refusal))
                return Body(200, await whole(response, self.most), response.headers.get("ETag", ""))
        except TimeoutError as error:
            raise GetError(f"GET {url} was not answered within {seconds:g} s") from error
        except (aiohttp.ClientError, OSError, ValueError, KubeError) as error:
            raise GetError(f"GET {url} failed: {error or type(error).__name__}") from error


def _said(refusal: bytes) -> str:
    try:
        return msgspec.json.decode(refusal, type=_Refusal).error
    except MALFORMED:
        return ""
