"""`steward reconcile unguard`: takes the guard's finalizer off every instancetype and preference that bears it."""

from __future__ import annotations

import argparse

from exporter.cli.input.once import aim_of
from exporter.cli.output.text.terminal import complain, say

from ...carry_out.ledger_in_lease import cluster_uid
from ...plan.undo import Lost
from ..fitting import readable
from ..session import finish, open_session
from ..undoing import shown
from ..unguarding import Unguarding, considered, guards, known_guards, unguarded
from ..writing import agreed, attempts, directory_of, known, opened, settled, who

_COPY = Lost.COPY.value


def run(arguments: argparse.Namespace) -> int:
    return finish(_run(arguments))


async def _run(arguments: argparse.Namespace) -> int:
    if arguments.namespace == "":
        raise ValueError("a name is empty; for all namespaces leave -n out")
    async with open_session(arguments) as at:
        await at.refuse_no_namespace(arguments.namespace)
        directory, cluster = directory_of(arguments, at), await cluster_uid(at.reads)
        found = await guards(at, arguments.namespace, await who(at), known_guards(known(arguments, at)))
        if not found:
            await at.refuse_no_kubevirt()
            say("Nothing bears the guard.\n")
            return 0
        rows = [await considered(at, each, arguments.accept) for each in found]
        ready = [each for each in rows if isinstance(each, Unguarding)]
        for row in rows:
            if isinstance(row, Unguarding):
                say(readable(shown(row.plan.plan, f"{row.own.plan.target}:"), arguments))
            else:
                complain(aim_of(arguments).command(row))
        count = len(ready)
        if not ready or not agreed(arguments, f"Take the guard off {'it' if count == 1 else f'these {count}'}?"):
            return 1
        with opened(directory, cluster) as ledger:
            await settled(attempts(at, ledger), ledger)
            return max(await unguarded(at, ledger, ready), int(count < len(rows)))
