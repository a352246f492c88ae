"""What `steward reconcile approve` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_limit_option, add_writing_options

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0}


def _duration(text: str) -> float:
    number, unit = text[:-1], text[-1:]
    if not number.isdecimal() or unit not in _UNITS:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write it as 30m, 1h or 1d")
    return int(number) * _UNITS[unit]


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "approve",
        help="let the sidecar carry out one plan, or those of one cause",
        description="Confirms a finding, and annotates the object with the plan's hash, your name and an end. The "
        "sidecar carries it out where the remediation's mode is approve; `steward reconcile apply` needs no sidecar. "
        "Of a cause it shows the plans of the first objects, asks, and annotates each of them.",
    )
    parser.add_argument(
        "fingerprint", metavar="ID", help="fingerprint of a finding, or a cause's id; its first digits are enough"
    )
    parser.add_argument("--remediation", metavar="ID", help="which one, where there are several")
    add_limit_option(parser, "at most so many objects of a cause")
    parser.add_argument("--plan", metavar="HASH", help="only if it is still this plan")
    parser.add_argument("--for", dest="lasting", default=3600.0, type=_duration, metavar="TIME", help="default: 1h")
    add_writing_options(parser, yes="do not ask; of one finding nothing is asked")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.approve import run as act  # what only this command needs

    return act(arguments)
