"""`steward reconcile report`: what a ledger has of a time, to attach to a change ticket."""

from __future__ import annotations

import argparse
import time
from typing import Any

from exporter.cli.output.structured import json_of
from exporter.cli.output.terminal import complain, say

from ...ledger import LedgerError
from ...ledger.reading import extent
from ...show.report import LedgerReport, reported
from ...show.report_tables import html_of, markdown_of
from ...show.tallies import Span
from ..ledger_pages import deeds_in
from ..session import add_options
from ..times import given
from ..writing import add_ledger_option, read_directory

__all__ = ["add"]

_FORMATS = {"md": markdown_of, "html": html_of, "json": json_of}


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        help="what was found, approved, written, and what came of it, to attach to a ticket",
        description="Reports from the ledger alone what was found, planned, approved and by whom, written, verified, "
        "what came back, what was undone, and what mode shadow would have written: by remediation and by cause.",
    )
    parser.add_argument(
        "--since",
        default="7d",
        metavar="TIME",
        help="from then on: 7d before the end, or 2026-07-01T18:00:00Z; default: 7d",
    )
    parser.add_argument(
        "--until", default="", metavar="TIME", help="until before then, in the same forms; default: now"
    )
    parser.add_argument("-o", "--output", choices=tuple(_FORMATS), default="md", help="default: md")
    add_ledger_option(parser)
    add_options(parser, findings=False)
    parser.set_defaults(run=_run)


def _run(arguments: argparse.Namespace) -> int:
    try:
        say(_FORMATS[arguments.output](_report(arguments)), arguments.output)
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
    deeds, counts = deeds_in(directory)
    own = extent(directory)
    return reported(deeds, counts, Span(since, until), ledger=own.ledger, cluster=own.cluster)
