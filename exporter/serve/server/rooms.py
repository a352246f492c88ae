"""How many requests of one user are answered at once: whoever opens many connections can't keep the others out."""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from aiohttp import web

_OWNER = web.RequestKey[Hashable]("owner")
_ROOMS = web.RequestKey["SharedPlaces"]("rooms")


class NoPlaceError(Exception):
    """While a request waited for its client others have taken all places."""


class SharedPlaces:
    """One room for each owner, of the same size."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._inside: Counter[Hashable] = Counter()

    def enter(self, owner: Hashable) -> bool:
        """Whether there was a place; whoever got one has to leave."""
        if self._inside[owner] >= self._most:
            return False
        self._inside[owner] += 1
        return True

    def leave(self, owner: Hashable) -> None:
        self._inside[owner] -= 1
        if not self._inside[owner]:
            del self._inside[owner]


def take(request: web.BaseRequest, rooms: SharedPlaces, owner: Hashable) -> bool:
    """A place for a request, until it is answered; False where there is none."""
    if not rooms.enter(owner):
        return False
    request[_OWNER], request[_ROOMS] = owner, rooms
    return True


def leave(request: web.BaseRequest) -> None:
    """Gives back its place, if it has one."""
    if _ROOMS in request:
        request.pop(_ROOMS).leave(request[_OWNER])


@contextmanager
def outside(request: web.BaseRequest) -> Iterator[None]:
    """Its place, if it has one, is free for others meanwhile. Raises NoPlaceError where there is none afterwards."""
    rooms = request.get(_ROOMS)
    leave(request)
    yield
    if rooms is not None and not take(request, rooms, request[_OWNER]):
        raise NoPlaceError


def owner_of(request: web.BaseRequest) -> Hashable | None:
    """Whose request it is; None where nobody is asked who they are."""
    return request.get(_OWNER)


# File descriptors: how many of them connections may take, and what is logged when there are none left.

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
