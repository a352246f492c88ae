"""Whatever is made large, an evaluation costs in proportion to it, and what is found stays short."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

import msgspec
import pytest

from exporter.checks import all_checks
from exporter.checks.features import feature_nodes
from exporter.engine.evaluate import at_once
from exporter.findings.check import PER_FLEET
from exporter.questions import drain
from tests.evaluation import Evaluation, api_kinds
from tests.rows import full
from tests.unit.exporter.engine.stall_scenes import SCENES

pytestmark = pytest.mark.long

_CHECKS = [check for check in all_checks() if check.scope is not PER_FLEET]
_SIZE = 60
_MOST = 3.0  # times the work for twice the input: it would be four where each is compared with each
_LONGEST = 5000  # bytes of one finding


def _evaluated(scene: str, size: int) -> Evaluation:
    evaluation = Evaluation(_CHECKS, indexes=drain.READER.indexes)
    for thing in SCENES[scene](size):
        evaluation.seen(thing)
    return evaluation


def _lines(work: Callable[[], object]) -> int:
    """How many lines of Python it runs, also of what loops within one line: exact, and the same on any host."""
    count = 0

    def traced(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += 1
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def _work(scene: str, size: int) -> int:
    evaluation = _evaluated(scene, size)
    return _lines(evaluation.evaluate)


@pytest.mark.parametrize("scene", SCENES)
def test_twice_as_much_is_about_twice_the_work(scene: str) -> None:
    once, twice = _work(scene, _SIZE), _work(scene, 2 * _SIZE)
    assert twice <= _MOST * once, f"{twice / once:.1f} times the work"


@pytest.mark.parametrize(
    "scene",
    [
        "pdbs_and_vmis",
        "pdbs_of_vmis",
        "pods_of_one_vmi",
        "vmis_on_one_node",
        "leftover_claims_and_pods",
        "primaries_and_vms_of_one_namespace",
        "stacks_and_claims",
        "vms_of_one_instancetype",
        "vms_of_one_revision",
        "revisions_of_one_vm",
    ],
)
@pytest.mark.parametrize("blind", [False, True])
def test_twice_as_much_arrives_in_about_twice_the_work(scene: str, blind: bool) -> None:
    def arrived(size: int) -> int:
        evaluation = Evaluation(_CHECKS, api_kinds() if blind else (), indexes=drain.READER.indexes)
        things = SCENES[scene](size)
        return _lines(lambda: deque(map(evaluation.seen, things), 0))

    once, twice = arrived(_SIZE), arrived(2 * _SIZE)
    assert twice <= _MOST * once, f"{twice / once:.1f} times the work"


@pytest.mark.parametrize("scene", SCENES)
def test_what_is_found_stays_short(scene: str) -> None:
    evaluation = _evaluated(scene, 400)
    evaluation.evaluate()
    findings = list(evaluation.engine.findings())
    longest = max(findings, key=lambda each: len(msgspec.json.encode(each)), default=None)
    assert longest is None or len(msgspec.json.encode(longest)) < _LONGEST, longest.message
    assert max((len(each.message) for each in findings), default=0) <= 1000


def test_a_drain_of_many_vmis_under_many_pdbs_is_as_long_as_the_vmis() -> None:
    reports = []
    for size in (100, 200):
        evaluation = _evaluated("pdbs_and_vmis", size)
        evaluation.evaluate()
        taken = at_once(drain.steps(evaluation.engine.cluster, ["node01"], evaluation.engine.findings(), 1))
        reports.append(len(msgspec.json.encode(taken)))
    assert reports[1] < 2.2 * reports[0]


def test_a_finding_says_how_many_pdbs_there_are_beside_those_that_it_names() -> None:
    evaluation = _evaluated("pdbs_and_vmis", 40)
    evaluation.evaluate()
    (found, *_) = (each for each in evaluation.engine.findings() if each.reason == "MultiplePDB")
    assert found.message.startswith("PDBs pdb-0, pdb-1, pdb-10, pdb-11, pdb-12 and 35 more all select the VMI's pod")
    assert (len(found.evidence["pdbs"]), found.evidence["pdbsInAll"], len(found.related)) == (10, 40, 10)


def test_of_very_many_pdbs_it_says_at_least_how_many() -> None:
    evaluation = _evaluated("pdbs_and_vmis", 150)
    evaluation.evaluate()
    (found, *_) = (each for each in evaluation.engine.findings() if each.reason == "MultiplePDB")
    assert "and at least 95 more all select" in found.message
    assert found.evidence["pdbsInAll"] == "at least 100"


def test_a_cordon_costs_the_same_however_many_vms_need_what_the_node_offers() -> None:
    labels = {"kubevirt.io/schedulable": "true", "machine-type.node.kubevirt.io/q35": "true"}
    node = {"kind": "Node", "name": "node01", "labels": labels}

    def cordoned(size: int) -> int:
        evaluation = Evaluation([feature_nodes.CHECK])
        evaluation.seen(full({"kind": "KubeVirt", "name": "kubevirt", "version": "v1.8.4"}))
        for name in ("node01", "node02", "node03"):
            evaluation.seen(full(node | {"name": name}))
        for each in range(size):
            vmi = {"kind": "VirtualMachineInstance", "name": f"vm-{each}", "migratable": True}
            evaluation.seen(full(vmi | {"domain": {"machine": {"type": "q35"}}}))
        evaluation.evaluate()
        evaluation.seen(full(node | {"cordoned": True}))
        return _lines(evaluation.evaluate)

    assert cordoned(3000) <= 1.1 * cordoned(1000)
