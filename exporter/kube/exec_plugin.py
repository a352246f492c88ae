"""Runs the exec plugin of a kubeconfig: a program that prints credentials.

The one of the `kubernetes` package is not used: it waits for ever, for one pipe after the other, and leaves behind what
it started. A plugin here has no terminal and cannot ask for anything. What it prints is read up to a bound; at the end
of its time it is killed, with all that it started.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from .errors import MALFORMED, ConfigError

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
        raise ConfigError(f"{hint}: what it printed is not an ExecCredential: {error}") from error
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
