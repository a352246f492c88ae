"""File descriptors: how many of them connections may take, and what is logged when there are none left."""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

log = logging.getLogger(__name__)
_MOST = 256  # with TLS each one takes half a megabyte
_EVERY = 60.0  # seconds between two log lines


def most_connections() -> int:
    """A quarter of the descriptors: the watches, files and connections just accepted need some, too."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MOST if soft == resource.RLIM_INFINITY else max(4, min(_MOST, soft // 4))


@contextmanager
def quiet_about_descriptors(loop: asyncio.AbstractEventLoop) -> Iterator[None]:
    """While entered, that no connection can be accepted is logged once a minute, not at each of many tries."""
    before, last = loop.get_exception_handler(), -_EVERY

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        nonlocal last
        if "accept()" not in context.get("message", ""):
            (before or type(loop).default_exception_handler)(loop, context)
        elif time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            log.error("connections can't be accepted: why=%s descriptors=%d", context.get("exception"), soft)

    loop.set_exception_handler(handle)
    try:
        yield
    finally:
        loop.set_exception_handler(before)
