"""`steward impact`: what a change would do, before anybody makes it."""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import Any

import msgspec

from ...app import assemble, read_dump, wait_until_seen
from ...checks import all_checks
from ...config.settings import Config
from ...engine.engine import Engine
from ...kube.probe import EditProbe
from ...offline.files import DumpError
from ...views.edits import unsettled
from ...views.impact import (
    PARAMETERS,
    READER,
    Impact,
    ImpactQuery,
    NoSuchObjectError,
    concerned,
    exit_code,
    proposed,
    take,
)
from ..input.cluster import transport_of
from ..input.config import configured
from ..input.edit_probes import add_probe_options, ask_edits, refuse_probe_of_dump
from ..input.filters import UsageError
from ..input.once import add_look_options, complain_if_late, refuse_complete_without_dump
from ..output.impact import impacted
from ..output.progress import progress_line
from ..output.structured import written
from ..output.terminal import complain, say

__all__ = ["add", "run"]

_CHANGES = (
    ("disable", "GATE", "with this feature gate switched off, as it takes in the release"),
    ("enable", "GATE", "with this feature gate switched on"),
    ("upgrade-to", "VERSION", "with this version of KubeVirt, such as 1.9; once"),
    ("set", "PATH=VALUE", "with this in spec.configuration of KubeVirt; VALUE is JSON or a text, and null removes"),
)
_EXIT = (
    "Exit code: 0 nothing gets worse, 1 something does, 2 could not see everything, the change can't be "
    "made, or a probe contradicts or is refused."
)


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "impact",
        help="preview a change: which VMs it would break, and when",
        description="Evaluates the checks as if the changes were made, all together, and prints which findings come "
        "and go by them. Nothing is changed.",
        epilog=_EXIT,
    )
    add_look_options(parser)
    group = parser.add_argument_group("changes", "each may be repeated")
    for option, metavar, text in _CHANGES:
        group.add_argument(f"--{option}", metavar=metavar, action="append", default=[], help=text)
    for role in ("instancetype", "preference"):
        group.add_argument(
            f"--delete-{role}",
            metavar="[NAMESPACE/]NAME",
            action="append",
            default=[],
            help=f"without this {role}; NAME alone is one of the whole cluster",
        )
    add_probe_options(parser, "--probe", "that the change concerns, as it is now")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    try:
        if not any(_asked(arguments)):
            raise UsageError(f"name a change: {', '.join(f'--{name}' for name in PARAMETERS)}")
        refuse_probe_of_dump(arguments, "--probe")
        refuse_complete_without_dump(arguments)
        look = _look if arguments.dump is None else _read
        impact, in_time = asyncio.run(look(arguments, config))
    except (UsageError, DumpError, NoSuchObjectError) as error:
        complain(str(error))
        return 2
    say(written(impact, arguments.output, impacted), arguments.output)
    complain_if_late(arguments, in_time)
    return exit_code(impact) if in_time and not unsettled(impact.probes) else 2


async def _look(arguments: argparse.Namespace, config: Config) -> tuple[Impact, bool]:
    # Nothing else is watched: what the change has nothing to do with must not hold it up.
    kinds = set(_asked(arguments).kinds)
    checks = [check for check in all_checks() if check.id == "sources" or not kinds.isdisjoint(check.reads)]
    transport = transport_of(config)
    steward = assemble(transport, config, checks=checks, views=[READER])
    async with steward.watching():
        in_time = await wait_until_seen(steward, arguments.timeout, complain)
        impact = _taken(steward.engine, arguments)
        if arguments.probe:
            cluster, probe = steward.engine.cluster, EditProbe(transport)
            probes = await ask_edits(cluster, probe, concerned(impact), arguments.probe_most)
            impact = msgspec.structs.replace(impact, probes=probes)
        return impact, in_time


async def _read(arguments: argparse.Namespace, config: Config) -> tuple[Impact, bool]:
    with progress_line() as progress:
        reading = read_dump(
            arguments.dump, time.time(), config, complete=arguments.complete, progress=progress, also=READER.reads
        )
        engine, _ = await reading
    return _taken(engine, arguments), True


def _taken(engine: Engine, arguments: argparse.Namespace) -> Impact:
    try:
        proposal = proposed(engine.cluster, _asked(arguments))
    except ValueError as error:
        raise UsageError(str(error)) from None
    return take(engine, proposal)


def _asked(arguments: argparse.Namespace) -> ImpactQuery:
    return ImpactQuery(*(tuple(getattr(arguments, name)) for name in ImpactQuery._fields))
