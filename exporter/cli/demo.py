"""`steward demo`: a sample fleet to look at, without a cluster.

An API server in this process serves it over HTTP, and the steward reads it as it reads a cluster.
"""

from __future__ import annotations

import argparse
import errno
import json
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..app import Steward, assemble, serve, wait_until_seen
from ..config.forms import address
from ..config.settings import Config
from ..demo.fleet import sample_fleet
from ..demo.story import play
from ..fakeapi.apiserver import ApiServer
from ..kube.transport import Transport
from ..views.times import rfc3339
from .listening import add_listen_option, run_until_signalled
from .terminal import one_line, say

__all__ = ["add", "kubeconfig", "run"]


def add(commands: Any) -> None:
    parser = commands.add_parser("demo", help="a sample fleet to look at, without a cluster")
    add_listen_option(parser)
    parser.add_argument("--pace", type=float, default=10.0, metavar="SECONDS", help="between two changes; default: 10")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    return run_until_signalled(_demo(arguments))


async def _demo(arguments: argparse.Namespace) -> int:
    fleet = sample_fleet(datetime.now(UTC))
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(_sample_cluster())
        server.load(fleet.objects)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="steward-demo-")))
        steward = assemble(Transport.from_environment(str(kubeconfig(folder, server.url))))
        url = await _serve(stack, steward, *address(arguments.listen or Config().listen))
        await wait_until_seen(steward, 30)
        _say_what_to_look_at(url, folder, fleet.troubles)
        await play(
            server, lambda sentence: _say(f"{rfc3339(datetime.now(UTC).timestamp())[11:19]} {sentence}"), arguments.pace
        )
    return 0


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
        _say(f"Port {port} is taken, so the demo takes another one.")
        return await stack.enter_async_context(serve(steward, host, 0, "kubevirt-steward demo"))


def kubeconfig(folder: Path, server: str) -> Path:
    """Writes a kubeconfig for an API server without authentication."""
    path = folder / "kubeconfig"
    named = {"name": "demo"}
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{**named, "cluster": {"server": server}}],
                "contexts": [{**named, "context": {"cluster": "demo", "user": "demo"}}],
                "users": [{**named, "user": {}}],
                "current-context": "demo",
            }
        ),
        encoding="utf-8",
    )
    return path


def _say_what_to_look_at(url: str, folder: Path, troubles: list[Any]) -> None:
    _say(f"A sample fleet runs, and {len(troubles)} of its objects have a fault:")
    for trouble in troubles:
        _say(f"  {trouble.kind} {f'{trouble.namespace}/{trouble.name}'.lstrip('/')}: {trouble.wrong}")
    _say("")
    _say(f"  Page      {url}/")
    _say(f"  Metrics   {url}/metrics")
    _say(f"  JSON      {url}/api/v1/findings?severity=critical")
    _say(f"  Terminal  steward check --kubeconfig {folder / 'kubeconfig'}")
    _say("")
    _say("The fleet changes while you look: findings open and close, as reported here. Ctrl-C ends it.")


def _say(text: str) -> None:
    say(one_line(text) + "\n")
