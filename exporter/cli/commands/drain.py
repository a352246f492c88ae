"""`steward drain`: preview of a drain: which VMs leave their nodes, and what is in the way."""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import Any

from ...app import assemble, read_dump, wait_until_seen
from ...checks import all_checks
from ...config.settings import Config
from ...engine.engine import Engine
from ...kube.errors import UnreachableError
from ...kube.probe import Probe
from ...offline.files import DumpError
from ...store.selector import Selector
from ...views.drain import (
    CHECK,
    KINDS,
    READER,
    Drain,
    NoSuchNodeError,
    chosen,
    exit_code,
    selector,
    take,
    unsafe,
    unsettled,
)
from ..input.cluster import transport_of
from ..input.config import configured
from ..input.eviction_probes import with_probes
from ..input.filters import UsageError
from ..input.once import add_look_options, complain_if_late, refuse_complete_without_dump
from ..output.drain import drained
from ..output.progress import progress_line
from ..output.structured import written
from ..output.terminal import complain, say

__all__ = ["add", "run"]

_EXIT = (
    "Exit code: 0 everything leaves by itself; 1 something is blocked, or is shut down by an eviction; "
    "2 could not see everything, something may migrate and may not, a node is not there, or a probe contradicts or is "
    "refused."
)


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "drain",
        help="preview a drain: which VMs leave their nodes, and what is in the way",
        description="Looks once, before or during a drain of all these nodes together. Nothing is evicted or changed.",
        epilog=_EXIT,
    )
    add_look_options(parser)
    parser.add_argument("nodes", metavar="NODE", nargs="*", help="to be drained")
    parser.add_argument("--all-cordoned", action="store_true", help="all that are cordoned or tainted to be drained")
    parser.add_argument(
        "--selector", "-l", type=_selector, metavar="LABELS", help="all with these labels, such as zone=a,!gpu"
    )
    parser.add_argument(
        "--probe",
        action="store_true",
        help="ask the API server too, by a dry-run eviction of each VM's pod, two a second: nothing is evicted or "
        "requested, but the ServiceAccount needs permission to create pods/eviction (ClusterRole steward-drain-probe)",
    )
    parser.set_defaults(run=run)


def _selector(text: str) -> Selector:
    try:
        return selector(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    try:
        if not (arguments.nodes or arguments.all_cordoned or arguments.selector):
            raise UsageError("name the nodes, or use --all-cordoned or --selector")
        if arguments.dump is not None and arguments.probe:
            raise UsageError("--probe asks a cluster; there is none behind --from")
        refuse_complete_without_dump(arguments)
        look = _look if arguments.dump is None else _read
        drain, in_time = asyncio.run(look(arguments, config))
    except (UsageError, DumpError, NoSuchNodeError, UnreachableError) as error:
        complain(str(error))
        return 2
    say(written(drain, arguments.output, drained), arguments.output)
    complain_if_late(arguments, in_time)
    return exit_code(drain) if in_time and not unsettled(drain) else 2


async def _look(arguments: argparse.Namespace, config: Config) -> tuple[Drain, bool]:
    transport = transport_of(config)
    # Nothing else is watched: what a drain has nothing to do with must not hold it up.
    checks = [check for check in all_checks() if check.id in ("sources", CHECK)]
    steward = assemble(transport, config, checks=checks, views=[READER])
    async with steward.watching():
        in_time = await wait_until_seen(steward, arguments.timeout, complain)
        drain = _taken(steward.engine, arguments)
        if arguments.probe and (why := unsafe(steward.engine.cluster)):
            raise UsageError(why)
        return await with_probes(drain, Probe(transport)) if arguments.probe else drain, in_time


async def _read(arguments: argparse.Namespace, config: Config) -> tuple[Drain, bool]:
    with progress_line() as progress:
        reading = read_dump(
            arguments.dump, time.time(), config, complete=arguments.complete, progress=progress, also=KINDS
        )
        engine, _ = await reading
    return _taken(engine, arguments), True


def _taken(engine: Engine, arguments: argparse.Namespace) -> Drain:
    """Raises NoSuchNodeError, but not for nodes that can't be seen: the answer then says that."""
    nothing = take(engine.cluster, (), (), engine.generation)
    if any(each.kind == "Node" for each in nothing.unseen):
        return nothing
    nodes = chosen(engine.cluster, arguments.nodes, arguments.selector, cordoned=arguments.all_cordoned)
    return take(engine.cluster, nodes, engine.findings(), engine.generation)
