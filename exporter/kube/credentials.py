"""Address of the API server and credentials, from a kubeconfig or a pod's ServiceAccount, by the `kubernetes` package.

Loaded once, and reloaded when the transport asks for it. In between tokens are refreshed: those of a ServiceAccount and
of a `tokenFile` are read every minute, an exec plugin runs again when its credentials expire soon.

Every failure is a ConfigError of one sentence. Not here: certificates that change on disk; those need a reload.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import msgspec
import yaml
from kubernetes.aio import client as kube_client
from kubernetes.aio.config import incluster_config
from kubernetes.aio.config.config_exception import ConfigException
from kubernetes.aio.config.kube_config import (
    ConfigNode,
    FileOrData,
    KubeConfigLoader,
    KubeConfigMerger,
    _is_expired,
    parse_rfc3339,
)

from .errors import MALFORMED, ConfigError

# Runs the exec plugin of a kubeconfig: a program that prints credentials.
#
# The one of the `kubernetes` package is not used: it waits for ever, for one pipe after the other, and leaves behind
# what it started. A plugin here has no terminal and cannot ask for anything. What it prints is read up to a bound; at
# the end of its time it is killed, with all that it started.

_OUTPUT_BYTES = 2**20
_ERROR_BYTES = 2**16
_SHOWN = 300  # characters of what it wrote to standard error


class Credentials(msgspec.Struct, frozen=True, rename="camel"):
    """The `status` of an ExecCredential; certificate and key are PEM."""

    token: str | None = None
    expiration_timestamp: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: Credentials


class _TooMuchError(Exception):
    pass


async def run(plugin: Mapping[str, Any], seconds: float) -> Credentials:
    """`plugin` is the `exec` of a kubeconfig's user.

    Raises ConfigError, whose text goes on behind "the exec plugin".
    """
    try:
        command, version = str(plugin["command"]), str(plugin["apiVersion"])
        words = [command, *(str(word) for word in plugin.get("args") or ())]
        given = {str(each["name"]): str(each["value"]) for each in plugin.get("env") or ()}
    except (KeyError, TypeError) as error:
        raise ConfigError(f"has no command or apiVersion, or its args or env can't be read: {error}") from error
    info = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    environment = {**os.environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    hint = f"{command!r} returned no credentials; run it by hand to see why"
    try:
        code, output, said = await _finished(words, environment, seconds)
    except TimeoutError as error:
        raise ConfigError(f"{command!r} returned no credentials within {seconds:g} s and was ended") from error
    except _TooMuchError as error:
        raise ConfigError(f"{command!r} printed more than {_OUTPUT_BYTES} bytes and was ended") from error
    except (OSError, ValueError) as error:
        raise ConfigError(f"{hint}: {error}") from error
    if code:
        shown = " ".join(said.decode("utf-8", "replace").split())[:_SHOWN]
        raise ConfigError(f"{hint}: it ended with exit code {code}{f', and said: {shown}' if shown else ''}")
    try:
        answer = msgspec.json.decode(output, type=_ExecCredential)
    except MALFORMED as error:
        raise ConfigError(f"{hint}: its output is not an ExecCredential: {error}") from error
    if answer.api_version != version:
        raise ConfigError(f"{hint}: it answered with apiVersion {answer.api_version[:64]!r} instead of {version!r}")
    return answer.status


async def _finished(words: list[str], environment: Mapping[str, str], seconds: float) -> tuple[int, bytes, bytes]:
    """Exit code, and what it wrote to standard output and error."""
    process = await asyncio.create_subprocess_exec(
        *words,
        env=environment,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    said = asyncio.create_task(_drained(process.stderr))
    ended = False
    try:
        async with asyncio.timeout(seconds):
            output = await _bounded(process.stdout)
            code = await process.wait()
            # Something that it started may hold standard error open for long.
            why = await said if code else b""
            ended = True
            return code, output, why
    finally:
        said.cancel()
        if not ended:
            _kill(process)
        process._transport.close()  # type: ignore[attr-defined] # forgets pipes that others hold open: no public way
        await process.wait()


async def _bounded(stream: asyncio.StreamReader) -> bytes:
    output = bytearray()
    while piece := await stream.read(2**16):
        output += piece
        if len(output) > _OUTPUT_BYTES:
            raise _TooMuchError
    return bytes(output)


async def _drained(stream: asyncio.StreamReader) -> bytes:
    """The beginning of a stream, which is read to its end: who writes to a full pipe waits."""
    beginning = bytearray()
    while piece := await stream.read(2**16):
        beginning += piece[: _ERROR_BYTES - len(beginning)]
    return bytes(beginning)


def _kill(process: asyncio.subprocess.Process) -> None:
    """Ends the process and its group."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


log = logging.getLogger(__name__)

Loader = Callable[[kube_client.Configuration], Awaitable[None]]
_PLUGIN_AGAIN_SECONDS = 10.0  # after an exec plugin failed while its last credentials may still be valid
_LOAD_SECONDS = 5.0  # of loading a kubeconfig, besides its plugin


def loader_from_environment(
    kubeconfig: str | None, context: str | None, token_seconds: float, plugin_seconds: float
) -> Loader:
    """The kubeconfig at the path, in $KUBECONFIG or at the default path; else the pod's ServiceAccount.

    Token files are read every `token_seconds`; an exec plugin is ended after `plugin_seconds`.
    """
    if path := _path_of(kubeconfig, context):

        async def load(into: kube_client.Configuration) -> None:
            await _from_kubeconfig(into, path, context, token_seconds, plugin_seconds)

    elif os.environ.get("KUBERNETES_SERVICE_HOST"):

        async def load(into: kube_client.Configuration) -> None:
            _from_service_account(into, token_seconds)

    else:
        raise ConfigError(
            "no cluster is configured: there is no ~/.kube/config, $KUBECONFIG is not set, and this is not a pod. "
            "Set one with --kubeconfig"
        )
    return load


def namespace_from_environment(kubeconfig: str | None, context: str | None) -> str:
    """That of the context, as kubectl takes it: `default` where it names none. Raises ConfigError."""
    path = _path_of(kubeconfig, context)
    if not path:
        return "default"
    try:
        namespace = _opened(path, context)._current_context["context"].safe_get("namespace")
    except _UNUSABLE as error:
        raise ConfigError(f"kubeconfig {path} can't be used: {_why(error)}") from error
    return str(namespace or "default")


def _path_of(kubeconfig: str | None, context: str | None) -> str:
    """Of the kubeconfig that is used; empty where none is."""
    default = Path("~/.kube/config").expanduser()
    used = kubeconfig or context or os.environ.get("KUBECONFIG") or default.exists()
    return str(kubeconfig or os.environ.get("KUBECONFIG") or default) if used else ""


class ServerAccess(NamedTuple):
    """The bearer token that the API server gets, and the file of the CAs that its certificate is verified by; empty for
    none.
    """

    token: str
    ca_file: str


async def identity_from_environment(kubeconfig: str | None, context: str | None, plugin_seconds: float) -> ServerAccess:
    """As `kubectl` would send it; neither where no cluster is configured. Raises ConfigError."""
    try:
        load = loader_from_environment(kubeconfig, context, 0.0, plugin_seconds)
    except ConfigError:
        return ServerAccess("", "")
    configuration = kube_client.Configuration()
    await load(configuration)
    token = configuration.api_key.get("BearerToken", "").strip().removeprefix("Bearer ").strip()
    return ServerAccess(token, str(configuration.ssl_ca_cert or ""))


def _from_service_account(into: kube_client.Configuration, token_seconds: float) -> None:
    loader = incluster_config.InClusterConfigLoader(
        incluster_config.SERVICE_TOKEN_FILENAME, incluster_config.SERVICE_CERT_FILENAME, try_refresh_token=False
    )
    try:
        loader.load_and_set(into)
    except (ConfigException, OSError, ValueError) as error:
        raise ConfigError(f"the pod's ServiceAccount can't be used: {error}") from error
    into.refresh_api_key_hook = _refresh_from_file(loader, loader._read_token_file, token_seconds)
    _set_proxy(into)


async def _from_kubeconfig(
    into: kube_client.Configuration, path: str, context: str | None, token_seconds: float, plugin_seconds: float
) -> None:
    longest = plugin_seconds + _LOAD_SECONDS
    try:
        loader = _opened(path, context)
        loader.load_from_exec_plugin = partial(_load_from_plugin, loader, path, plugin_seconds)
        async with asyncio.timeout(longest):
            await loader.load_and_set(into)
    except TimeoutError as error:
        raise ConfigError(f"kubeconfig {path}: no credentials within {longest:.0f} s") from error
    except _UNUSABLE as error:
        raise ConfigError(f"kubeconfig {path} can't be used: {_why(error)}") from error
    user: Any = loader._user
    if "exec" in user:
        if "BearerToken" not in into.api_key and not into.cert_file:
            raise ConfigError(
                f"kubeconfig {path}: the exec plugin {user['exec'].safe_get('command')!r} returned no credentials; "
                "run it by hand to see why"
            )
        into.refresh_api_key_hook = _refresh_from_exec(loader)
    elif "tokenFile" in user:
        into.refresh_api_key_hook = _refresh_from_file(loader, loader._load_user_token, token_seconds)
    _set_proxy(into)


_UNUSABLE = (ConfigException, yaml.YAMLError, OSError, ValueError, TypeError, KeyError, AttributeError)


def _why(error: Exception) -> str:
    if isinstance(error, TypeError | KeyError | AttributeError):
        return "it does not have the shape of a kubeconfig"
    return " ".join(str(error).removeprefix("Invalid kube-config file. ").split())


def _opened(path: str, context: str | None) -> Any:
    if not any(Path(each).expanduser().is_file() for each in path.split(os.pathsep) if each):
        raise ConfigError(f"kubeconfig {path} can't be used: there is no such file")
    config = KubeConfigMerger(path).config
    if context and context not in (there := [str(each["name"]) for each in config["contexts"].value]):
        raise ConfigError(f"kubeconfig {path} has no context {context!r}; it has {', '.join(sorted(there)) or 'none'}")
    loader = KubeConfigLoader(config, active_context=context, config_base_path=None)
    if not loader._cluster.safe_get("server"):
        raise ConfigError(f"kubeconfig {path} can't be used: its cluster has no server")
    if loader._user is None:
        if name := loader._current_context["context"].safe_get("user"):
            raise ConfigError(f"kubeconfig {path} can't be used: its context refers to user {name!r}, which it lacks")
        loader._user = ConfigNode("user", {}, loader._cluster.path)  # no user; the library fails on None
    return loader


def _set_proxy(into: kube_client.Configuration) -> None:
    """The proxy of the kubeconfig, else of the environment. Credentials in ~/.netrc are ignored."""
    host = urlsplit(into.host)
    if not into.proxy and not proxy_bypass(host.hostname or ""):
        into.proxy = getproxies().get(host.scheme)
    into.client_session_kwargs = {"trust_env": False, "auto_decompress": False}  # get_json.py does it, within bounds


async def _load_from_plugin(loader: Any, path: str, seconds: float) -> bool:
    """Stands in for the loader's own. Runs the plugin only if its credentials expire soon. Raises ConfigError."""
    if hasattr(loader, "exec_plugin_expiry") and not _is_expired(loader.exec_plugin_expiry):
        return True
    try:
        got = await run(loader._user["exec"].value, seconds)
    except ConfigError as error:
        raise ConfigError(f"kubeconfig {path}: the exec plugin {error}") from error
    if got.token:
        loader.token = f"Bearer {got.token}"
        if got.expiration_timestamp:
            loader.exec_plugin_expiry = parse_rfc3339(got.expiration_timestamp)
    elif got.client_certificate_data and got.client_key_data:
        loader.cert_file = _in_a_file(got.client_certificate_data)
        loader.key_file = _in_a_file(got.client_key_data)
    return True


def _in_a_file(pem: str) -> Any:
    return FileOrData({"pem": pem}, None, data_key_name="pem", base64_file_content=False).as_file()


def _refresh_from_exec(loader: Any) -> Callable[[Any], Awaitable[None]]:
    running = asyncio.Lock()  # many requests may find the token expired at once
    failed_at = -_PLUGIN_AGAIN_SECONDS

    async def hook(configuration: Any) -> None:
        nonlocal failed_at
        async with running:
            if not hasattr(loader, "exec_plugin_expiry") or time.monotonic() - failed_at < _PLUGIN_AGAIN_SECONDS:
                return
            try:
                await loader.load_from_exec_plugin()
            except (ConfigError, *_UNUSABLE) as error:
                failed_at = time.monotonic()
                log.warning('event="token refresh failed" why="%s"', error)  # the present one may still be valid
                return
            configuration.api_key["BearerToken"] = loader.token

    return hook


def _refresh_from_file(loader: Any, read: Callable[[], object], seconds: float) -> Callable[[Any], Awaitable[None]]:
    read_at = time.monotonic()

    async def hook(configuration: Any) -> None:
        nonlocal read_at
        if time.monotonic() - read_at < seconds:
            return
        read_at = time.monotonic()
        try:
            read()
        except (ConfigException, OSError, ValueError) as error:
            log.warning('event="token refresh failed" why="%s"', error)  # the present one may still be valid
            return
        configuration.api_key["BearerToken"] = loader.token

    return hook
