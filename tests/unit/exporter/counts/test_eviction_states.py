"""What the states of drains and strategies count, and that only nodes that are cordoned or drained are."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from exporter.counts import all_states
from exporter.counts.base import Aggregates
from exporter.counts.eviction_strategies import Strategies
from exporter.counts.node_drains import Drains
from exporter.metrics.states import States
from tests.evaluation import Evaluation
from tests.rows import full

INDEXES = tuple(index for state in all_states() for index in state.indexes)
ABLE = {"strategy": "LiveMigrate", "migratable": True}
MIGRATION = {"kind": "VirtualMachineInstanceMigration", "name": "m", "vmi": "a", "evacuates": "node01"}


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

    async def lines(self, family: str) -> list[str]:
        page = [part async for part in States(self.evaluation.engine.cluster, self.aggregates).render()]
        return [line for line in b"".join(page).decode().splitlines() if line.startswith(f"{family}{{")]


def vmi(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "VirtualMachineInstance", "name": name, "uid": f"uid-{name}", **more}


def pod(**more: Any) -> dict[str, Any]:
    return {"kind": "Pod", "name": "p", "domain": "a", "vmi": "uid-a", **more}


@pytest.mark.parametrize(
    ("rows", "state"),
    [
        ([vmi("a", **ABLE), pod()], "waiting"),
        ([vmi("a", **ABLE, evacuation="node01"), MIGRATION | {"phase": "Pending"}], "waiting"),
        ([vmi("a", **ABLE, evacuation="node01")], "blocked"),  # nobody has made a migration
        ([vmi("a", strategy="LiveMigrate")], "unknown"),
        ([vmi("a", **ABLE)], "unknown"),  # no pod of it is seen
        ([vmi("a", strategy="None")], "unknown"),
        ([vmi("a", **ABLE, evacuation="node02")], "blocked"),
        ([vmi("a", strategy="External", set="blue")], "external"),
        ([vmi("a", strategy="External")], "blocked"),
        ([vmi("a", strategy="LiveMigrate", migratable=False)], "blocked"),
        ([vmi("a", deleting=True)], "terminating"),
        ([vmi("a", **ABLE, evacuation="node01"), MIGRATION | {"phase": "Running"}], "migrating"),
        ([vmi("a"), pod()], "shuts_down"),
        (
            [vmi("a"), pod(), {"kind": "PodDisruptionBudget", "name": "b", "selector": {}, "refused": "SyncFailed"}],
            "blocked",
        ),
    ],
)
def test_the_state_of_a_vmi(rows: list[dict[str, Any]], state: str) -> None:
    assert Fleet(*rows).left() == {"node01": {state: 1}}


def test_a_limit_of_the_cluster_before_1_9_is_followed() -> None:
    """Nothing of the node changes when a migration elsewhere ends."""
    limits = {"migrations": {"parallelMigrationsPerCluster": 1}, "version": "v1.8.0"}
    elsewhere = MIGRATION | {"name": "m2", "vmi": "b"}
    fleet = Fleet(
        {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"} | limits,
        vmi("a", **ABLE, evacuation="node01"),
        vmi("b", **ABLE, node="node02"),
        elsewhere | {"phase": "Running"},
    )
    assert fleet.left() == {"node01": {"waiting": 1}}
    fleet.put(elsewhere | {"phase": "Succeeded"})
    assert fleet.left() == {"node01": {"blocked": 1}}


def test_a_limit_of_the_cluster_is_followed_for_those_that_leave_by_a_taint() -> None:
    limits = {"migrations": {"parallelMigrationsPerCluster": 1}, "version": "v1.8.0"}
    elsewhere = MIGRATION | {"name": "m2", "vmi": "b"}
    fleet = Fleet(
        {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"} | limits,
        {"kind": "Node", "name": "node01", "taints": ["kubevirt.io/drain:NoSchedule"]},
        vmi("a", **ABLE),
        vmi("b", **ABLE, node="node02"),
        elsewhere | {"phase": "Running"},
    )
    assert fleet.left() == {"node01": {"waiting": 1}}
    fleet.put(elsewhere | {"phase": "Succeeded"})
    assert fleet.left() == {"node01": {"blocked": 1}}
    fleet.put(elsewhere | {"phase": "Running"})
    assert fleet.left() == {"node01": {"waiting": 1}}


@pytest.mark.parametrize("taint", ["medik8s.io/drain:PreferNoSchedule", "kubevirt.io/drain:NoExecute"])
def test_a_taint_that_keeps_nothing_off_is_no_drain(taint: str) -> None:
    fleet = Fleet(vmi("a", **ABLE), {"kind": "Node", "name": "node01", "taints": [taint]})
    assert fleet.left() == {}


def test_a_node_that_nobody_drains_is_left_out() -> None:
    fleet = Fleet(vmi("a", **ABLE), {"kind": "Node", "name": "node02"}, vmi("b", **ABLE, node="node02"))
    assert fleet.left() == {"node01": {"unknown": 1}}

    fleet.put({"kind": "Node", "name": "node01"}, {"kind": "Node", "name": "node02", "cordoned": True})
    assert fleet.left() == {"node02": {"unknown": 1}}

    fleet.put(vmi("b", **ABLE, node="node01"))
    assert fleet.left() == {"node02": {}}


REQUESTED, TAINTED, BEGUN = "2026-09-21T12:00:00Z", "2026-09-21T11:00:00Z", "2026-09-21T10:00:00Z"
STARTED = "kubevirt_node_drain_started_timestamp_seconds"
ASKED = vmi("a", **ABLE, evacuation="node01", evacuation_since=REQUESTED)
MAINTENANCE = {"kind": "NodeMaintenance", "name": "m1", "node": "node01", "created": BEGUN}


def tainted(key: str, added: str | None) -> dict[str, Any]:
    taint = {"key": key, "effect": "NoSchedule", "timeAdded": added}
    return {"kind": "Node", "name": "node01", "over": {"spec": {"unschedulable": True, "taints": [taint]}}}


@pytest.mark.parametrize(
    ("rows", "started"),
    [
        ([vmi("a", **ABLE), {"kind": "Pod", "name": "other"}], None),  # cordoned, and no drain detected
        ([vmi("a", **ABLE), tainted("medik8s.io/drain", None)], None),  # nothing records since when
        ([vmi("a", **ABLE), tainted("medik8s.io/drain", "0001-01-01T00:00:00Z")], None),
        ([vmi("a", **ABLE), tainted("medik8s.io/drain", TAINTED)], TAINTED),
        ([ASKED], REQUESTED),
        ([ASKED, vmi("b", **ABLE, evacuation="node01", evacuation_since="2026-09-21T12:30:00Z")], REQUESTED),
        ([ASKED, tainted("node.kubernetes.io/unschedulable", TAINTED)], TAINTED),
        ([ASKED, tainted("node.kubernetes.io/unschedulable", TAINTED), MAINTENANCE], BEGUN),
    ],
)
async def test_since_when_a_node_is_drained(rows: list[dict[str, Any]], started: str | None) -> None:
    fleet = Fleet(*rows)
    wanted = [f'{STARTED}{{node="node01"}} {datetime.fromisoformat(started).timestamp():.0f}'] if started else []
    assert await fleet.lines(STARTED) == wanted

    fleet.put({"kind": "Node", "name": "node01", "cordoned": False})
    assert await fleet.lines(STARTED) == []


def test_strategies_are_those_that_apply() -> None:
    fleet = Fleet(vmi("a", strategy="External"), vmi("b"), vmi("c", phase="Succeeded"))
    strategies = fleet.aggregates.of(Strategies)
    assert strategies.counts() == {"External": 1, "LiveMigrate": 0, "LiveMigrateIfPossible": 0, "None": 1}

    fleet.put({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "strategy": "LiveMigrate"})
    assert strategies.counts() == {"External": 1, "LiveMigrate": 1, "LiveMigrateIfPossible": 0, "None": 0}

    fleet.evaluation.gone("VirtualMachineInstance", "ns", "a")
    assert strategies.counts()["External"] == 0
