"""The engine on the cases of each check: whatever goes, changes or comes back, it finds and counts what there is.

Each object of a case is taken away and put back, and each is changed in ways that others depend on. So a join that a
check does not declare shows as a finding that goes stale; test_engine.py does the same with fleets at random.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from exporter.counts import all_states
from exporter.counts.base import Aggregates
from exporter.findings.check import Check
from tests.all_of import all_of
from tests.check_cases import CHECKS, cases_of
from tests.engine_rows import comparable
from tests.evaluation import NOW, Evaluation
from tests.rows import CLUSTER_WIDE, full

pytestmark = pytest.mark.long

Row = dict[str, Any]
INDEXES = tuple(index for state in all_states() for index in state.indexes)
LATER = NOW + 10 * 365 * 86_400  # every grace is over: what is open stays open, however its times change


def scenes() -> Iterator[Any]:
    """One case of each form, and of these every other one; `make fuzz` takes all."""
    alike = os.environ.get("FUZZ") != "all"
    for check in CHECKS:
        seen: set[object] = set()
        for name, case in cases_of(check).items():
            if (
                case["finds"] != "unknown"
                and not any(row.get("undecodable") for row in case["given"])
                and "sync_state" not in case
                and not (alike and _form(case) in seen)
            ):
                seen.add(_form(case))
                if alike and len(seen) % 2 == 0:
                    continue
                yield pytest.param(check, case["given"], id=f"{check.id}-{name}")


def _form(case: dict[str, Any]) -> object:
    """Which kinds of objects there are, and what is found."""
    return frozenset(row["kind"] for row in case["given"]), frozenset(found["reason"] for found in case["finds"])


# What becomes of an object, and concerns others.
CHANGES: dict[str, tuple[Row, ...]] = {
    "VirtualMachineInstance": (
        {"uid": "another"},
        {"node": "node02"},
        {"node": "", "phase": "Pending"},
        {"phase": "Failed"},
        {"evacuation": None},
        {"evacuation": "node02"},
        {"strategy": "LiveMigrate", "migratable": True},
        {"strategy": "LiveMigrate", "migratable": False},
        {"strategy": "None"},
        {"deleting": True},
    ),
    "VirtualMachineInstanceMigration": (
        {"phase": "Running"},
        {"phase": "Pending"},
        {"phase": "Failed"},
        {"phase": "Succeeded", "failed": None},
        {"vmi": "web"},
    ),
    "Pod": (
        {"node": "node02", "unschedulable": None},
        {"phase": "Succeeded"},
        {"vmi": "another"},
        {"labels": {}},
        {"domain": "web"},
    ),
    "Node": ({"cordoned": True}, {"cordoned": False}, {"taints": []}, {"taints": ["kubevirt.io/drain:NoSchedule"]}),
    "NodeMaintenance": ({"node": "node02"}, {"deleting": True}),
    "KubeVirt": (
        {"strategy": "LiveMigrate"},
        {"version": "v1.4.0"},
        {"version": "v1.5.0"},
        {"migrations": {"nodeDrainTaintKey": "example.com/drain"}},
        {"migrations": {"parallelMigrationsPerCluster": 1}},
    ),
    "PodDisruptionBudget": (
        {"allowed": 1, "healthy": 2, "desired": 1, "refused": None},
        {"selects": {"app": "other"}},
        {"owner": "web/i2"},
    ),
    "EndpointSlice": ({"ready": 1}, {"ready": 0}),
    "KubevirtMachine": ({"deadline": "2026-09-21T15:00:00Z"},),
}


class Scene:
    """A case that is played: what is there, and an engine that has seen all of it come and go."""

    def __init__(self, check: Check, rows: list[Row]) -> None:
        self.check, self.rows = check, {key(row): row for row in rows}
        self.evaluation = Evaluation([check], now=LATER, indexes=INDEXES)
        self.keepers = kept(self.evaluation)
        self.version = 0
        for row in rows:
            self.put(row)

    def put(self, row: Row) -> None:
        self.version += 1
        thing = full(row)
        thing["metadata"]["resourceVersion"] = str(self.version)
        self.rows[key(row)] = row
        self.evaluation.seen(thing)

    def take(self, row: Row) -> None:
        del self.rows[key(row)]
        self.evaluation.gone(*key(row))

    def agrees(self) -> bool:
        """Whether an engine that has seen nothing before finds the same."""
        fresh = Evaluation([self.check], now=LATER, indexes=INDEXES)
        counted = kept(fresh)
        for row in self.rows.values():
            fresh.seen(full(row))
        for each in (fresh, self.evaluation):
            each.evaluate()
            each.now += 86_400  # the graces of what is first seen now are over too
            each.evaluate()
        assert self.evaluation.engine.unknowns() == fresh.engine.unknowns()
        assert shown(self.keepers) == shown(counted)
        found = comparable(self.evaluation.engine.findings())
        if fresh.engine.unknowns():  # where there is no answer, what was found before stays
            return {*comparable(fresh.engine.findings())} <= {*found}
        return found == comparable(fresh.engine.findings())


def kept(evaluation: Evaluation) -> Aggregates:
    """What keeps the states, reported of each change from the first one on."""
    keepers = Aggregates(evaluation.engine.cluster, all_states())
    evaluation.engine.observe(keepers.changed)
    return keepers


def shown(keepers: Aggregates) -> list[Any]:
    list(keepers.settle())
    gauges = [(gauge, keepers.of(state.keep)) for state in keepers.states for gauge in state.gauges]
    return [sorted(sample for group in gauge.samples(keeper) for sample in group) for gauge, keeper in gauges]


def key(row: Row) -> tuple[str, str, str]:
    if row["kind"] == "Namespace":
        return row["kind"], row["name"], row["name"]
    return row["kind"], "" if row["kind"] in CLUSTER_WIDE else row.get("namespace", "ns"), row["name"]


@all_of(scenes())
def test_an_object_that_goes_and_comes_back(check: Check, rows: list[Row]) -> None:
    scene = Scene(check, rows)

    assert scene.agrees()
    for row in rows:
        scene.take(row)
        assert scene.agrees(), f"after {row} went"
        scene.put(row)
        assert scene.agrees(), f"after {row} came back"


@all_of(scene for scene in scenes() if "evict" in str(scene.id))
def test_an_object_that_changes_and_changes_back(check: Check, rows: list[Row]) -> None:
    scene = Scene(check, rows)

    for row in rows:
        for change in CHANGES.get(row["kind"], ()):
            scene.put({**row, **change})
            assert scene.agrees(), f"after {row} had {change}"
            scene.put(row)
            assert scene.agrees(), f"after {row} was as before {change}"


@all_of(scenes())
def test_objects_that_come_in_another_order(check: Check, rows: list[Row]) -> None:
    for shift in range(len(rows)):
        assert Scene(check, [*rows[shift:], *rows[:shift]]).agrees()
