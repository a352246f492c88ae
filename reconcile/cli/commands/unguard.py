"""`steward reconcile unguard`: takes the guard's finalizer off every instancetype and preference that bears it."""

from __future__ import annotations

import argparse
from typing import Any

from exporter.cli.output.terminal import complain, say

from ...plan.undo import Lost
from ...run.witness import cluster_uid
from ..next_commands import aimed
from ..session import add_options, desk, finish
from ..undoing import shown
from ..unguarding import Unguarding, considered, guards, known_guards, unguarded
from ..writing import add_ledger_option, agreed, attempts, directory_of, known, opened, settled, who

__all__ = ["add"]

_COPY = Lost.COPY.value


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "unguard",
        help="take the guard off instancetypes and preferences",
        description="Confirms on fresh reads that the finalizer of guard_instancetype can be taken off each "
        "instancetype and preference that has it, shows what that comes to, asks, and takes it off. The objects are "
        "paused.",
    )
    parser.add_argument("--all", action="store_true", required=True, help="of all of them, or of those of -n")
    parser.add_argument("-n", "--namespace", metavar="NAME", help="only in this namespace, and none of the cluster")
    parser.add_argument(
        "--accept",
        action="append",
        default=[],
        choices=(_COPY,),
        metavar="LOSS",
        help=f"{_COPY}: give up what VMs without a copy depend on, where its deletion waits",
    )
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_ledger_option(parser)
    add_options(parser, findings=False)
    parser.set_defaults(run=lambda arguments: finish(_run(arguments)))


async def _run(arguments: argparse.Namespace) -> int:
    if arguments.namespace == "":
        raise ValueError("a name is empty; for all namespaces leave -n out")
    async with desk(arguments) as at:
        directory, cluster = directory_of(arguments, at), await cluster_uid(at.reads)
        found = await guards(at, arguments.namespace, await who(at), known_guards(known(arguments, at)))
        if not found:
            say("Nothing bears the guard.\n")
            return 0
        rows = [await considered(at, each, arguments.accept) for each in found]
        ready = [each for each in rows if isinstance(each, Unguarding)]
        for row in rows:
            if isinstance(row, Unguarding):
                say(shown(row.plan.plan, f"{row.own.plan.target}:"))
            else:
                complain(aimed(row, arguments))
        count = len(ready)
        if not ready or not agreed(arguments, f"Take the guard off {'it' if count == 1 else f'these {count}'}?"):
            return 1
        with opened(directory, cluster) as ledger:
            await settled(attempts(at, ledger), ledger)
            return max(await unguarded(at, ledger, ready), int(count < len(rows)))
