"""`steward diff`: what two dumps or reports of a cluster differ in."""

from __future__ import annotations

import argparse
import asyncio
import time

import msgspec

from ...config.settings import Config
from ...dump import read_dump
from ...kube.errors import MALFORMED
from ...offline.files import DumpError
from ...questions.differences import Differences, FindingChange, differences
from ...questions.findings import Report, take
from ...questions.trust import exit_code
from ..input.config import configured
from ..input.once import progress_line
from ..output.findings.changes import differed
from ..output.text.layout import written
from ..output.text.screen import width
from ..output.text.terminal import complain, say

# A report, of a dump that is evaluated or as `steward check -o json` wrote it.


def report_at(path: str, config: Config, *, complete: bool) -> Report:
    """A file that is a report is taken as it is, and anything else is a dump. Raises DumpError."""
    if (written := _written(path)) is not None:
        return written
    with progress_line(path) as progress:
        engine, _ = asyncio.run(read_dump(path, time.time(), config, complete=complete, progress=progress))
    return take(engine)


def _written(path: str) -> Report | None:
    """The report in a file; None for what is no report. Raises DumpError for one that this release can't read."""
    try:
        with open(path, "rb") as file:
            content = file.read()
        fields = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    except (OSError, *MALFORMED):
        return None
    if not {"findings", "unknown", "sources"} <= fields.keys():
        return None
    try:
        return msgspec.json.decode(content, type=Report)
    except MALFORMED as error:
        raise DumpError(f"{path} is a report of another release of the steward, and can't be read: {error}") from None


def run(arguments: argparse.Namespace) -> int:
    config = configured(arguments).config
    try:
        reports = [report_at(path, config, complete=arguments.complete) for path in (arguments.before, arguments.after)]
    except DumpError as error:
        complain(str(error))
        return 2
    found = differences(*reports)
    say(written(found, arguments.output, lambda each: differed(each, width())), arguments.output)
    return _exit_code(found)


def _exit_code(found: Differences) -> int:
    unknown = any(each.change is FindingChange.UNKNOWN for each in found.differences)
    return exit_code(found=bool(found.differences), unknown=unknown)
