"""What the last migrations failed of is kept though KubeVirt deletes them, and counted as long as the VMI is there."""

from __future__ import annotations

import asyncio
from typing import Any

from exporter.metrics.states import States
from exporter.states import all_states
from exporter.states.base import Aggregates
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from exporter.usage import migration_failures
from exporter.usage.migration_failures import MigrationFailures
from tests.evaluation import Evaluation
from tests.rows import full

STATE = next(state for state in all_states() if state.keep is MigrationFailures)
CPU = "operation failed: guest CPU doesn't match specification: extra features: vmx-ept"
STUCK = "Live migration stuck for 150 seconds and has been aborted"


class Fleet:
    def __init__(self) -> None:
        self.evaluation = Evaluation([], indexes=STATE.indexes)
        self.aggregates = Aggregates(self.evaluation.engine.cluster, [STATE])
        self.evaluation.engine.observe(self.aggregates.changed)

    def vmi(self, name: str = "db", **more: Any) -> None:
        self.evaluation.seen(full({"kind": "VirtualMachineInstance", "name": name, "uid": f"u-{name}", **more}))

    def migration(self, name: str, minute: int, failed: str | None = "", vmi: str = "db", **more: Any) -> None:
        """One that ended; with `failed` None it succeeded."""
        row: dict[str, Any] = {"kind": "VirtualMachineInstanceMigration", "name": name, "uid": f"u-{name}", "vmi": vmi}
        row |= {"phase": "Succeeded" if failed is None else "Failed", "failed": failed or None}
        self.evaluation.seen(full(row | {"created": f"2026-06-01T10:{minute:02}:00Z"} | more))

    def gone(self, kind: type[Any], name: str) -> None:
        change = self.evaluation.engine.cluster.remove(kind, "ns", name)
        assert change is not None
        self.aggregates.changed(change)

    def lines(self) -> list[str]:
        async def text() -> str:
            return b"".join(
                [part async for part in States(self.evaluation.engine.cluster, self.aggregates).render()]
            ).decode()

        family = "kubevirt_vmi_last_migration_failed{"
        return [line.removeprefix(family) for line in asyncio.run(text()).splitlines() if line.startswith(family)]

    def kept(self, vmi: str = "db") -> list[tuple[str, str]]:
        return [(each.migration, each.of) for each in self.aggregates.of(MigrationFailures).of("ns", vmi)]


def test_the_last_five_are_kept_when_kubevirt_has_deleted_them() -> None:
    fleet = Fleet()
    fleet.vmi()
    for minute in range(7):
        fleet.migration(f"m{minute}", minute, CPU if minute % 2 else "")
    for minute in range(7):
        fleet.gone(VirtualMachineInstanceMigration, f"m{minute}")
    assert fleet.kept() == [("m6", "Other"), ("m5", "CPU"), ("m4", "Other"), ("m3", "CPU"), ("m2", "Other")]
    assert fleet.lines() == ['failure="Other"} 1']


def test_in_whatever_order_they_are_listed_and_the_vmi_after_them() -> None:
    fleet = Fleet()
    fleet.migration("m3", 3, STUCK)
    fleet.migration("m1", 1, CPU)
    fleet.migration("m2", 2, None)
    assert fleet.lines() == []
    fleet.vmi()
    assert fleet.lines() == ['failure="Timeout"} 1']
    assert fleet.kept() == [("m3", "Timeout"), ("m1", "CPU")]


def test_one_that_succeeds_makes_up_for_them_and_they_stay_known() -> None:
    fleet = Fleet()
    fleet.vmi()
    fleet.migration("m1", 1, CPU)
    fleet.migration("m2", 2, None)
    assert fleet.lines() == []
    assert fleet.kept() == [("m1", "CPU")]


def test_what_the_status_of_the_vmi_says_counts_where_the_migration_says_nothing() -> None:
    fleet = Fleet()
    fleet.vmi(
        migration={"migrationUid": "u-m1", "endTimestamp": "2026-06-01T10:01:00Z", "failed": True, "failureReason": CPU}
    )
    fleet.migration("m1", 1)
    assert fleet.kept() == [("m1", "CPU")]


def test_a_text_that_comes_later_is_taken_and_counts_once() -> None:
    fleet = Fleet()
    fleet.vmi()
    fleet.migration("m1", 1)
    fleet.migration("m1", 1, STUCK)
    assert fleet.kept() == [("m1", "Timeout")]
    assert fleet.lines() == ['failure="Timeout"} 1']


def test_they_go_with_the_vmi() -> None:
    fleet = Fleet()
    fleet.vmi()
    fleet.migration("m1", 1, CPU)
    fleet.gone(VirtualMachineInstance, "db")
    assert (fleet.lines(), fleet.kept()) == ([], [])

    fleet.vmi()
    fleet.migration("m2", 2, CPU)
    fleet.vmi(uid="another")
    assert (fleet.lines(), fleet.kept()) == ([], [])


def test_there_is_an_end_to_what_is_kept(monkeypatch: Any) -> None:
    monkeypatch.setattr(migration_failures, "_MOST", 2)
    fleet = Fleet()
    for name in ("a", "b", "c"):
        fleet.vmi(name)
        fleet.migration(f"m-{name}", 1, CPU, vmi=name)
    assert [fleet.kept(name) for name in ("a", "b", "c")] == [[], [("m-b", "CPU")], [("m-c", "CPU")]]
    assert fleet.lines() == ['failure="CPU"} 2']
