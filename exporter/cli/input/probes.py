"""Asks the API server for each VM, one after the other: what an edit of it would be answered with (`--probe-features`,
`impact --probe`), or an eviction of its pod (`drain --probe`). Edits are printed where the answer differs from what the
checks say.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import msgspec

from ...engine.turn import in_turns
from ...facts.record import UnansweredError
from ...kube.errors import UnreachableError
from ...questions.drain import Drain, NodeReport, VMReport
from ...questions.drain import probed as evictions_probed
from ...questions.edits import EditProbed, EditProbes, chosen, expected_edits, probed, summed
from ...store.cluster import Cluster
from ..options import MOST
from ..output.text.layout import indented, table
from ..output.text.terminal import one_line
from .filters import UsageError

if TYPE_CHECKING:
    from ...kube.probe import EditProbe, Probe  # its client is dear to import, and a dump needs none


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


async def with_probes(drain: Drain, probe: Probe) -> Drain:
    """The same with the answers. Raises UnreachableError."""
    nodes = [await _node(node, probe, down=bool(drain.webhook)) for node in drain.nodes]
    return msgspec.structs.replace(drain, nodes=tuple(nodes))


async def _node(node: NodeReport, probe: Probe, *, down: bool) -> NodeReport:
    vms = [await _vm(each, probe, down=down) for each in node.vms]
    return msgspec.structs.replace(node, vms=tuple(vms))


async def _vm(vm: VMReport, probe: Probe, *, down: bool) -> VMReport:
    if vm.pod is None:
        return vm
    code, text = await probe.ask(vm.pod)
    return msgspec.structs.replace(vm, probe=evictions_probed(vm, code, text, down=down))


_UNDER = " " * 10


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
        return f"Edits: {one_line(probes.why) or 'no VM requests a feature that is checked at admission'}.\n"
    left = f"; {probes.not_asked} not asked: {one_line(probes.why)}" if probes.not_asked else ""
    return (
        f"Edits of {probes.asked} VMs, by dry runs: {probes.agree} as expected, {len(probes.differences)} otherwise, "
        f"{probes.unanswered_in_all} without an answer{left}. Nothing was changed.\n"
    )
