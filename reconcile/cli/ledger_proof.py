"""What is proven of a ledger: by its files alone, and with the Lease; and how one that does not fit it is accepted."""

from __future__ import annotations

import argparse
from pathlib import Path

from exporter.cli.output.text.screen import width
from exporter.cli.output.text.terminal import complain, say

from ..act.execute import PlanWriter, WriteOutcome
from ..ledger import Ledger, prove
from ..ledger.manual import folder
from ..ledger.proving import Proof
from ..plan.annotations import PREFIX
from ..run.witness import ACCEPT, LEDGER, cluster_uid, misfit
from .fitting import fitted
from .leases import lease_path, travelling
from .session import desk
from .writing import directory_of, who

_ALONE = (
    "That no entry after it is missing is known only with the Lease: --verify with --lease or --kubeconfig compares."
)


def report(proof: Proof, more: str = _ALONE) -> int:
    """Says what is wrong, or what was proven; the exit code."""
    if proof.wrong:
        say("".join(f"{each}\n" for each in proof.wrong))
        return 1
    count = f"{proof.count} {'entry' if proof.count == 1 else 'entries'}"
    found = "No entries: is this the directory of the ledger?"
    if proof.count:
        found = f"{count}, unbroken from entry {proof.first} to entry {proof.last}, of {proof.whose}."
    say(fitted(f"{' '.join(filter(None, (found, proof.cut, more)))}\n", width()))
    return 0


def both(directory: Path, proof: Proof, more: str = _ALONE) -> int:
    """The same of the ledger and of what people did beside it, in the sidecar's pod."""
    code = report(proof, more)
    beside = folder(directory)
    if not beside.is_dir():
        return code
    say(f"Beside it, what people did ({beside}): ")
    return max(code, report(prove(beside), ""))


async def compare(arguments: argparse.Namespace) -> int:
    """With the cluster and the Lease. Raises KubeError, ValueError, LedgerError."""
    async with desk(arguments) as at:
        said = (await travelling(at)).get(LEDGER)  # before the ledger, which goes on
        cluster, directory = await cluster_uid(at.reads), directory_of(arguments, at)
    proof = prove(directory)
    if proof.wrong:
        return both(directory, proof)

    def sum_at(seq: int) -> str | None:
        return next((entry.sum for entry in Ledger.read(directory) if entry.seq == seq), None)

    why = misfit(said, proof.head, sum_at, directory)
    if proof.whose.cluster != cluster:
        why = f"the ledger in {directory} is {proof.whose}, and this is cluster {cluster}"
    if why:
        say(f"{why}\n")
        return 1
    expected = (said or "").split()[1]
    return both(directory, proof, f"It is of this cluster, and the Lease was last held with it up to entry {expected}.")


async def accept(arguments: argparse.Namespace) -> int:
    """Annotates the Lease: the sidecar then takes its ledger as it is. Raises KubeError, ValueError."""
    async with desk(arguments) as at:
        path = await lease_path(at)
        answer = await PlanWriter(at.transport).annotate(
            path, {f"{PREFIX}{ACCEPT}": f"{arguments.accept} by {await who(at)}"}
        )
    if answer.outcome is not WriteOutcome.ACCEPTED:
        complain(f"cannot accept the ledger: {answer.why}")
        return 2
    say("The sidecar takes its ledger as it is, if that is what the word is for; its log and the ledger will say so.\n")
    return 0
