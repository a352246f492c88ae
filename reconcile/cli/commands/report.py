"""`steward reconcile report`: what a ledger has of a time, to attach to a change ticket."""

from __future__ import annotations

import argparse
import time

from exporter.cli.output.text.screen import width
from exporter.cli.output.text.structured import json_of
from exporter.cli.output.text.terminal import complain, say

from ...ledger import LedgerError
from ...ledger.reading import extent
from ...show.report import LedgerReport, reported
from ...show.report_tables import html_of, markdown_of
from ...show.tallies import Span
from ..ledger_pages import summary_of
from ..report_text import text_of
from ..times import given
from ..writing import read_directory

_FORMATS = {"table": lambda report: text_of(report, width()), "md": markdown_of, "html": html_of, "json": json_of}


def run(arguments: argparse.Namespace) -> int:
    output = arguments.output or ("md" if width() is None else "table")
    try:
        say(_FORMATS[output](_report(arguments)), output)
    except (LedgerError, ValueError) as error:
        complain(str(error))
        return 2
    return 0


def _report(arguments: argparse.Namespace) -> LedgerReport:
    """Raises LedgerError, ValueError."""
    now = time.time()
    until = given("--until", arguments.until, now) if arguments.until else now
    since = given("--since", arguments.since, until)
    if since >= until:
        raise ValueError(f"--since {arguments.since} is not before --until {arguments.until or 'now'}")
    directory = read_directory(arguments)
    summary = summary_of(directory)
    own = extent(directory)
    return reported(
        summary.deeds, summary.counts, summary.stops, Span(since, until), ledger=own.ledger, cluster=own.cluster
    )
