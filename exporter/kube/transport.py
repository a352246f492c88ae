"""The one place that knows the `kubernetes` package: its configuration, its authentication, its HTTP client.

A request goes in, a response with its body still to be read comes out; every failure is of our own error tree.
Tokens are read again as they rotate: a service account's and a `tokenFile`'s each minute, an exec plugin's when it
expires, and everything, certificates included, after a 401 or a refused TLS connection.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from kubernetes.aio import client as kube_client
from kubernetes.aio import config as kube_config
from kubernetes.aio.config.config_exception import ConfigException

from .errors import ConfigError, StatusError, UnreachableError

__all__ = ["Transport"]

log = logging.getLogger(__name__)

Loader = Callable[[kube_client.Configuration], Awaitable[None]]
_CONNECT_SECONDS = 10
_RELOAD_SECONDS = 5.0  # at least between two reloads of the credentials
_TOKEN_SECONDS = 60.0


class Transport:
    """Sends requests to one API server."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._client: kube_client.ApiClient | None = None
        self._retired: list[kube_client.ApiClient] = []
        self._loaded_at = -_RELOAD_SECONDS
        self._loading = asyncio.Lock()

    @classmethod
    def from_environment(cls, kubeconfig: str | None = None, context: str | None = None) -> Transport:
        """A kubeconfig by its path, by $KUBECONFIG or at its usual place; else the pod's service account."""
        usual = Path("~/.kube/config").expanduser()
        if kubeconfig or context or os.environ.get("KUBECONFIG") or usual.exists():
            path = kubeconfig or os.environ.get("KUBECONFIG") or str(usual)
            return cls(lambda into: _from_kubeconfig(into, path, context))
        if os.environ.get("KUBERNETES_SERVICE_HOST"):
            return cls(_from_service_account)
        raise ConfigError(
            "no cluster is configured: there is no ~/.kube/config, $KUBECONFIG is not set, and this is not a pod; "
            "name a kubeconfig with --kubeconfig"
        )

    @property
    def server(self) -> str:
        """The API server's URL; empty before the first request."""
        return str(self._client.configuration.host) if self._client else ""

    async def load(self) -> None:
        """Loads the credentials, so that what is wrong with them shows at once. Raises ConfigError."""
        await self._reload()

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        *,
        read_seconds: float,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The response to one request; it is closed at the end. `read_seconds` bounds the silence within it.

        Raises StatusError from 400 on, UnreachableError where there is no answer, ConfigError.
        """
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=read_seconds)
        try:
            response = await self._send(method, path, query, headers, timeout)
            if response.status == 401 and await self._reload():
                response.close()
                response = await self._send(method, path, query, headers, timeout)
            try:
                if response.status >= 400:
                    body = await response.content.read(65536)
                    raise StatusError.of(response.status, body, response.headers.get("Retry-After"))
                yield response
            finally:
                _drop(response)
        except aiohttp.ClientConnectorCertificateError as error:
            await self._reload()
            raise UnreachableError(f"{self.server} does not prove who it is: {error.certificate_error}") from error
        except TimeoutError as error:
            raise UnreachableError(f"no answer from {self.server} within {read_seconds:.0f} s") from error
        except (aiohttp.ClientError, OSError) as error:
            raise UnreachableError(f"no connection to {self.server}: {error or type(error).__name__}") from error

    async def close(self) -> None:
        for client in (*self._retired, *((self._client,) if self._client else ())):
            await client.close()
        self._client, self._retired = None, []

    async def _send(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]],
        headers: Mapping[str, str] | None,
        timeout: aiohttp.ClientTimeout,
    ) -> aiohttp.ClientResponse:
        if self._client is None:
            await self._reload()
        client = self._client
        if client is None:
            raise ConfigError("the credentials could not be loaded")
        request = await client.param_serialize(
            method,
            path,
            query_params=list(query),
            # Asked for gzip, the server packs and we unpack for nothing: half the cost of a list.
            header_params={"Accept": "application/json", "Accept-Encoding": "identity", **(headers or {})},
            auth_settings=["BearerToken"],
        )
        answer = await client.call_api(*request, _request_timeout=timeout)
        response: aiohttp.ClientResponse = answer.response
        return response

    async def _reload(self) -> bool:
        """Loads the credentials afresh, unless that was just done; whether they may differ now."""
        async with self._loading:
            if time.monotonic() - self._loaded_at < _RELOAD_SECONDS:
                return False
            self._loaded_at = time.monotonic()
            fresh = kube_client.Configuration()
            await self._loader(fresh)
            if self._client is not None:
                self._retired.append(self._client)  # its watches go on until they end, or until the next reload
            if len(self._retired) > 1:
                await self._retired.pop(0).close()
            self._client = kube_client.ApiClient(fresh)
            return True


def _drop(response: aiohttp.ClientResponse) -> None:
    """Ends a response. One that is cut short says no TLS goodbye: a frozen server would never answer it."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()
    response.close()


async def _from_service_account(into: kube_client.Configuration) -> None:
    try:
        kube_config.load_incluster_config(into)
    except ConfigException as error:
        raise ConfigError(f"the pod's service account can't be used: {error}") from error


async def _from_kubeconfig(into: kube_client.Configuration, path: str, context: str | None) -> None:
    try:
        loader = await kube_config.load_kube_config(path, context, into, persist_config=False)
    except (ConfigException, OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"kubeconfig {path} can't be used: {error}") from error
    user: Any = loader._user or {}
    if "exec" in user:
        if "BearerToken" not in into.api_key and not into.cert_file:
            raise ConfigError(
                f"kubeconfig {path}: the exec plugin {user['exec'].value.get('command')!r} gave no credentials; "
                "run it by hand to see why"
            )
        into.refresh_api_key_hook = _again_from_exec(loader)
    elif "tokenFile" in user:
        into.refresh_api_key_hook = _again_from_file(loader)


def _again_from_exec(loader: Any) -> Callable[[Any], Awaitable[None]]:
    async def hook(configuration: Any) -> None:
        # The loader runs the plugin only if what it gave before has expired.
        if hasattr(loader, "exec_plugin_expiry"):
            await loader.load_from_exec_plugin()
            configuration.api_key["BearerToken"] = loader.token

    return hook


def _again_from_file(loader: Any) -> Callable[[Any], Awaitable[None]]:
    read_at = time.monotonic()

    async def hook(configuration: Any) -> None:
        nonlocal read_at
        if time.monotonic() - read_at >= _TOKEN_SECONDS:
            read_at = time.monotonic()
            loader._load_user_token()
            configuration.api_key["BearerToken"] = loader.token

    return hook
