"""The listen address of commands, and how they end on a signal."""

from __future__ import annotations

import asyncio
import errno
import signal
import socket
from collections.abc import Coroutine
from typing import Any

from ..output.text.terminal import complain

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
