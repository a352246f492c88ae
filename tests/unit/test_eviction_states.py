"""What the states of drains and strategies count, and that it costs nothing where nobody empties a node."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.states import all_states
from exporter.states.base import Aggregates
from exporter.states.eviction_strategies import Strategies
from exporter.states.node_drains import Drains
from tests.evaluation import Evaluation
from tests.rows import full

INDEXES = tuple(index for state in all_states() for index in state.indexes)
ABLE = {"strategy": "LiveMigrate", "migratable": True}


class Fleet:
    def __init__(self, *rows: dict[str, Any]) -> None:
        self.evaluation = Evaluation([], indexes=INDEXES)
        self.aggregates = Aggregates(self.evaluation.engine.cluster, all_states())
        self.evaluation.engine.observe(self.aggregates.changed)
        self.put({"kind": "Node", "name": "node01", "cordoned": True}, *rows)

    def put(self, *rows: dict[str, Any]) -> None:
        for row in rows:
            self.evaluation.seen(full(row))

    def left(self) -> dict[str, dict[str, int]]:
        list(self.aggregates.settle())
        found = self.aggregates.of(Drains).left()
        return {name: {state.value: count for state, count in counts.items()} for name, counts in found.items()}


def vmi(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "VirtualMachineInstance", "name": name, "uid": f"uid-{name}", **more}


@pytest.mark.parametrize(
    ("rows", "becomes"),
    [
        ([vmi("a", **ABLE)], "waiting"),
        ([vmi("a", **ABLE, evacuation="node01")], "waiting"),
        ([vmi("a", strategy="LiveMigrate")], "unknown"),
        ([vmi("a", strategy="None")], "unknown"),
        ([vmi("a", **ABLE, evacuation="node02")], "stale"),
        ([vmi("a", strategy="External")], "external"),
        ([vmi("a", strategy="LiveMigrate", migratable=False)], "blocked"),
        ([vmi("a", deleting=True)], "terminating"),
        (
            [
                vmi("a", **ABLE, evacuation="node01"),
                {"kind": "VirtualMachineInstanceMigration", "name": "m", "vmi": "a", "phase": "Running"},
            ],
            "migrating",
        ),
        ([vmi("a"), {"kind": "Pod", "name": "p", "domain": "a", "vmi": "uid-a"}], "shuts_down"),
        (
            [
                vmi("a"),
                {"kind": "Pod", "name": "p", "domain": "a", "vmi": "uid-a"},
                {"kind": "PodDisruptionBudget", "name": "b", "selector": {}, "refused": "SyncFailed"},
            ],
            "blocked",
        ),
    ],
)
def test_what_becomes_of_an_vmi(rows: list[dict[str, Any]], becomes: str) -> None:
    assert Fleet(*rows).left() == {"node01": {becomes: 1}}


def test_a_node_that_nobody_empties_is_left_out() -> None:
    fleet = Fleet(vmi("a", **ABLE), {"kind": "Node", "name": "node02"}, vmi("b", **ABLE, node="node02"))
    assert fleet.left() == {"node01": {"waiting": 1}}

    fleet.put({"kind": "Node", "name": "node01"}, {"kind": "Node", "name": "node02", "cordoned": True})
    assert fleet.left() == {"node02": {"waiting": 1}}

    fleet.put(vmi("b", **ABLE, node="node01"))
    assert fleet.left() == {"node02": {}}


def test_strategies_are_those_that_hold() -> None:
    fleet = Fleet(vmi("a", strategy="External"), vmi("b"), vmi("c", phase="Succeeded"))
    strategies = fleet.aggregates.of(Strategies)
    assert strategies.counts() == {"External": 1, "LiveMigrate": 0, "LiveMigrateIfPossible": 0, "None": 1}

    fleet.put({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "strategy": "LiveMigrate"})
    assert strategies.counts() == {"External": 1, "LiveMigrate": 1, "LiveMigrateIfPossible": 0, "None": 0}

    fleet.evaluation.gone("VirtualMachineInstance", "ns", "a")
    assert strategies.counts()["External"] == 0
