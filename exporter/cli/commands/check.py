"""`steward check`: looks once, at a cluster or at a dump of one, and prints what it finds.

With `--watch` it prints what comes, goes, gets worse or better, until it is ended.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from ...checks import all_checks
from ...config.settings import Config
from ...engine.engine import Engine
from ...findings.severity import Severity
from ...offline.files import DumpError
from ...questions.edits import EditProbes, unsettled
from ...questions.findings import Report, take, with_causes
from ...questions.repairs import reconcile_of
from ...questions.trust import exit_code as ended
from ...sidecar import Repairs
from ..input.config import configured
from ..input.dumps import DumpReading, dumps_of, evaluate_each
from ..input.filters import Filters, UsageError, filters_of, labelled_in_cluster, refuse_none
from ..input.names import known_to, on_their_nodes, refuse_misspelt
from ..input.once import aim_of, complain_if_late, of_running, refuse_both, refuse_complete_without_dump, undated
from ..input.probes import ask_edits, edits, refuse_probe_of_dump
from ..output.findings.report import Presentation, rendered, unread
from ..output.text.layout import aimed
from ..output.text.screen import colours, painted, width
from ..output.text.terminal import TEXTS, complain, say, say_lines
from .diff import changes

if TYPE_CHECKING:
    from ..input.looking import Look


def run(arguments: argparse.Namespace) -> int:
    try:
        config = configured(arguments).config
        dumps = dumps_of(arguments.dump or ())
        enabled = [check for check in all_checks() if config.of(check.id).enabled]
        filters = filters_of(arguments, enabled, several=len(dumps) > 1)
        if arguments.watch:
            return _watching(arguments, config, filters)
        if of_running(arguments):
            return _running(arguments, filters)
        if not dumps:
            return _live(arguments, config, filters)
        refuse_probe_of_dump(arguments, "--probe-features")
        report, read = evaluate_each(dumps, DumpReading(config, filters, arguments.complete))
        report = undated(report)
        refuse_unfound(report, filters)
    except (UsageError, DumpError) as error:
        complain(str(error))
        return 2
    show(report, arguments, filters, read)
    return exit_code(report, arguments.fail_on)


def _live(arguments: argparse.Namespace, config: Config, filters: Filters) -> int:
    refuse_complete_without_dump(arguments)
    whole, in_time, engine, filters = asyncio.run(_look(arguments, config, filters))
    known_to(engine.cluster, filters.namespaces, filters.selection, whole.findings)
    refuse_none(filters)
    report = undated(with_causes(filters.of(whole, engine), engine))
    refuse_unfound(report, filters)
    show(report, arguments, filters)
    if isinstance(report.probes, EditProbes) and arguments.output not in ("json", "yaml"):
        (say if arguments.output in TEXTS else complain)(edits(report.probes))
    complain_if_late(arguments, in_time)
    return exit_code(report, arguments.fail_on, in_time)


def _watching(arguments: argparse.Namespace, config: Config, filters: Filters) -> int:
    # not for a single look

    refuse_watch(arguments)
    refuse_complete_without_dump(arguments)
    if of_running(arguments):
        refuse_both(arguments)
        _refuse_labels(filters)
    watch(arguments, config, filters, lambda report: _begun(report, arguments, filters))
    return 0


def _refuse_labels(filters: Filters) -> None:
    """Raises UsageError where a running steward would have to know labels."""
    if filters.selector is not None:
        raise UsageError(
            "-l asks for labels of VMs, which a running steward does not tell; name them: vm/NAMESPACE/NAME"
        )


def _begun(report: Report, arguments: argparse.Namespace, filters: Filters) -> None:
    refuse_unfound(report, filters)
    show(report, arguments, filters)


def _running(arguments: argparse.Namespace, filters: Filters) -> int:
    from ..input.running import narrowed, nodes_of, report_of  # not for a dump

    refuse_both(arguments)
    _refuse_labels(filters)
    refuse_probe_of_dump(arguments, "--probe-features")
    whole = asyncio.run(report_of(arguments))
    nodes = asyncio.run(nodes_of(arguments, filters.selection, whole.findings))
    report = narrowed(replace(filters, nodes=nodes).of(whole))
    refuse_unfound(report, filters)
    show(report, arguments, filters)
    if not report.ready:
        complain(f"{arguments.exporter} has not seen everything yet; there may be more")
    return exit_code(report, arguments.fail_on, in_time=report.ready)


def show(
    report: Report, arguments: argparse.Namespace, filters: Filters, read: Mapping[str, str] | None = None
) -> None:
    """Prints it as the arguments say; `read` says in words what the dump of each cluster held."""
    columns = width() if arguments.output == "table" else None
    aim = aim_of(arguments)
    how = Presentation(filters.checks, filters.now, read or {}, arguments.commands, columns, aim)
    report = aimed(report, aim) if arguments.output in TEXTS else report
    say(rendered(report, arguments.output, how), arguments.output, painted if colours() else str)


def refuse_unfound(report: Report, filters: Filters) -> None:
    """Raises UsageError for the id of a cause or finding that is not there, and for a feature that is none."""
    refuse_misspelt(sorted(filters.features - {finding.feature for finding in report.findings}))
    found = [each for finding in report.findings for each in (finding.fingerprint, finding.cause)]
    for wanted in filters.selection.ids:
        if not any(each.startswith(wanted) for each in found):
            raise UsageError(f"no finding and no cause has ID {wanted}, or it is gone; `-o wide` shows the ids")


def exit_code(report: Report, fail_on: str = "info", in_time: bool = True) -> int:
    """What is acknowledged does not count."""
    blind = bool(report.unknown or unread(report) or not in_time or unsettled(report.probes))
    known = {(each.cluster, each.cause) for each in report.causes or () if each.is_known}
    open_still = (each for each in report.findings if (each.cluster, each.cause) not in known)
    return ended(
        found=any(Severity(each.severity).rank >= Severity(fail_on).rank for each in open_still), unknown=blind
    )


async def _look(
    arguments: argparse.Namespace, config: Config, filters: Filters
) -> tuple[Report, bool, Engine, Filters]:
    """With the filters, which know by then what their labels select."""
    from ...kube.probe import EditProbe  # not for a dump
    from ..input.looking import looking

    namespaces = filters.namespaces or filters.selection.namespaces
    async with looking(arguments, config, views=(), namespaces=namespaces) as look:
        steward = look.steward
        filters = await labelled_in_cluster(look.transport, steward.engine.cluster, filters)
        filters = on_their_nodes(filters, steward.engine.cluster)
        report = take(steward.engine)
        if steward.follower is not None:
            await steward.follower.once()
            report = _repaired(report, steward.repairs)
        if arguments.probe:
            probes = await ask_edits(steward.engine.cluster, EditProbe(look.transport), most=arguments.probe_most)
            report = msgspec.structs.replace(report, probes=probes)
        return report, look.in_time, steward.engine, filters


def _repaired(report: Report, repairs: Repairs) -> Report:
    """With what the sidecar says of each finding."""
    findings = [msgspec.structs.replace(each, repairs=repairs.of(each.fingerprint)) for each in report.findings]
    return msgspec.structs.replace(report, findings=findings, reconcile=reconcile_of(repairs))


_GATHERED = 1.0  # seconds; what changes together is reported together
_AGAIN = 10.0  # seconds between two lists of what can't be watched


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
