"""`steward drain`: preview of a drain: which VMs leave their nodes, and what is in the way."""

from __future__ import annotations

import argparse
import asyncio
import time

from ...checks import all_checks
from ...config.settings import Config
from ...dump import read_dump
from ...engine.engine import Engine
from ...kube.errors import UnreachableError
from ...offline.files import DumpError
from ...views.drain import CHECK, READER, Drain, NoSuchNodeError, chosen_nodes, exit_code, take, unsafe, unsettled
from ..input.config import configured
from ..input.edit_probes import refuse_probe_of_dump
from ..input.eviction_probes import with_probes
from ..input.filters import UsageError
from ..input.once import aim_of, all_undated, complain_if_late, of_running, progress_line, refuse_complete_without_dump
from ..output.drain import drained
from ..output.text.aimed import aimed
from ..output.text.layout import written
from ..output.text.screen import width
from ..output.text.terminal import complain, say


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    try:
        if not (arguments.nodes or arguments.all_cordoned or arguments.selector):
            raise UsageError("name the nodes, or use --all-cordoned or --selector")
        refuse_probe_of_dump(arguments, "--probe")
        refuse_complete_without_dump(arguments)
        drain, in_time = asyncio.run(_found(arguments, config))
    except (UsageError, DumpError, NoSuchNodeError, UnreachableError) as error:
        complain(str(error))
        return 2
    say(
        written(drain, arguments.output, lambda each: drained(aimed(each, aim_of(arguments)), width())),
        arguments.output,
    )
    complain_if_late(arguments, in_time)
    return exit_code(drain, whole=in_time and not unsettled(drain))


async def _found(arguments: argparse.Namespace, config: Config) -> tuple[Drain, bool]:
    if not of_running(arguments):
        drain, in_time = await (_look if arguments.dump is None else _read)(arguments, config)
        return all_undated(drain), in_time
    from ..input.asking import answer_of  # not for a dump

    if arguments.selector or (arguments.nodes and arguments.all_cordoned):
        raise UsageError("a running steward takes the names of nodes, or --all-cordoned; leave the other out")
    return await answer_of(arguments, "/api/v1/drain", Drain, [("node", each) for each in arguments.nodes]), True


async def _look(arguments: argparse.Namespace, config: Config) -> tuple[Drain, bool]:
    from ...kube.probe import Probe  # not for a dump
    from ..input.looking import looking

    # Nothing else is watched: what a drain has nothing to do with must not hold it up.
    checks = [check for check in all_checks() if check.id in ("sources", CHECK)]
    async with looking(arguments, config, checks=checks, views=[READER]) as look:
        engine = look.steward.engine
        drain = _taken(engine, arguments)
        if arguments.probe and (why := unsafe(engine.cluster)):
            raise UsageError(why)
        return await with_probes(drain, Probe(look.transport)) if arguments.probe else drain, look.in_time


async def _read(arguments: argparse.Namespace, config: Config) -> tuple[Drain, bool]:
    with progress_line() as progress:
        reading = read_dump(
            arguments.dump, time.time(), config, complete=arguments.complete, progress=progress, also=READER.reads
        )
        engine, _ = await reading
    return _taken(engine, arguments), True


def _taken(engine: Engine, arguments: argparse.Namespace) -> Drain:
    """Raises NoSuchNodeError, but not for nodes that can't be seen: the answer then says that."""
    nothing = take(engine.cluster, (), (), engine.generation)
    if any(each.kind == "Node" for each in nothing.unseen):
        return nothing
    nodes = chosen_nodes(engine.cluster, arguments.nodes, arguments.selector, cordoned=arguments.all_cordoned)
    return take(engine.cluster, nodes, engine.findings(), engine.generation)
