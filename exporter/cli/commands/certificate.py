"""`steward certificate`: a certificate of its own CA, for a steward that nobody gives one.

In a Job it reads and writes the one Secret that somebody named; `steward serve` reads none. The Secret is there before,
empty: RBAC can't say which name may be created, but which one may be changed.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import binascii
import os
import stat
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ...kube.errors import MALFORMED, KubeError, MalformedError
from ...kube.get_json import whole
from ...kube.transport import Transport
from ...serve.server.certificates import AUTHORITY, CERTIFICATE, KEY, fits, made
from ..output.text.layout import sentence
from ..output.text.screen import width
from ..output.text.terminal import complain, say

_BYTES = 2**21  # the API server takes a MiB of data, which is longer as base64
_SECONDS = 30.0
_PATCH = {"Content-Type": "application/merge-patch+json"}
_MANAGER = (("fieldManager", "steward-certificate"),)


class _Meta(msgspec.Struct, frozen=True, rename="camel"):
    resource_version: str = ""


class _Secret(msgspec.Struct, frozen=True):
    metadata: _Meta
    data: dict[str, str] | None = None


class OwnSecret:
    def __init__(self, transport: Transport, namespace: str, name: str) -> None:
        self._transport = transport
        self._path = f"/api/v1/namespaces/{namespace}/secrets/{name}"
        self._version = ""

    async def read(self) -> dict[str, bytes]:
        """Its data, by key. Raises KubeError."""
        async with self._transport.open("GET", self._path, read_seconds=_SECONDS) as response:
            content = await whole(response, _BYTES)
        try:
            found = msgspec.json.decode(content, type=_Secret)
            data = {key: base64.b64decode(value, validate=True) for key, value in (found.data or {}).items()}
        except (*MALFORMED, binascii.Error) as error:
            raise MalformedError(f"the Secret can't be decoded: {error}") from error
        self._version = found.metadata.resource_version
        return data

    async def write(self, data: Mapping[str, bytes]) -> None:
        """Sets these keys, if it is still as it was read. Raises KubeError, with code 409 where it is not."""
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        body = {"metadata": {"resourceVersion": self._version}, "data": encoded}
        async with self._transport.open(
            "PATCH", self._path, _MANAGER, _PATCH, read_seconds=_SECONDS, body=body
        ) as response:
            await whole(response, _BYTES)


_ALWAYS = ("localhost", "127.0.0.1", "::1")
_FILES = (KEY, CERTIFICATE, AUTHORITY)


def run(arguments: argparse.Namespace) -> int:
    names = tuple(dict.fromkeys((*arguments.name, *_ALWAYS)))
    where = f"Secret {'/'.join(arguments.secret)}" if arguments.secret else str(arguments.directory)
    try:
        if arguments.secret:
            written = asyncio.run(_in_secret(arguments, names))
        else:
            written = _in_directory(arguments.directory, names)
    except OSError as error:
        complain(f"cannot write the certificate to {where}: {error.strerror or error}")
        return 2
    except KubeError as error:
        complain(f"cannot write the certificate to {where}: {error}")
        return 2
    if written:
        say(sentence(f"Wrote ca.crt, tls.crt and tls.key for {', '.join(names)} to {where}.", "", width()))
    else:
        say(f"The certificate in {where} is valid; it stays.\n")
    return 0


async def _in_secret(arguments: argparse.Namespace, names: tuple[str, ...]) -> bool:
    """Whether it was written. Raises KubeError."""
    transport = Transport.from_environment(arguments.kubeconfig, arguments.context)
    try:
        secret = OwnSecret(transport, *arguments.secret)
        if fits(await secret.read(), names):
            return False
        await secret.write(made(names))
    finally:
        await transport.close()
    return True


def _in_directory(directory: Path, names: tuple[str, ...]) -> bool:
    """Whether it was written. Raises OSError."""
    if _fine(directory, names):
        return False
    files = made(names)
    directory.mkdir(parents=True, exist_ok=True)
    for name in _FILES:
        _replace(directory / name, files[name], 0o600 if name == KEY else 0o644)
    return True


def _fine(directory: Path, names: tuple[str, ...]) -> bool:
    """Whether what is there can stay. What can't be read, or is something else, can't."""
    try:
        return _of_nobody_else(directory / KEY) and fits(
            {each: (directory / each).read_bytes() for each in _FILES}, names
        )
    except OSError:
        return False


def _of_nobody_else(key: Path) -> bool:
    """Whether nobody else wrote the key, or can read it. What its group can is up to the volume that it is in."""
    found = key.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & stat.S_IRWXO


def _replace(file: Path, content: bytes, mode: int) -> None:
    """Whole, or as it was. Nobody else can read it before it has its mode."""
    new = file.with_name(f".{file.name}.new")
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as opened:
        os.fchmod(opened.fileno(), mode)
        opened.write(content)
    new.replace(file)
