"""A steward over the sample fleet, with its sidecar, as `steward demo` starts them; without the story."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from types import TracebackType

from demo.apiserver.resources import Obj
from demo.apiserver.server import ApiServer, kubeconfig
from demo.fleet.catalogue import offered
from demo.fleet.networks import ground
from demo.fleet.sample import healthy_vms, sample_fleet
from demo.fleet.samples import complete
from demo.repairs import join
from exporter.app import assemble, serve, wait_until_seen
from exporter.config.settings import Config, MetricsSettings, ReconcileSettings
from exporter.engine.engine import Engine
from exporter.kube.transport import Transport

__all__ = ["SampleSteward", "healthy", "ill"]


def ill() -> list[Obj]:
    """The fleet of the demo, with all of its faults."""
    return sample_fleet(datetime.now(UTC)).objects


def healthy() -> list[Obj]:
    """Its VMs without a fault, and nothing else but what they stand on."""
    now = datetime.now(UTC)
    well = chain.from_iterable(complete(sample) for sample in healthy_vms(now))
    return [*ground(now), *offered(now).values(), *well]


class SampleSteward:
    """One in a thread of its own; `with` starts and ends it. It has seen everything once it is entered."""

    def __init__(self, objects: list[Obj], folder: Path) -> None:
        self._objects, self._folder = objects, folder
        self._up, self._end = threading.Event(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="sample steward", daemon=True)
        self.exporter = self.sidecar = ""  # host:port

    def __enter__(self) -> SampleSteward:
        self._thread.start()
        self._up.wait(60)
        if self._error:
            raise self._error
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._loop and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(30)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # noqa: BLE001 # reported to the test's thread
            self._error = error
        finally:
            self._up.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        engine: asyncio.Future[Engine] = self._loop.create_future()
        server = ApiServer()
        await server.start()
        server.load(self._objects)
        path = kubeconfig(self._folder, server.url)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(server.stop)
            part = await stack.enter_async_context(join(path, engine))
            config = Config(reconcile=ReconcileSettings(url=part.url), metrics=MetricsSettings(firmware_uuid_info=True))
            steward = assemble(Transport.from_environment(str(path)), config)
            engine.set_result(steward.engine)
            url = await stack.enter_async_context(serve(steward, "127.0.0.1", 0))
            assert await wait_until_seen(steward, 30)
            self.exporter, self.sidecar = url.removeprefix("http://"), part.url.removeprefix("http://")
            self._up.set()
            await self._end.wait()
