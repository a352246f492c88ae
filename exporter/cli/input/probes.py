"""Asks the API server for each VM, one after the other: what an edit of it would be answered with (`--probe-features`,
`impact --probe`), or an eviction of its pod (`drain --probe`).
"""

from __future__ import annotations

import argparse
from collections.abc import Collection
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


if TYPE_CHECKING:
    from ...kube.probe import Probe  # its client is dear to import, and a dump needs none


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
