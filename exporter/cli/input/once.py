"""What the commands share that look once, at a cluster or at a dump of one, and print a report."""

from __future__ import annotations

import argparse

from ..output.terminal import complain
from .filters import UsageError

__all__ = ["complain_if_late", "of_running", "refuse_complete_without_dump"]


def of_running(arguments: argparse.Namespace) -> bool:
    """Whether a running steward is asked, or an option is given that is for one."""
    given = (arguments.exporter, arguments.token_file, arguments.ca_file, arguments.server_name)
    return any(given)


def refuse_complete_without_dump(arguments: argparse.Namespace) -> None:
    """Raises UsageError for --complete without a dump."""
    if not arguments.dump and arguments.complete:
        raise UsageError("--complete says what a dump holds; it needs --from")


def complain_if_late(arguments: argparse.Namespace, in_time: bool) -> None:
    if not in_time:
        complain(f"not everything was seen within {arguments.timeout:.0f} s")
