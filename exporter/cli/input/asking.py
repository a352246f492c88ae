"""Asks a steward that runs: which one, with whose token, and what it means where it refuses."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from ...facts.nesting import misfit
from ...kube.errors import MALFORMED, refusal_of
from ...kube.get_json import Connection, GetError, JSONServer, Query
from .config import configured
from .filters import UsageError

SECONDS = 30.0
_BYTES = 256 * 2**20  # of some hundred thousand findings
_PLUGIN_SECONDS = 60.0  # to log somebody in, in a browser maybe
_GIVE = "--exporter takes the address of a steward's page; `kubectl port-forward` makes one of a steward in a cluster"
_CA = "--ca-file names its CA (ca.crt of Secret steward-exporter-tls), --server-name the host that it is for"
_MADE = ", as `kubectl create token` prints it"
T = TypeVar("T")


def refuse_both(arguments: argparse.Namespace) -> None:
    """Raises UsageError where a running steward is named, and something else to look at."""
    if arguments.exporter and arguments.dump:
        raise UsageError("--exporter asks a running steward, and --from reads a dump; give one of them")
    for name in ("token_file", "ca_file", "server_name"):
        if getattr(arguments, name) and not arguments.exporter:
            raise UsageError(f"--{name.replace('_', '-')} is for a running steward; it needs --exporter")


@dataclass(frozen=True)
class Asked:
    """A steward, as long as the connection to it is kept open."""

    server: JSONServer
    connection: Connection

    async def get(self, path: str, of: type[T], query: Query = (), seconds: float = SECONDS) -> T:
        """What it answers. Raises UsageError for a refusal, and for what is no answer of a steward."""
        try:
            answer = await self.connection.get(path, query, seconds=seconds)
            return msgspec.json.decode(answer.body, type=of)
        except GetError as error:
            raise UsageError(_why(self.server, error)) from error
        except MALFORMED as error:
            why = f"answers {path} otherwise than a steward of this release: {misfit(error)}"
            raise UsageError(f"{self.server.url} {why}; {_GIVE}") from error


async def answer_of(arguments: argparse.Namespace, path: str, of: type[T], query: Query = ()) -> T:
    """What the steward that the arguments name answers at a path. Raises UsageError."""
    refuse_both(arguments)
    async with asking(arguments) as steward:
        return await steward.get(path, of, query)


@asynccontextmanager
async def asking(arguments: argparse.Namespace) -> AsyncIterator[Asked]:
    """Raises UsageError, and ConfigError for a kubeconfig that can't be used."""
    server = await _server(arguments, arguments.exporter.rstrip("/"))
    try:
        async with server.connected(_BYTES) as connection:
            yield Asked(server, connection)
    except GetError as error:
        raise UsageError(_why(server, error)) from error


async def _server(arguments: argparse.Namespace, url: str) -> JSONServer:
    """With the token of the options, else that of the kubeconfig: over TLS alone, by which the server is known."""
    ca, name = str(arguments.ca_file or ""), arguments.server_name or ""
    if arguments.token_file or not url.startswith("https:"):
        return JSONServer(url, str(arguments.token_file or ""), ca, name)
    from ...kube.credentials import identity_from_environment  # the Kubernetes client is dear to import

    config = configured(arguments).config
    own = await identity_from_environment(config.kubeconfig, config.context, _PLUGIN_SECONDS)
    return JSONServer(url, "", ca, name, own.token, own.ca_file)


def _why(server: JSONServer, error: GetError) -> str:
    if error.status == 401 and not (server.token_file or server.token):
        return f"{server.url} needs a token (401), and your kubeconfig has none; give one with --token-file{_MADE}"
    if error.status == 401:
        return f"{server.url} does not accept the token (401); log in again, or give one with --token-file{_MADE}"
    if error.status == 403:
        return f"{server.url} does not let you see that (403): {error.said or error}"
    if error.status or error.said:
        return error.said or f"{error}; {_GIVE}"
    return _unreachable(server, error)


def _unreachable(server: JSONServer, error: GetError) -> str:
    untrusted = getattr(error.__cause__, "certificate_error", None)
    if untrusted is not None:
        why = getattr(untrusted, "verify_message", "") or str(untrusted)
        return f"the certificate of {server.url} can't be verified: {why}; {_CA}"
    why = refusal_of(error)
    return f"{server.url} is not reachable: {why}; {_GIVE}" if why else str(error)
