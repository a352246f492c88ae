"""`steward check --probe-features` and `steward impact --probe`: asks for each VM, one after the other, what an edit of
it would be answered with.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection
from typing import TYPE_CHECKING

from ...engine.turn import in_turns
from ...facts.record import UnansweredError
from ...kube.errors import UnreachableError
from ...questions.edits import EditProbed, EditProbes, chosen, expected_edits, probed, summed
from ...store.cluster import Cluster
from ..options import MOST
from .filters import UsageError

if TYPE_CHECKING:
    from ...kube.probe import EditProbe  # its client is dear to import, and a dump needs none

_IN_VAIN = 3  # VMs in a row of which nothing is said, after which nobody asks any more


def refuse_probe_of_dump(arguments: argparse.Namespace, option: str) -> None:
    """Raises UsageError where a dump is to be read and the API server to be asked."""
    if arguments.probe and (arguments.dump or getattr(arguments, "exporter", None)):
        behind = "--from" if arguments.dump else "--exporter"
        raise UsageError(f"{option} asks a cluster; there is none behind {behind}")


async def ask_edits(
    cluster: Cluster, probe: EditProbe, rules: Collection[str] | None = None, most: int = MOST
) -> EditProbes:
    """The answers for the VMs that ask for what is checked at admission; with `rules`, for those that ask for one of
    these features. Raises ConfigError.
    """
    try:
        expected = await in_turns(expected_edits(cluster, rules))
    except UnansweredError as error:
        return summed((), 0, f"nobody was asked: {error}")
    answers: list[EditProbed] = []
    in_vain, why = 0, f"only {most} are asked for; --probe-most takes more" if len(expected) > most else ""
    for each in chosen(expected, most):
        try:
            answer = probed(each, *await probe.ask(each.vm))
        except UnreachableError as error:
            answer = probed(each, 0, str(error))
        answers.append(answer)
        in_vain = in_vain + 1 if answer.said in ("forbidden", "unclear") else 0
        if in_vain == _IN_VAIN and len(answers) < len(expected):
            why = f"{_IN_VAIN} in a row said nothing: {answer.answer}"
            break
    return summed(answers, len(expected) - len(answers), why)
