"""Replicas that elect a leader, in one process: each with clocks and a connection of its own, and watched all along."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp

from exporter.kube.clocks import boottime
from exporter.kube.errors import UnreachableError
from exporter.kube.sending import Sending
from exporter.kube.transport import Transport
from reconcile.carry_out.lease import Election

__all__ = ["Cable", "Clock", "Replica", "Replicas", "electing"]

PATIENCE = 60.0


class Clock:
    """Goes at the usual speed until it is stopped, and can be put forward."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._stopped: float | None = None

    def __call__(self) -> float:
        return (boottime() if self._stopped is None else self._stopped) + self._ahead

    def stop(self) -> None:
        """From now on it moves only where it is put forward."""
        self._stopped = boottime()

    def advance(self, seconds: float) -> None:
        self._ahead += seconds


class Cable(Transport):
    """A connection that can be cut, or that loses the answers, or that holds requests back."""

    down = False
    deaf = False

    def hold_back(self) -> asyncio.Event:
        """The next write reaches the API server only when the event is set, and whoever sent it hears nothing."""
        self._held = asyncio.Event()
        return self._held

    _held: asyncio.Event | None = None
    late: asyncio.Task[str] | None = None

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        headers: Mapping[str, str] | None = None,
        *,
        read_seconds: float,
        body: Mapping[str, Any] | Sequence[Any] | None = None,
        sending: Sending | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        if self.down:
            raise UnreachableError("no connection: the cable is cut")
        if self._held is not None and body is not None:
            event, self._held = self._held, None
            self.late = asyncio.create_task(self._later(event, method, path, body))
            raise UnreachableError("no response: it is on its way for long")
        opened = super().open(method, path, query, headers, read_seconds=read_seconds, body=body, sending=sending)
        async with opened as response:
            if self.deaf:
                raise UnreachableError("no response: the answer is lost")
            yield response

    async def _later(
        self, event: asyncio.Event, method: str, path: str, body: Mapping[str, Any] | Sequence[Any]
    ) -> str:
        await event.wait()
        try:
            async with super().open(method, path, read_seconds=10, body=body) as response:
                return str(response.status)
        except Exception as error:  # noqa: BLE001 # the test looks at it
            return str(error)


class Replica:
    def __init__(self, transport: Cable, election: Election) -> None:
        self.transport, self.election = transport, election
        self._running = asyncio.create_task(election.run())

    async def until(self, holds: Callable[[Election], object], what: str) -> None:
        """Waits for the election to notify of it."""
        election = self.election
        try:
            async with asyncio.timeout(PATIENCE), election.changed:
                await election.changed.wait_for(lambda: holds(election))
        except TimeoutError as error:
            state = f"leading={election.leading} leader={election.leader!r} problem={election.problem!r}"
            raise AssertionError(f"waited in vain for this: {what}; {state}") from error

    async def end(self) -> None:
        if not self._running.done():
            self._running.cancel()
        with suppress(asyncio.CancelledError):
            await self._running
        await self.transport.close()


class Replicas:
    def __init__(self, kubeconfig: Path, **options: Any) -> None:
        self._kubeconfig, self._options = str(kubeconfig), options
        self.clock = Clock()
        self.all: list[Replica] = []
        self.instants = 0
        self.most = 0

    def start(self, identity: str, **options: Any) -> Replica:
        transport = Cable.from_environment(self._kubeconfig)
        assert isinstance(transport, Cable)
        given: dict[str, Any] = (
            {"namespace": "steward", "name": "steward", "clock": self.clock} | self._options | options
        )
        replica = Replica(transport, Election(transport, identity=identity, **given))
        self.all.append(replica)
        return replica

    def leading(self) -> list[Replica]:
        return [each for each in self.all if each.election.leading]

    async def one_leads(self, *, but: Sequence[Replica] = (), speed: float = 100) -> Replica:
        """Lets time pass, at a multiple of its speed, until another than these leads."""
        async with asyncio.timeout(PATIENCE):
            while not (found := [each for each in self.leading() if each not in but]):
                await asyncio.sleep(0.01)
                self.clock.advance(0.01 * (speed - 1))
        return found[0]

    async def led_by(self, *identities: str, **options: Any) -> list[Replica]:
        """Starts replicas of which the first one leads, and the others know."""
        first = self.start(identities[0], **options)
        await self.one_leads()
        others = [self.start(identity, **options) for identity in identities[1:]]
        for each in others:
            await each.until(lambda election: election.leader == identities[0], "it knows the leader")
        return [first, *others]

    async def watch(self) -> None:
        while True:
            self.instants += 1
            self.most = max(self.most, len(self.leading()))
            await asyncio.sleep(0.002)


@asynccontextmanager
async def electing(kubeconfig: Path, **options: Any) -> AsyncIterator[Replicas]:
    """At its end it is known that at no instant two of them led."""
    replicas = Replicas(kubeconfig, **options)
    watching = asyncio.create_task(replicas.watch())
    try:
        yield replicas
    finally:
        for each in replicas.all:
            await each.end()
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
    assert replicas.instants
    assert replicas.most <= 1, f"{replicas.most} replicas led at once"
