"""What commands that write share: who asks, the ledger of a person, and the last question."""

from __future__ import annotations

import argparse
import getpass
import os
import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from exporter.cli.output.text.terminal import complain
from exporter.kube.errors import KubeError
from exporter.kube.reviews import own_name

from ..carry_out.attempt import Attempts, Fence
from ..carry_out.execute import PlanWriter
from ..ledger import Ledger, LedgerLockedError
from ..ledger.manual import folder
from ..ledger.settling import Settling
from ..plan.plan import Delete, Plan
from ..plan.remediations import all_remediations, undo_of
from ..plan.undo import NoUndo
from .session import Session, configured


def directory_of(arguments: argparse.Namespace, at: Session | None) -> Path:
    if arguments.ledger is not None:
        return Path(arguments.ledger)
    if at is not None and arguments.config is not None:
        return Path(at.config.ledger.directory)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "kubevirt-steward" / "ledger"


def read_directory(arguments: argparse.Namespace) -> Path:
    """That of a ledger that is only read, without a cluster. Raises MistakesError."""
    if arguments.ledger is None and arguments.config is not None:
        return Path(configured(arguments)[0].ledger.directory)
    return directory_of(arguments, None)


def named_directory(arguments: argparse.Namespace, at: Session | None) -> Path | None:
    """That of the ledger, if an option or the configuration names it."""
    named = arguments.ledger is not None or getattr(arguments, "config", None) is not None
    return directory_of(arguments, at) if named else None


def taking_back(plan: Plan, attempt: str, directory: Path | None) -> str:
    """How a write is taken back, as a sentence with a command where there is one; `directory` is that of the ledger,
    None for the default.
    """
    ledger = f" --ledger {shlex.quote(str(directory))}" if directory is not None else ""
    if isinstance(plan.step, Delete):
        undo = undo_of(plan.remediation)
        known = f"{undo.why} " if isinstance(undo, NoUndo) else ""
        return f"{known}{recreating(attempt, directory)}"
    if plan.undo.startswith("none"):
        return f"It can't be undone: {plan.undo}"
    return f"To undo it: steward reconcile undo {attempt}{ledger}"


def recreating(attempt: str, directory: Path | None) -> str:
    """How an object that was deleted is created again, as a sentence; `directory` is as of `taking_back`."""
    ledger = f" --ledger {shlex.quote(str(directory))}" if directory is not None else ""
    return f"To create the object again: steward reconcile ledger {attempt}{ledger} --object | kubectl create -f -"


@contextmanager
def opened(directory: Path, cluster: str) -> Iterator[Ledger]:
    """The ledger; where the sidecar writes it, one beside it. `cluster` is as of `cluster_uid`. Raises LedgerError."""
    try:
        ledger = Ledger.open(directory, clock=time.time, cluster=cluster)
    except LedgerLockedError:
        ledger = Ledger.open(folder(directory), clock=time.time, cluster=cluster)
    with ledger:
        yield ledger


def known(arguments: argparse.Namespace, at: Session) -> Path | None:
    """The directory of a ledger that is only read; None where there is none."""
    directory = directory_of(arguments, at)
    return directory if directory.is_dir() else None


def attempts(at: Session, ledger: Ledger, fence: Fence | None = None) -> Attempts:
    settling = Settling(
        time.time, arrives=at.config.settle_after.total_seconds(), skew=lambda: at.transport.clocks.skew(time.time())
    )
    return Attempts(
        at.reads,
        PlanWriter(at.transport),
        ledger,
        at.kinds,
        clock=time.time,
        fence=fence,
        remediations=all_remediations(),
        settling=settling,
    )


async def settled(attempts: Attempts, ledger: Ledger) -> None:
    """Settles what earlier commands left without an end, as far as that can be said by now."""
    for intended in ledger.unfinished():
        try:
            await attempts.settle(intended)
        except KubeError as error:
            complain(f"the outcome of attempt {intended.attempt} can't be read: {error}")


async def who(at: Session) -> str:
    """The name by which the API server knows who asks; else that of the local user."""
    try:
        return await own_name(at.transport)
    except KubeError:
        return getpass.getuser()


def agreed(arguments: argparse.Namespace, question: str) -> bool:
    """Whether the person says yes, or did so beforehand by --yes."""
    if arguments.yes:
        return True
    if not sys.stdin.isatty():
        complain("can't ask for confirmation: stdin isn't a terminal. Review the plan, then rerun with --yes")
        return False
    print(f"{question} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
