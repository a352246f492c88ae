"""What `steward features` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_exporter_options, add_look_options

_EXIT = (
    "BITES says what a refusal stops: admission: each edit of the VM and each new VMI; edit: each edit of the VM, "
    "which starts all the same; creation: new VMs and VMIs; pod, scheduling: the launcher pod, so that the VMI stays "
    "pending; object: another object than the VM, or a call of the API; live: nothing, the feature is ignored. "
    "Exit code: 0 all known and counted, 2 not everything could be seen."
)


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "features",
        help="what KubeVirt allows, and which VMs ask for it",
        description="Prints which features the cluster allows or refuses and why, how many VMs and VMIs ask for each, "
        "and which feature gates are on. Features that are allowed and that nobody asks for are only counted, unless "
        "they are named.",
        epilog=_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument(
        "feature",
        metavar="FEATURE",
        nargs="*",
        help="only these, such as gpu_dra, or those of a feature gate, such as VSOCK; default: all",
    )
    parser.add_argument(
        "--unallowed", action="store_true", help="only what VMs or VMIs ask for without being allowed to"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.features import run as act  # what only this command needs

    return act(arguments)
