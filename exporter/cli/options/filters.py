"""The options that say which findings are shown."""

from __future__ import annotations

import argparse
import re
from typing import Any

from ...findings.severity import Severity

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


_DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")


def add_filter_options(parser: Any) -> None:
    group = parser.add_argument_group("what is shown")
    group.add_argument(
        "what",
        metavar="WHAT",
        nargs="*",
        help="only of vm/NAME, vm/NAMESPACE/NAME, node/NAME, network/NAME or another object as `-o name` prints it, or "
        "of the cause or finding with this id; default: all",
    )
    group.add_argument(
        "--check", metavar="ID", action="append", help="only what this check finds and does not know; may be repeated"
    )
    where = group.add_mutually_exclusive_group()
    where.add_argument("--namespace", "-n", metavar="NS", action="append", help="only of this one; may be repeated")
    group.add_argument(
        "--selector",
        "-l",
        type=labels,
        metavar="LABELS",
        help="only of VMs with these labels, such as app=shop,!canary or tier in (web,db)",
    )
    where.add_argument("--all-namespaces", "-A", action="store_true", help="of all of them, which is the default")
    group.add_argument(
        "--reason",
        metavar="NAME",
        action="append",
        help="only findings of this reason, such as OrphanClaim, and what their checks do not know; may be repeated",
    )
    group.add_argument(
        "--feature",
        metavar="ID",
        action="append",
        help="only what is about this feature, feature gate or setting, such as gpu_dra, and what the checks feature_* "
        "do not know; may be repeated",
    )
    group.add_argument(
        "--severity",
        choices=[each.value for each in Severity],
        action="append",
        help="only of this one; may be repeated",
    )
    group.add_argument(
        "--min-severity", choices=[each.value for each in Severity], default="info", help="default: info, which is all"
    )
    group.add_argument(
        "--min-age",
        metavar="AGE",
        type=_duration,
        default=0.0,
        help="leave out what is younger, such as 90s, 10m, 2h or 1d; what has no known age is new",
    )
    group.add_argument(
        "--now", metavar="TIME", type=_time, help="what ages are counted to, such as 2026-11-21T17:30:00Z; default: now"
    )


def labels(text: str) -> Any:
    """The selector of labels that a text is."""
    from ...store.selector import selector_in  # only where one is given

    try:
        return selector_in(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _duration(text: str) -> float:
    match = _DURATION.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write it as 90s, 10m, 2h or 1d")
    return float(match[1]) * _UNITS[match[2]]


def _time(text: str) -> float:
    from ...store.record import epoch  # only where one is given

    try:
        moment = epoch(text)
    except ValueError:
        moment = None
    if moment is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write it as 2026-11-21T17:30:00Z")
    return moment
