"""Follows a configuration file: reloads it when it changes, and on SIGHUP."""

from __future__ import annotations

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

from ...config.reloading import Reloading, Watched
from ..output.text.terminal import complain

log = logging.getLogger(__name__)
LOOK = 2.0  # seconds; a change counts once two reads agree


def ignore_hangup() -> None:
    """Until it is listened to; by default the signal would end the process."""
    signal.signal(signal.SIGHUP, lambda *_: None)


async def following(reloading: Reloading[Any], file: Path | None, *, look: float = LOOK) -> None:
    """Does not return; polls every `look` seconds."""
    asked = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, asked.set)
    try:
        if file is None:
            await _refuse(asked)
            return
        watched = Watched(file, reloading.status.digest)
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(asked.wait(), look)
            if asked.is_set() or watched.changed():
                asked.clear()
                reloading.now()
    finally:
        loop.remove_signal_handler(signal.SIGHUP)


async def _refuse(asked: asyncio.Event) -> None:
    while True:
        await asked.wait()
        asked.clear()
        log.warning('event="nothing to reload" why="there is no configuration file; name one with --config"')


# The listen address of commands, and how they end on a signal.

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
