"""One finding by its id, or the worst of a cause: of a cluster, a dump, or a running steward."""

from __future__ import annotations

import argparse
import asyncio
import time

from ...config.settings import Config
from ...dump import read_dump
from ...findings.severity import Severity
from ...questions.findings import FindingReport, Report, take, with_causes
from .config import configured
from .filters import Selection, UsageError
from .names import known_to
from .once import of_running, progress_line, refuse_complete_without_dump, undated


def finding_of(arguments: argparse.Namespace) -> FindingReport:
    """Raises UsageError and DumpError."""
    refuse_complete_without_dump(arguments)
    report = asyncio.run(_report(arguments, configured(arguments).config))
    wanted = arguments.what
    found = [each for each in report.findings if wanted in (each.fingerprint[: len(wanted)], each.cause[: len(wanted)])]
    if not found:
        raise UsageError(
            f"no finding and no cause has the id {wanted}, or it is gone; `steward check -o wide` shows the ids"
        )
    return max(found, key=lambda each: Severity(each.severity).rank)


async def _report(arguments: argparse.Namespace, config: Config) -> Report:
    if of_running(arguments):
        from .running import (
            refuse_both,  # not for a dump
            report_of,
        )

        refuse_both(arguments)
        return await report_of(arguments)
    if arguments.dump is not None:
        with progress_line() as progress:
            engine, _ = await read_dump(
                arguments.dump, time.time(), config, complete=arguments.complete, progress=progress
            )
        return undated(with_causes(take(engine), engine))
    from .looking import looking  # not for a dump

    within = [arguments.namespace] if arguments.namespace else []
    async with looking(arguments, config, views=(), namespaces=within) as look:
        engine = look.steward.engine
        report = take(engine)
        known_to(engine.cluster, within, Selection(), report.findings)
        return undated(with_causes(report, engine))
