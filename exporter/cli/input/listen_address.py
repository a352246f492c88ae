"""The listen address of commands, and how they end on a signal."""

from __future__ import annotations

import argparse
import asyncio
import errno
import signal
import socket
from collections.abc import Coroutine
from typing import Any

from ...config.forms import address
from ...config.settings import Config
from ..output.terminal import complain

__all__ = ["add_insecure_option", "add_listen_option", "run_until_signalled"]


def add_listen_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        type=_address,
        help=f"default: {Config().listen}",
    )


def add_insecure_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--insecure",
        action="store_const",
        const="true",
        help="serve plain HTTP without tokens: whoever reaches it can read everything",
    )


def _address(text: str) -> str:
    try:
        address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


_UNLISTENABLE = (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES)


def run_until_signalled(main: Coroutine[Any, Any, int]) -> int:
    """Runs a command; Ctrl-C and SIGTERM end it gracefully, with exit code 0."""

    async def guarded() -> int:
        task = asyncio.ensure_future(main)
        loop = asyncio.get_running_loop()
        for each in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(each, task.cancel)
        try:
            return await task
        except asyncio.CancelledError:
            return 0

    try:
        return asyncio.run(guarded())
    except OSError as error:
        if error.errno not in _UNLISTENABLE and not isinstance(error, socket.gaierror):
            raise
        complain(f"cannot listen: {error.strerror}; choose another address with --listen")
        return 1
