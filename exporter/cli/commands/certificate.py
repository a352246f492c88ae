"""`steward certificate`: a certificate of its own CA, for a steward that nobody gives one."""

from __future__ import annotations

import argparse
import asyncio
import os
import stat
from pathlib import Path

from ...kube.errors import KubeError
from ...kube.own_secret import OwnSecret
from ...kube.transport import Transport
from ...serve.server.certificates import AUTHORITY, CERTIFICATE, KEY, fits, made
from ..output.text.layout import sentence
from ..output.text.screen import width
from ..output.text.terminal import complain, say

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
