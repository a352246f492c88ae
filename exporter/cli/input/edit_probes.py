"""`steward check --probe-features` and `steward impact --probe`: asks for each VM, one after the other, what an edit of
it would be answered with, and prints where that differs from what the checks say.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence

from ...engine.turn import in_turns
from ...kube.errors import UnreachableError
from ...kube.probe import EditProbe
from ...store.cluster import Cluster
from ...store.record import UnansweredError
from ...views.edits import EditProbed, EditProbes, chosen, expected_edits, probed, summed
from ..output.table import indented, table
from ..output.terminal import one_line
from .filters import UsageError

__all__ = ["MOST", "add_probe_options", "ask_edits", "edits", "refuse_probe_of_dump"]

MOST = 200
_IN_VAIN = 3  # VMs in a row of which nothing is said, after which nobody asks any more
_UNDER = " " * 10


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


def edits(probes: EditProbes) -> str:
    """As text."""
    parts = []
    if probes.differences:
        rows = [
            (
                f"{each.vm}",
                f"{each.expected} ({', '.join(each.features)})" if each.features else each.expected,
                each.said,
            )
            for each in probes.differences
        ]
        parts.append(
            "The API server answers otherwise:\n" + table(("OBJECT", "EXPECTED", "IS"), rows, _beneath(probes))
        )
    if probes.unanswered:
        rows = [(f"{each.vm}", each.said, each.answer) for each in probes.unanswered]
        parts.append("No answer of the API server:\n" + table(("OBJECT", "WHAT", "ANSWER"), rows))
        if (more := probes.unanswered_in_all - len(probes.unanswered)) > 0:
            parts.append(f"and {more} more.\n")
    return "\n".join([*parts, _ending(probes)])


def _beneath(probes: EditProbes) -> Sequence[str]:
    return [
        (indented((each.answer,), f"{_UNDER}answer: ") if each.answer else "")
        + (indented((each.advice,), f"{_UNDER}next: ") if each.advice else "")
        for each in probes.differences
    ]


def _ending(probes: EditProbes) -> str:
    if not probes.asked:
        return f"Edits: {one_line(probes.why) or 'no VM asks for what is checked at admission'}.\n"
    left = f"; {probes.not_asked} not asked: {one_line(probes.why)}" if probes.not_asked else ""
    return (
        f"Edits of {probes.asked} VMs, by dry runs: {probes.agree} as expected, {len(probes.differences)} otherwise, "
        f"{probes.unanswered_in_all} without an answer{left}. Nothing was changed.\n"
    )
