"""API servers with the CRDs, lent to one user after the other: each finds one with nothing in it.

A new one takes ten seconds of CPU, most of them for the CRDs; one that is put back to how it was takes a moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.cluster import resources
from tests.cluster.apiserver import ApiServer
from tests.cluster.custom_resources import crds, install
from tests.cluster.resources import Resource

from .apiserver import Change, touches

__all__ = ["Servers"]

_RESOURCES = [each for each in vars(resources).values() if isinstance(each, Resource)]


class Servers:
    """`make` gives one that does not run yet. `stop` ends those that nobody has."""

    def __init__(self, make: Callable[[], ApiServer]) -> None:
        self._make = make
        self._idle: list[ApiServer] = []

    @contextmanager
    def lent(self) -> Iterator[ApiServer]:
        """One that runs, with the CRDs and nothing besides. Whatever is done to it, the next one does not meet it."""
        server = self._ready()
        try:
            yield server
        finally:
            server.forget()
            self._idle.append(server)

    def stop(self) -> None:
        for server in self._idle:
            server.stop()
        self._idle.clear()

    def _ready(self) -> ApiServer:
        while self._idle:
            server = self._idle.pop()
            if _as_new(server):
                return server
            server.stop()
        return self._started()

    def _started(self) -> ApiServer:
        server = self._make()
        try:
            server.start()
            install(server.client(), crds())
            server.stored.note()
        except BaseException:
            server.stop()
            raise
        return server


def _as_new(server: ApiServer) -> bool:
    """Puts it back. False where it does not run, or has other kinds or rules than a new one."""
    change = server.stored.put_back() if server.running else None
    if change is None:
        return False
    _follows(server, change)
    server.forget()
    return True


def _follows(server: ApiServer, change: Change) -> None:
    """Returns when the server knows of it: a list of what is not older waits for that."""
    if not change.keys:
        return
    with server.client() as client:
        for resource in _RESOURCES:
            if touches(change, resource):
                client.list(resource, resourceVersion=change.revision, resourceVersionMatch="NotOlderThan", limit=1)
