"""Requests to one API server: a request in, a response out, whose body is still to be read.

With credentials.py the only place that knows the `kubernetes` package. Every failure is one of errors.py. After a 401
or a failed TLS handshake the credentials are reloaded, certificates included; requests in flight keep theirs.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
from kubernetes.aio import client as kube_client

from .clocks import ServerClocks, boottime
from .credentials import Loader, loader_from_environment
from .errors import ConfigError, KubeError, StatusError, UnreachableError
from .get_json import beginning
from .sending import DatedRequest, Sending, Used, sent_as

_CONNECT_SECONDS = 10
_RELOAD_SECONDS = 5.0  # at least between two loads of the credentials
_ERROR_BYTES = 65536  # of an error response
_REDIRECTS = {301, 302, 303, 307, 308}  # that aiohttp would follow
_SHOWN = 200  # characters of where one leads to
_TOKEN_SECONDS = 60.0
_PLUGIN_SECONDS = 60.0
_AGGREGATED = "/apis/subresources."  # answered by KubeVirt's virt-api, with the time of its node


@dataclass(eq=False, slots=True)
class _Session:
    """One load of the credentials, and the connections opened with it."""

    client: kube_client.ApiClient
    requests: int = 0
    retired: bool = False


@dataclass(frozen=True, slots=True)
class _Request:
    method: str
    path: str
    query: Sequence[tuple[str, str]]
    headers: Mapping[str, str]
    read_seconds: float
    body: Mapping[str, Any] | Sequence[Any] | None
    sending: Sending | None


class Transport:
    """Sends requests to one API server."""

    def __init__(self, loader: Loader, *, reload_seconds: float = _RELOAD_SECONDS) -> None:
        self._loader = loader
        self._reload_seconds = reload_seconds
        self._session: _Session | None = None
        self._rejected: _Session | None = None  # its TLS handshake failed
        self._retired: set[_Session] = set()
        self._loaded_at = -reload_seconds
        self._failure: ConfigError | None = None
        self._loading = asyncio.Lock()
        self.clocks = ServerClocks()

    @classmethod
    def from_environment(
        cls,
        kubeconfig: str | None = None,
        context: str | None = None,
        *,
        token_seconds: float = _TOKEN_SECONDS,
        reload_seconds: float = _RELOAD_SECONDS,
        plugin_seconds: float = _PLUGIN_SECONDS,
    ) -> Transport:
        """The kubeconfig at the path, in $KUBECONFIG or at the default path; else the pod's ServiceAccount.

        Raises ConfigError if there is none of these.
        """
        loader = loader_from_environment(kubeconfig, context, token_seconds, plugin_seconds)
        return cls(loader, reload_seconds=reload_seconds)

    @property
    def server(self) -> str:
        """The API server's URL; empty before the first request."""
        return str(self._session.client.configuration.host) if self._session else ""

    async def load(self) -> None:
        """Loads the credentials, to fail early. Raises ConfigError."""
        await self._load(None)

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        *,
        read_seconds: float,
        body: Mapping[str, Any] | Sequence[Any] | None = None,
        sending: Sending | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response to one request, closed at the end. `read_seconds` is the longest wait for data of it.

        A `body` is sent as JSON, and in time if `sending` says so.

        Raises StatusError for a status of 400 or above, UnreachableError without a response (LateError if it was too
        late to send it), ConfigError.
        """
        request = _Request(method, path, query, headers or {}, read_seconds, body, sending)
        session, tries = await self._load(self._rejected), 1
        while True:
            async with self._sent(session, request) as response:
                if response.status < 400:
                    yield response
                    return
                content = await beginning(response, _ERROR_BYTES)
                error = StatusError.of(response.status, content, response.headers.get("Retry-After"))
            fresh = await self._load(session) if error.code == 401 and tries == 1 else session
            if fresh is session:
                raise error
            session, tries = fresh, 2

    async def close(self) -> None:
        sessions = {*self._retired, *((self._session,) if self._session else ())}
        self._session = self._rejected = None
        self._retired.clear()
        for session in sessions:
            await session.client.close()

    @asynccontextmanager
    async def _sent(self, session: _Session, request: _Request) -> AsyncIterator[aiohttp.ClientResponse]:
        session.requests += 1
        used = Used()
        try:
            with _translated(str(session.client.configuration.host)):
                sent = boottime()
                response = await _send(session.client, request, used)
                if not request.path.startswith(_AGGREGATED):
                    self.clocks.take(sent, boottime(), response.headers.get("Date"))
                try:
                    yield response
                finally:
                    _drop(response)
        except UnreachableError as error:
            cause = error.__cause__
            if isinstance(cause, aiohttp.ClientSSLError) or isinstance(cause and cause.__cause__, ssl.SSLError):
                self._rejected = session
            raise
        finally:
            used.end()
            session.requests -= 1
            await self._close_unused()

    async def _load(self, used: _Session | None) -> _Session:
        """The session to send with. If `used` is the session that failed, a reloaded one, unless that just happened."""
        if self._session is not None and self._session is not used:
            return self._session
        async with self._loading:
            if self._session is not None and self._session is not used:
                return self._session  # another request has reloaded it
            if time.monotonic() - self._loaded_at < self._reload_seconds:
                if self._failure is not None:
                    raise ConfigError(str(self._failure))
                if self._session is not None:
                    return self._session
            try:
                fresh = await self._opened()
            except ConfigError as error:
                self._failure = error
                raise
            finally:
                self._loaded_at = time.monotonic()
            self._failure = None
            if self._session is not None:
                self._session.retired = True
                self._retired.add(self._session)
            self._session = fresh
        await self._close_unused()
        return fresh

    async def _opened(self) -> _Session:
        configuration = kube_client.Configuration()
        await self._loader(configuration)
        more = configuration.client_session_kwargs or {}
        configuration.client_session_kwargs = {**more, "request_class": DatedRequest, "middlewares": (_as_answered,)}
        try:
            client = kube_client.ApiClient(configuration)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            raise ConfigError(f"the certificates for {configuration.host} can't be used: {error}") from error
        client.user_agent = "kubevirt-steward"
        return _Session(client)

    async def _close_unused(self) -> None:
        for session in [each for each in self._retired if not each.requests]:
            self._retired.discard(session)
            await session.client.close()


async def _as_answered(request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType) -> aiohttp.ClientResponse:
    """The response, which is never a redirect: it would take the token, and what is written, to another server."""
    response = await send(request)
    if response.status in _REDIRECTS:
        to = response.headers.get("Location", "")[:_SHOWN]
        response.close()
        raise StatusError(
            response.status, f"it redirects to {to!r}, which is not followed; name the API server itself as the server"
        )
    return response


async def _send(client: kube_client.ApiClient, request: _Request, used: Used) -> aiohttp.ClientResponse:
    method, url, headers, body, form = await client.param_serialize(
        request.method,
        request.path,
        query_params=list(request.query),
        # With gzip, half the cost of a list is compression on both sides.
        header_params={
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            **({} if request.body is None else {"Content-Type": "application/json"}),
            **request.headers,
        },
        body=request.body,
        auth_settings=["BearerToken"],
    )
    # A token file usually ends with a line break, which a header must not have.
    headers = {name: value.strip() for name, value in headers.items()}
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=request.read_seconds)
    try:
        with sent_as(request.sending, used):
            answer = await client.call_api(method, url, headers, body, form, _request_timeout=timeout)
    except aiohttp.ClientError:
        raise  # some of them are ValueErrors too
    except ValueError as error:
        raise ConfigError(f"a request to {client.configuration.host} can't be sent: {error}") from error
    response: aiohttp.ClientResponse = answer.response
    return response


def _drop(response: aiohttp.ClientResponse) -> None:
    """Ends a response without a TLS shutdown, which a frozen server would never answer."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


@contextmanager
def _translated(server: str) -> Iterator[None]:
    """Turns errors of aiohttp into those of errors.py."""
    try:
        yield
    except KubeError:
        raise
    except aiohttp.ClientConnectorCertificateError as error:
        why = getattr(error.certificate_error, "verify_message", "") or error.certificate_error
        raise UnreachableError(f"the certificate of {server} is not valid: {why}") from error
    except aiohttp.ConnectionTimeoutError as error:
        raise UnreachableError(f"no connection to {server} within {_CONNECT_SECONDS} s") from error
    except TimeoutError as error:
        raise UnreachableError(f"no response from {server} in time") from error
    except (aiohttp.ClientError, OSError) as error:
        raise UnreachableError(f"no connection to {server}: {error or type(error).__name__}") from error
