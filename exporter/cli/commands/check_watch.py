"""`steward check --watch`: what comes, goes, gets worse or better, until somebody ends it."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING

from ...config.settings import Config
from ...engine.engine import Engine
from ...questions.findings import Report, take, with_causes
from ..input.filters import Filters, UsageError, labelled_in_cluster
from ..input.names import known_to, on_their_nodes
from ..input.once import undated
from ..output.findings.changes import changes
from ..output.text.screen import width
from ..output.text.terminal import say, say_lines

_GATHERED = 1.0  # seconds; what changes together is reported together
_AGAIN = 10.0  # seconds between two lists of what can't be watched

if TYPE_CHECKING:
    from ..input.looking import Look

Reports = AsyncGenerator[Report, None]


def refuse_watch(arguments: argparse.Namespace) -> None:
    """Raises UsageError for what asks for one look."""
    for given, name in (
        (arguments.dump, "--from: a dump does not change"),
        (arguments.output != "table", f"-o {arguments.output}: it prints a line for each change, for people"),
        (arguments.probe, "--probe-features"),
        (arguments.min_age, "--min-age: what is new is what it shows"),
        (arguments.now is not None, "--now"),
    ):
        if given:
            raise UsageError(f"--watch can't be combined with {name}")


def watch(arguments: argparse.Namespace, config: Config, filters: Filters, shown: Callable[[Report], None]) -> None:
    """Does not return. `shown` prints the first report. Raises what `looking` and `report_of` do."""
    reports = _asked(arguments, filters) if arguments.exporter else _watched(arguments, config, filters)
    asyncio.run(_followed(reports, shown))


async def _followed(reports: Reports, shown: Callable[[Report], None]) -> None:
    before: Report | None = None
    try:
        async for report in reports:
            if before is None:
                shown(report)
                say_lines("What changes follows; Ctrl-C ends it.")
            elif text := changes(before, report, time.time(), width()):
                say(text)
            before = report
    finally:
        await reports.aclose()


async def _watched(arguments: argparse.Namespace, config: Config, filters: Filters) -> Reports:
    from ..input.looking import looking  # dear to import

    namespaces = filters.namespaces or filters.selection.namespaces
    async with looking(arguments, config, views=(), namespaces=namespaces) as look:
        engine = look.steward.engine
        known_to(engine.cluster, filters.namespaces, filters.selection, take(engine).findings)
        listing = asyncio.create_task(_again_and_again(look))
        try:
            while True:
                generation = engine.generation
                chosen = await labelled_in_cluster(look.transport, engine.cluster, filters)
                chosen = on_their_nodes(chosen, engine.cluster)
                yield undated(with_causes(chosen.of(take(engine), engine), engine))
                await _changed(engine, generation)
                if listing.done():
                    listing.result()  # raises what it ended with
        finally:
            listing.cancel()


async def _changed(engine: Engine, generation: int) -> None:
    async with engine.changed:
        await engine.changed.wait_for(lambda: engine.generation != generation)
    await asyncio.sleep(_GATHERED)


async def _again_and_again(look: Look) -> None:
    while look.unwatched:
        await asyncio.sleep(_AGAIN)
        await look.again()


async def _asked(arguments: argparse.Namespace, filters: Filters) -> Reports:
    from ..input.running import narrowed, report_of  # dear to import

    after: int | None = None
    while True:
        whole = await report_of(arguments, after)
        yield narrowed(filters.of(whole))
        after = whole.generation
        await asyncio.sleep(_GATHERED)
