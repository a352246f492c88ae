"""What `steward vm` is called with."""

from __future__ import annotations

import argparse
from typing import Any

from ..options import add_exporter_options, add_look_options

_EXIT = (
    "Exit code: 0 nothing is wrong with it; 1 it has a finding above info, must not be started, restarted or migrated, "
    "no node is left for it, or it keeps its node from being drained; 2 could not see everything, or the VM is not "
    "there."
)


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "vm",
        help="one VM whole: where it runs and could go, what it waits for, what it is, what would happen to it",
        description="Looks once at one VM, or at a VMI that stands alone. With --manifest it evaluates a VM that does "
        "not exist yet: which nodes could start it, and which findings it would have. Nothing is created or changed.",
        epilog=_EXIT,
    )
    add_look_options(parser)
    add_exporter_options(parser)
    parser.add_argument(
        "vm", metavar="NAMESPACE/NAME", nargs="?", help="the VM, or the VMI; may be left out with --manifest"
    )
    parser.add_argument(
        "--manifest",
        metavar="FILE",
        help="of a VirtualMachine or VirtualMachineInstance, YAML or JSON; - for standard input; one without a "
        "namespace goes to that of NAMESPACE/NAME, else to default",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    from ..commands.vm import run as act  # what only this command needs

    return act(arguments)
