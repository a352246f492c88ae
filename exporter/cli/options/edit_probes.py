"""The options by which the API server is asked about edits."""

from __future__ import annotations

import argparse

MOST = 200


def add_probe_options(parser: argparse.ArgumentParser, option: str, which: str) -> None:
    parser.add_argument(
        option,
        dest="probe",
        action="store_true",
        help=f"ask the API server too, by a dry-run patch without a change of each VM {which}, two a second: nothing "
        "is changed, but the ServiceAccount needs permission to patch virtualmachines (ClusterRole "
        "steward-feature-probe)",
    )
    parser.add_argument(
        "--probe-most", type=_number, default=MOST, metavar="NUMBER", help=f"of VMs that are asked for; default: {MOST}"
    )


def _number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:9]) < 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of VMs; write it as {MOST}")
    return int(text)
