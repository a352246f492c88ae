"""The sample fleet, its API server and a steward of it, in one process, with what takes part beside it."""

from __future__ import annotations

import argparse
import asyncio
import errno
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from exporter.app import Steward, assemble, serve, wait_until_seen
from exporter.cli.input.serving import run_until_signalled
from exporter.cli.output.text.terminal import one_line, say
from exporter.config.forms import address
from exporter.config.settings import Config, ReconcileSettings
from exporter.engine.engine import Engine
from exporter.kube.transport import Transport
from exporter.questions.times import rfc3339

from .apiserver.server import ApiServer, kubeconfig
from .fleet.sample import sample_fleet
from .fleet.trouble import Trouble
from .repairs import join
from .story import Say, play

_SHORT = {"VirtualMachine": "VM", "VirtualMachineInstance": "VMI", "PodDisruptionBudget": "PDB"}
_NAME = 30  # characters of a name that are shown


class DemoPart(Protocol):
    """What takes part in the demo beside the exporter."""

    @property
    def url(self) -> str:
        """Of the repairs that the exporter shows with its findings, as in `reconcile.url`."""

    def commands(self, exporter: str) -> Iterable[str]:
        """What to try, as lines for a shell; `exporter` is its URL."""

    async def play(self, exporter: str, say: Say, pace: float) -> None:
        """Its story, once, with so many seconds between two steps."""


Joining = Callable[[Path, Awaitable[Engine]], AbstractAsyncContextManager[DemoPart]]
"""Makes a part of a kubeconfig and the engine to come; it is at work while entered."""


def run(arguments: argparse.Namespace) -> int:
    return run_until_signalled(_demo(arguments))


async def _demo(arguments: argparse.Namespace) -> int:
    listen = address(arguments.listen or Config().listen)
    await demo(listen, arguments.pace, [join])
    return 0


async def demo(listen: tuple[str, int], pace: float, joining: Iterable[Joining]) -> None:
    """Serves the sample fleet and plays its story, and once those of the parts; cancel it to end it."""
    fleet = sample_fleet(datetime.now(UTC))
    engine: asyncio.Future[Engine] = asyncio.get_running_loop().create_future()
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(_sample_cluster())
        server.load(fleet.objects)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="steward-demo-")))
        path = kubeconfig(folder, server.url)
        parts = [await stack.enter_async_context(join(path, engine)) for join in joining]
        config = Config(reconcile=ReconcileSettings(url=parts[0].url)) if parts else Config()
        steward = assemble(Transport.from_environment(str(path)), config)
        engine.set_result(steward.engine)
        url = await _serve(stack, steward, *listen)
        await wait_until_seen(steward, 30)
        _say_what_to_look_at(url, folder, fleet.troubles, [each for part in parts for each in part.commands(url)])
        await asyncio.gather(play(server, _say_when, pace), *(part.play(url, _say_when, pace) for part in parts))


@asynccontextmanager
async def _sample_cluster() -> AsyncIterator[ApiServer]:
    server = ApiServer()
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


async def _serve(stack: AsyncExitStack, steward: Steward, host: str, port: int) -> str:
    """Serves on the port, or on a free one where that is taken."""
    try:
        return await stack.enter_async_context(serve(steward, host, port, "kubevirt-steward demo"))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        _say(f"Port {port} is in use, so the demo uses another port.")
        return await stack.enter_async_context(serve(steward, host, 0, "kubevirt-steward demo"))


def _say_what_to_look_at(url: str, folder: Path, troubles: list[Trouble], commands: list[str]) -> None:
    _say(f"A sample fleet is running: {url}/")
    _say("")
    _say(f"{len(troubles)} of its objects have faults:")
    for trouble in troubles:
        _say(fault_line(trouble))
    _say("")
    _say(f"  Metrics   {url}/metrics")
    _say(f"  JSON      {url}/api/v1/findings?severity=critical")
    _say(f"  Terminal  export KUBECONFIG={folder / 'kubeconfig'}   for steward and kubectl")
    _say("            steward check")
    for command in commands:
        _say(f"            {command}")
    _say("")
    _say("The fleet changes: findings open and close, as reported here. Press Ctrl-C to stop.")
    _say(f"Web UI: {url}/")


def fault_line(trouble: Trouble) -> str:
    """In one line of a terminal."""
    where = f"{trouble.namespace}/{_shortened(trouble.name)}".lstrip("/")
    return f"  {_SHORT.get(trouble.kind, trouble.kind)} {where}: {trouble.wrong}"


def _shortened(name: str) -> str:
    """A long name without its middle."""
    return name if len(name) <= _NAME else f"{name[: _NAME - 7]}…{name[-6:]}"


def _say_when(sentence: str) -> None:
    _say(f"{rfc3339(datetime.now(UTC).timestamp())[11:19]} {sentence}")


def _say(text: str) -> None:
    say(one_line(text) + "\n")
