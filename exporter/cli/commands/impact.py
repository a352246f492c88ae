"""`steward impact`: what a change would do, before anybody makes it."""

from __future__ import annotations

import argparse
import asyncio
import time

import msgspec

from ...checks import all_checks
from ...config.settings import Config
from ...dump import read_dump
from ...engine.engine import Engine
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
from ..input.config import configured
from ..input.edit_probes import ask_edits, refuse_probe_of_dump
from ..input.filters import UsageError
from ..input.once import all_undated, complain_if_late, of_running, progress_line, refuse_complete_without_dump
from ..output.impact import impacted
from ..output.text.layout import written
from ..output.text.screen import width
from ..output.text.terminal import complain, say


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    try:
        if not any(_asked(arguments)):
            raise UsageError(f"name a change: {', '.join(f'--{name}' for name in PARAMETERS)}")
        refuse_probe_of_dump(arguments, "--probe")
        refuse_complete_without_dump(arguments)
        impact, in_time = asyncio.run(_found(arguments, config))
    except (UsageError, DumpError, NoSuchObjectError) as error:
        complain(str(error))
        return 2
    say(written(impact, arguments.output, lambda each: impacted(each, width())), arguments.output)
    complain_if_late(arguments, in_time)
    return exit_code(impact, whole=in_time and not unsettled(impact.probes))


async def _found(arguments: argparse.Namespace, config: Config) -> tuple[Impact, bool]:
    if not of_running(arguments):
        impact, in_time = await (_look if arguments.dump is None else _read)(arguments, config)
        return all_undated(impact), in_time
    from ..input.asking import answer_of  # not for a dump

    given = zip(PARAMETERS, _asked(arguments), strict=True)
    return await answer_of(arguments, "/api/v1/impact", Impact, [(key, each) for key, of in given for each in of]), True


async def _look(arguments: argparse.Namespace, config: Config) -> tuple[Impact, bool]:
    from ...kube.probe import EditProbe  # not for a dump
    from ..input.looking import looking

    # Nothing else is watched: what the change has nothing to do with must not hold it up.
    kinds = set(_asked(arguments).kinds)
    checks = [check for check in all_checks() if check.id == "sources" or not kinds.isdisjoint(check.reads)]
    async with looking(arguments, config, checks=checks, views=[READER]) as look:
        engine = look.steward.engine
        impact = _taken(engine, arguments)
        if arguments.probe:
            probe = EditProbe(look.transport)
            probes = await ask_edits(engine.cluster, probe, concerned(impact), arguments.probe_most)
            impact = msgspec.structs.replace(impact, probes=probes)
        return impact, look.in_time


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
