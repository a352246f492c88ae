"""Requests to an API server over one connection, kept open, behind a lock; a stream has a connection of its own.

A connection that the server closed while it was idle is replaced before it is used, and nothing is ever sent twice: so
a client outlives a restart of the server. What the server refuses is an ApiError, with its words.
"""

from __future__ import annotations

import http.client
import json
import select
import ssl
import threading
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from tests.manifests import Object

__all__ = ["ApiError", "Connection"]

Query = Mapping[str, str | int]


class ApiError(Exception):
    """What the API server answered in place of what was asked: its code, reason, message and whole Status."""

    def __init__(self, asked: str, code: int, status: Object) -> None:
        self.code = code
        self.status = status
        self.reason: str = status.get("reason", "")
        self.message: str = status.get("message", "")
        super().__init__(f"{asked}: {code} {self.reason}: {self.message}")


class Connection:
    """To one API server, as the account that `token` belongs to (no token: as nobody); all requests have `headers`."""

    def __init__(
        self,
        url: str,
        ca_file: Path,
        token: str | None,
        *,
        timeout: float = 60,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        split = urlsplit(url)
        self._address = (split.hostname or "", split.port or 443)
        self._tls = ssl.create_default_context(cafile=str(ca_file))
        self._headers = {"Accept": "application/json", **(headers or {})}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"
        self._timeout = timeout
        self._lock = threading.Lock()
        self._kept: http.client.HTTPSConnection | None = None

    def close(self) -> None:
        with self._lock:
            self._drop()

    def request(
        self, method: str, path: str, body: Any = None, *, query: Query | None = None, content_type: str | None = None
    ) -> Any:
        """The decoded answer, or the text of one that is not JSON. Raises ApiError, or OSError without an answer."""
        whole = _whole(path, query)
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = content_type or "application/json"
        with self._lock:
            connection = self._connection()
            try:
                connection.request(method, whole, None if body is None else _written(body), headers)
                response = connection.getresponse()
                content = response.read()
            except BaseException:
                self._drop()  # whatever still arrives on it belongs to this request, not to the next
                raise
        if response.status >= http.client.BAD_REQUEST:
            raise _refused(method, whole, response.status, content)
        return json.loads(content) if "json" in response.headers.get("Content-Type", "") else content.decode()

    def stream(self, path: str, query: Query) -> Generator[Any, None, None]:
        """The JSON lines of the answer as they come, until the server ends it or the iterator is closed."""
        whole = _whole(path, query)
        connection = self._new()
        try:
            connection.request("GET", whole, headers=self._headers)
            with connection.getresponse() as response:
                if response.status != http.client.OK:
                    raise _refused("GET", whole, response.status, response.read())
                for line in response:
                    yield json.loads(line)
        finally:
            connection.close()

    def _new(self) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection(*self._address, timeout=self._timeout, context=self._tls)

    def _connection(self) -> http.client.HTTPSConnection:
        kept = self._kept
        if kept is not None and kept.sock is not None and select.select([kept.sock], [], [], 0)[0]:
            self._drop()  # an idle connection has something to read only when the server closes it
        if self._kept is None:
            self._kept = self._new()
        return self._kept

    def _drop(self) -> None:
        if self._kept is not None:
            self._kept.close()
            self._kept = None


def _written(body: Any) -> str:
    """Without blanks, as Go writes JSON: the server holds a ControllerRevision's data to the byte that was sent."""
    return json.dumps(body, separators=(",", ":"))


def _whole(path: str, query: Query | None) -> str:
    return f"{quote(path)}?{urlencode(query)}" if query else quote(path)


def _refused(method: str, path: str, code: int, content: bytes) -> ApiError:
    try:
        status = json.loads(content)
    except ValueError:
        status = {"message": content.decode(errors="replace").strip()}
    return ApiError(f"{method} {path}", code, status if isinstance(status, dict) else {"message": str(status)})
