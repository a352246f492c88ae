"""The firmware UUIDs of VMs that may be in another cluster too: with `metrics.firmwareUuidInfo: copied` the others are
left out, and counted.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from exporter.config.settings import MetricsSettings
from exporter.counts.base import Aggregates
from exporter.counts.firmware_uuids import STATE
from exporter.facts.firmware import legacy
from exporter.metrics.states import States
from exporter.metrics.text import SeriesLimit
from exporter.store.source import SyncState
from tests.evaluation import Evaluation
from tests.rows import full

RANDOM = "5d307ca9-b3ef-428c-8861-06e72d69f223"
ANOTHER = "0c5de1a1-75be-4b5c-9d7a-29a6d0a1ad1f"
OWN = "42170f3e-7a10-1c33-a6a8-6f2ad8b7f3a1"  # of version 1


class Served:
    def __init__(self, *rows: dict[str, Any], asked: bool | str = "copied") -> None:
        self.evaluation = Evaluation([], indexes=STATE.indexes)
        state = STATE.of(MetricsSettings.model_validate({"firmware_uuid_info": asked}))
        self.aggregates = Aggregates(self.evaluation.engine.cluster, [state])
        self.evaluation.engine.observe(self.aggregates.changed)
        self.put(*rows)

    def put(self, *rows: dict[str, Any]) -> None:
        for row in rows:
            self.evaluation.seen(full(row))

    async def page(self, limit: SeriesLimit | None = None) -> tuple[list[str], int]:
        """The VMs that have a series, in order, and how many are left out."""
        states = States(self.evaluation.engine.cluster, self.aggregates, limit)
        text = b"".join([part async for part in states.render()]).decode()
        names = re.findall(r'^kubevirt_vm_firmware_uuid_info\{namespace="[^"]*",name="([^"]*)"', text, re.M)
        (left_out,) = re.findall(r"^kubevirt_vm_firmware_uuids_left_out (\d+)", text, re.M)
        return sorted(names), int(left_out)


def vm(name: str, uuid: str = "", **more: Any) -> dict[str, Any]:
    return {"kind": "VirtualMachine", "name": name, "uid": f"u-{name}", "uuid": uuid, **more}


def vmi(name: str, uuid: str, **more: Any) -> dict[str, Any]:
    return {"kind": "VirtualMachineInstance", "name": name, "uid": f"i-{name}", "vm": f"u-{name}", "uuid": uuid, **more}


def saved(source: str, uuid: str) -> dict[str, Any]:
    return {"kind": "VirtualMachineSnapshotContent", "name": f"of-{source}", "source": source, "uuid": uuid}


@pytest.mark.parametrize("asked", [True, "copied"])
async def test_a_random_uuid_of_its_own_is_left_out_where_copies_are_asked_for(asked: bool | str) -> None:
    served = Served(vm("db", RANDOM), vmi("db", RANDOM), asked=asked)
    assert await served.page() == ((["db"], 0) if asked is True else ([], 1))


@pytest.mark.parametrize(
    "row",
    [
        pytest.param(vm("db"), id="derived from the name"),
        pytest.param(vm("db", legacy("another")), id="derived from another name"),
        pytest.param(vm("db", OWN), id="made by somebody else"),
        pytest.param(vm("db", RANDOM[:14] + "4" + RANDOM[15:19] + "c" + RANDOM[20:]), id="of another variant"),
        pytest.param(vm("db", RANDOM, origin="restore"), id="restored from a snapshot"),
        pytest.param(vm("db", RANDOM, origin="backup"), id="restored from a backup"),
        pytest.param(vm("db", RANDOM, origin="manifest"), id="came with a manifest"),
    ],
)
async def test_a_uuid_that_came_from_elsewhere_or_follows_from_something_is_served(row: dict[str, Any]) -> None:
    assert await Served(row, vm("own", ANOTHER)).page() == (["db"], 1)


async def test_vms_that_share_a_uuid_are_served_until_one_has_it() -> None:
    served = Served(vm("db", RANDOM), vmi("db", RANDOM))
    assert await served.page() == ([], 1)
    served.put(vm("db-2", RANDOM))
    assert await served.page() == (["db", "db-2"], 0)
    served.put(vm("db-2", ANOTHER))
    assert await served.page() == ([], 2)
    served.put(vm("db-2", RANDOM))
    served.evaluation.gone("VirtualMachine", "ns", "db-2")
    assert await served.page() == ([], 1)


async def test_of_many_that_share_a_uuid_each_is_served_until_the_last_ones_go() -> None:
    served = Served(*(vm(f"db-{number}", RANDOM) for number in range(12)))
    assert len((await served.page())[0]) == 12
    for number in range(10):
        served.evaluation.gone("VirtualMachine", "ns", f"db-{number}")
    assert await served.page() == (["db-10", "db-11"], 0)
    served.evaluation.gone("VirtualMachine", "ns", "db-10")
    assert await served.page() == ([], 1)


async def test_a_vm_that_was_saved_with_its_uuid_may_have_been_restored_anywhere() -> None:
    served = Served(vm("db", RANDOM), vm("web", ANOTHER))
    served.put(saved("db", RANDOM), saved("web", OWN))  # web has had another one since
    assert await served.page() == (["db"], 1)
    served.evaluation.gone("VirtualMachineSnapshotContent", "ns", "of-db")
    assert await served.page() == ([], 2)
    served.put(saved("db-before-its-name-changed", RANDOM))
    assert await served.page() == (["db"], 1)


async def test_while_snapshots_can_not_be_seen_every_vm_is_served() -> None:
    served = Served(vm("db", RANDOM))
    served.evaluation.sync_state("VirtualMachineSnapshotContent", SyncState.FORBIDDEN)
    assert await served.page() == (["db"], 0)
    served.evaluation.sync_state("VirtualMachineSnapshotContent", SyncState.LIVE)
    assert await served.page() == ([], 1)
    unreadable = full(saved("web", ANOTHER))
    unreadable["spec"] = 1
    served.evaluation.seen(unreadable)
    assert await served.page() == (["db"], 0)
    served.put(saved("web", ANOTHER))
    assert await served.page() == ([], 1)


async def test_a_cluster_without_snapshots_has_none() -> None:
    served = Served(vm("db", RANDOM))
    served.evaluation.sync_state("VirtualMachineSnapshotContent", SyncState.ABSENT)
    assert await served.page() == ([], 1)


async def test_a_vmi_alone_is_served_since_nothing_tells_where_it_has_its_uuid_from() -> None:
    served = Served(vmi("lone", RANDOM, vm=""))
    assert await served.page() == (["lone"], 0)


async def test_a_vm_that_runs_with_the_uuid_of_an_earlier_spec_is_served() -> None:
    served = Served(vm("db", ANOTHER), vmi("db", RANDOM))
    assert await served.page() == (["db"], 0)
    served.evaluation.gone("VirtualMachineInstance", "ns", "db")
    assert await served.page() == ([], 1)


async def test_a_vm_beside_a_vmi_of_its_predecessor_is_served_with_it() -> None:
    served = Served(vm("db", RANDOM), vmi("db", RANDOM, vm="u-earlier"))
    assert await served.page() == (["db", "db"], 0)


@pytest.mark.parametrize("asked", [True, "copied"])
async def test_a_vm_that_changes_leaves_no_other_out_where_not_all_fit(asked: bool | str) -> None:
    served = Served(
        vm("a", OWN), vm("b", ANOTHER.replace("-4", "-1")), vm("c", RANDOM.replace("-4", "-1")), asked=asked
    )
    limit = SeriesLimit(family=2)
    before, _ = await served.page(limit)
    assert len(before) == 2
    for name in before:
        served.put(vm(name, OWN.replace("42", "43") if name == "a" else OWN))
        assert await served.page(limit) == (before, 0)
