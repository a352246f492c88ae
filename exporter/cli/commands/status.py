"""`steward status`: a cluster in a screenful."""

from __future__ import annotations

import argparse
import asyncio
import time

from ...checks import all_checks
from ...config.settings import Config
from ...dump import read_dump
from ...engine.engine import Engine
from ...findings.check import PER_FLEET
from ...offline.files import DumpError
from ...store.kinds.kube_virt import KubeVirt
from ...views.drain import READER, draining
from ...views.drain import take as drained
from ...views.findings import Report, take, with_causes
from ...views.trust import exit_code
from ..input.config import configured
from ..input.filters import UsageError
from ..input.once import complain_if_late, of_running, progress_line, refuse_complete_without_dump, undated
from ..output.findings.report import unread
from ..output.status import Status, status
from ..output.text.layout import written
from ..output.text.screen import colours, painted, width
from ..output.text.terminal import complain, say


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    checks = frozenset(
        check.id for check in all_checks() if config.of(check.id).enabled and check.scope is not PER_FLEET
    )
    try:
        refuse_complete_without_dump(arguments)
        found, in_time = asyncio.run(_found(arguments, config))
    except (UsageError, DumpError) as error:
        complain(str(error))
        return 2
    now = time.time()
    more = "steward check" if of_running(arguments) else "steward check, steward drain --all-cordoned"
    text = written(found, arguments.output, lambda each: status(each, checks, now, width(), more))
    say(text, arguments.output, painted if colours() else str)
    complain_if_late(arguments, in_time)
    blind = bool(found.report.unknown or unread(found.report) or not in_time)
    return exit_code(found=bool(found.report.findings), unknown=blind)


async def _found(arguments: argparse.Namespace, config: Config) -> tuple[Status, bool]:
    if of_running(arguments):
        from ..input.asking import refuse_both  # not for a dump
        from ..input.running import release_and_drains, report_of

        refuse_both(arguments)
        report = await report_of(arguments)
        release, drains = await release_and_drains(arguments)
        return Status(f"as {arguments.exporter} sees it", release, "", report, drains), report.ready
    return await (_look(arguments, config) if arguments.dump is None else _read(arguments, config))


async def _look(arguments: argparse.Namespace, config: Config) -> tuple[Status, bool]:
    from ..input.looking import looking  # not for a dump

    async with looking(arguments, config, views=[READER]) as look:
        return _of(look.steward.engine, look.transport.server, ""), look.in_time


async def _read(arguments: argparse.Namespace, config: Config) -> tuple[Status, bool]:
    path, now = arguments.dump, time.time()
    with progress_line() as progress:
        engine, tally = await read_dump(
            path, now, config, complete=arguments.complete, progress=progress, also=READER.reads
        )
    return _of(engine, path, f"read {tally}"), True


def _of(engine: Engine, cluster: str, read: str) -> Status:
    report: Report = undated(with_causes(take(engine), engine))
    kubevirt = next(engine.cluster.all(KubeVirt), None)
    drain = drained(engine.cluster, draining(engine.cluster), engine.findings(), engine.generation)
    nodes = None if any(each.kind == "Node" for each in drain.unseen) else drain.nodes
    return Status(cluster, kubevirt.version if kubevirt else "", read, report, nodes)
