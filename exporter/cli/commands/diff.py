"""`steward diff`: what two dumps or reports of a cluster differ in."""

from __future__ import annotations

import argparse

from ...offline.files import DumpError
from ...views.differences import Change, Differences, differences
from ...views.exit_codes import exit_code
from ..input.config import configured
from ..input.reports import report_at
from ..output.differences import differed
from ..output.text.screen import width
from ..output.text.structured import written
from ..output.text.terminal import complain, say


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
    unknown = any(each.change is Change.UNKNOWN for each in found.differences)
    return exit_code(found=bool(found.differences), unknown=unknown)
