"""`steward check --probe-features` and `steward impact --probe`: asks for each VM, one after the other, what an edit of
it would be answered with.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection

from ...engine.turn import in_turns
from ...kube.errors import UnreachableError
from ...kube.probe import EditProbe
from ...store.cluster import Cluster
from ...store.record import UnansweredError
from ...views.edits import EditProbed, EditProbes, chosen, expected_edits, probed, summed
from .filters import UsageError

__all__ = ["MOST", "add_probe_options", "ask_edits", "refuse_probe_of_dump"]

MOST = 200
_IN_VAIN = 3  # VMs in a row of which nothing is said, after which nobody asks any more


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


def refuse_probe_of_dump(arguments: argparse.Namespace, option: str) -> None:
    """Raises UsageError where a dump is to be read and the API server to be asked."""
    if arguments.dump and arguments.probe:
        raise UsageError(f"{option} asks a cluster; there is none behind --from")


def _number(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text[:9]) < 100_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of VMs; write it as {MOST}")
    return int(text)


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
