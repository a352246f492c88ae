"""What the commands share that look once, at a cluster or at a dump of one, and print a report."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable

from ..output.text.aimed import Aim
from ..output.text.terminal import complain
from .filters import UsageError


def of_running(arguments: argparse.Namespace) -> bool:
    """Whether a running steward is asked, or an option is given that is for one."""
    given = (arguments.exporter, arguments.token_file, arguments.ca_file, arguments.server_name)
    return any(given)


def aim_of(arguments: argparse.Namespace) -> Aim:
    """Where the arguments look."""
    client = _given(arguments, ("kubeconfig", "context"))
    more = _given(arguments, ("dump", "exporter", "token_file", "ca_file", "server_name"))
    return Aim(client, f"{client}{more}{' --complete' if getattr(arguments, 'complete', False) else ''}")


def _given(arguments: argparse.Namespace, names: Iterable[str]) -> str:
    text = ""
    for name in names:
        given = getattr(arguments, name, None) or ()
        option = "--from" if name == "dump" else f"--{name.replace('_', '-')}"
        values = given if isinstance(given, list | tuple) else (given,)
        text += "".join(f" {option} {shlex.quote(str(value))}" for value in values)
    return text


def refuse_complete_without_dump(arguments: argparse.Namespace) -> None:
    """Raises UsageError for --complete without a dump."""
    if not arguments.dump and arguments.complete:
        raise UsageError("--complete says what a dump holds; it needs --from")


def complain_if_late(arguments: argparse.Namespace, in_time: bool) -> None:
    if not in_time:
        complain(f"not everything was seen within {arguments.timeout:.0f} s")
