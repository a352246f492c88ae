"""`steward features`: what the cluster allows, who asks for it, and which feature gates are on."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections import deque

from ...config.settings import Config
from ...counts.features import FeatureUsage
from ...dump import read_dump
from ...engine.engine import Engine
from ...offline.files import DumpError
from ...views.features import READER, Features, NoSuchFeatureError, selected, take
from ...views.trust import exit_code
from ..input.config import configured
from ..input.filters import UsageError
from ..input.once import aim_of, all_undated, complain_if_late, of_running, progress_line, refuse_complete_without_dump
from ..output.features import listed_features
from ..output.text.layout import written
from ..output.text.screen import width
from ..output.text.terminal import complain, say


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    try:
        refuse_complete_without_dump(arguments)
        found, in_time = asyncio.run(_found(arguments, config))
        found = selected(found, arguments.feature, unallowed=arguments.unallowed)
    except (UsageError, DumpError, NoSuchFeatureError) as error:
        complain(str(error))
        return 2
    folded = not arguments.feature and not arguments.unallowed
    say(written(found, arguments.output, lambda each: listed_features(each, width(), folded=folded)), arguments.output)
    complain_if_late(arguments, in_time)
    if found.not_applicable:
        complain(f"not applicable: {found.not_applicable}")
    if found.unknown:
        complain(f"nobody knows what the cluster allows: {found.unknown}")
    if found.unseen:
        complain(f"nothing is counted while {', '.join(found.unseen)} can't be seen; {_check(arguments)} says why")
    elif not found.complete:
        complain(f"there may be more than is counted: an object is undecodable; {_check(arguments)} names it")
    return exit_code(unknown=bool(found.not_applicable or found.unknown) or not found.complete or not in_time)


def _check(arguments: argparse.Namespace) -> str:
    return f"`steward check{aim_of(arguments).steward}`"


async def _found(arguments: argparse.Namespace, config: Config) -> tuple[Features, bool]:
    if of_running(arguments):
        from ..input.asking import answer_of  # not for a dump

        return await answer_of(arguments, "/api/v1/features", Features), True
    found, in_time = await (_look if arguments.dump is None else _read)(arguments, config)
    return all_undated(found), in_time


async def _look(arguments: argparse.Namespace, config: Config) -> tuple[Features, bool]:
    from ..input.looking import looking  # not for a dump

    async with looking(arguments, config) as look:
        steward = look.steward
        return _report(steward.engine, steward.aggregates.of(FeatureUsage)), look.in_time


async def _read(arguments: argparse.Namespace, config: Config) -> tuple[Features, bool]:
    path, complete = arguments.dump, arguments.complete
    with progress_line() as progress:
        engine, _ = await read_dump(path, time.time(), config, complete=complete, progress=progress, also=READER.reads)
    return _report(engine, FeatureUsage.over(engine.cluster)), True


def _report(engine: Engine, usage: FeatureUsage) -> Features:
    deque(usage.settle(), maxlen=0)
    return take(engine.cluster, usage, engine.findings(), engine.generation)
