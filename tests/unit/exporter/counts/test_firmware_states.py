"""VMs by the origin of their firmware UUID, as counts."""

from __future__ import annotations

from typing import Any

from exporter.counts import all_states
from exporter.counts.base import Aggregates
from exporter.counts.firmware_origins import Origins
from exporter.facts.firmware import legacy
from exporter.metrics.states import States
from exporter.store.source import SyncState
from tests.evaluation import Evaluation
from tests.rows import full

FAMILY = "kubevirt_vm_firmware_uuids"
UUID = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
ZERO = "00000000-0000-0000-0000-000000000000"
STATES = [state for state in all_states() if state.keep is Origins]


class Counted:
    def __init__(self, *rows: dict[str, Any]) -> None:
        self.evaluation = Evaluation([])
        self.aggregates = Aggregates(self.evaluation.engine.cluster, STATES)
        self.evaluation.engine.observe(self.aggregates.changed)
        self.put(*rows)

    def put(self, *rows: dict[str, Any]) -> None:
        for row in rows:
            self.evaluation.seen(full(row))

    async def lines(self) -> list[str]:
        page = [part async for part in States(self.evaluation.engine.cluster, self.aggregates).render()]
        return [line for line in b"".join(page).decode().splitlines() if not line.startswith("#")]


def of(given: int, derived: int, invalid: int) -> list[str]:
    counts = {"set": given, "legacy": derived, "invalid": invalid}
    return [f'{FAMILY}{{origin="{origin}"}} {count}' for origin, count in counts.items()]


def vm(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "VirtualMachine", "name": name, "uid": f"u-{name}", **more}


def vmi(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "VirtualMachineInstance", "name": name, "uid": f"i-{name}", **more}


async def test_each_vm_counts_once_by_the_uuid_that_it_has() -> None:
    counted = Counted(
        vm("a", uuid=UUID),
        vm("b"),
        vm("c", uuid=legacy("c")),
        vm("d", uuid=ZERO),
        vm("e", uuid=ZERO),
        vmi("e", vm="u-e", uuid=UUID),  # runs with a valid one
    )
    assert await counted.lines() == of(2, 2, 1)

    counted.put(vm("d", uuid=UUID))
    counted.evaluation.gone("VirtualMachine", "ns", "b")
    assert await counted.lines() == of(3, 1, 0)


async def test_a_vmi_without_a_vm_counts_until_it_has_ended() -> None:
    counted = Counted(vmi("a", uuid=UUID), vmi("b", uuid="no"), vmi("c", uuid=UUID, phase="Succeeded"))
    assert await counted.lines() == of(1, 0, 1)

    counted.put(vmi("a", uuid=UUID, phase="Failed"))
    assert await counted.lines() == of(0, 0, 1)


async def test_without_vms_all_are_0_and_without_their_kind_nothing_is_known() -> None:
    counted = Counted()
    assert await counted.lines() == of(0, 0, 0)
    counted.evaluation.sync_state("VirtualMachine", SyncState.STALE)
    assert await counted.lines() == []
