"""Whom a node's evacuations ask to leave, and what keeps them from being called off."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from exporter.kube.errors import KubeError
from reconcile.cli.calling_off import asked_to_leave, closed
from tests.all_of import each_of
from tests.confirming import MemoryReads
from tests.rows import full

Row = dict[str, Any]
KUBEVIRT: Row = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.9.0"}
NODE: Row = {"kind": "Node", "name": "node01"}


def reads(*rows: Row, fails: Mapping[str, int] | None = None, absent: tuple[str, ...] = ()) -> MemoryReads:
    return MemoryReads([full(row) for row in rows], fails, absent)


def why(*rows: Row, absent: tuple[str, ...] = ()) -> str:
    return asyncio.run(closed(reads(*rows, absent=absent), "node01"))


def test_those_whose_request_names_the_node_wherever_they_are() -> None:
    vmi: Row = {"kind": "VirtualMachineInstance", "uid": "i"}
    found = reads(
        vmi | {"name": "here", "evacuation": "node01"},
        vmi | {"namespace": "other", "name": "moved", "node": "node02", "evacuation": "node01"},
        vmi | {"name": "elsewhere", "evacuation": "node02"},
        vmi | {"name": "stays"},
    )
    asked = asyncio.run(asked_to_leave(found, "node01"))
    assert [each.path for each in asked] == ["ns/here", "other/moved"]


@each_of(
    ("rows", "says"),
    [
        ([NODE | {"cordoned": True}], "node node01 is cordoned"),
        ([NODE | {"taints": ["medik8s.io/drain:NoSchedule"]}], "node node01 has taint medik8s.io/drain"),
        ([NODE | {"taints": ["kubevirt.io/drain:NoSchedule"]}], "node node01 has taint kubevirt.io/drain"),
        ([NODE, {"kind": "NodeMaintenance", "name": "m", "node": "node01"}], "NodeMaintenance m is for node node01"),
        ([NODE, {"kind": "NodeMaintenance", "name": "m", "node": "node02"}], ""),
        ([NODE, {"kind": "Node", "name": "node02", "cordoned": True}], ""),
    ],
)
def test_what_says_that_a_drain_may_wait(rows: list[Row], says: str) -> None:
    assert why(KUBEVIRT, *rows) == says


def test_another_taint_that_kubevirt_is_configured_with() -> None:
    own = KUBEVIRT | {"migrations": {"nodeDrainTaintKey": "example.org/leave"}}
    assert why(own, NODE | {"taints": ["example.org/leave:NoSchedule"]}) == "node node01 has taint example.org/leave"


def test_without_node_maintenances_a_node_may_be_open() -> None:
    assert why(KUBEVIRT, NODE, absent=("NodeMaintenance",)) == ""


def test_a_node_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match="node node01 does not exist"):
        why(KUBEVIRT)


@pytest.mark.parametrize("kind", ["Node", "KubeVirt", "NodeMaintenance"])
def test_what_can_not_be_read_is_no_open_node(kind: str) -> None:
    with pytest.raises(KubeError):
        asyncio.run(closed(reads(KUBEVIRT, NODE, fails={kind: 403}), "node01"))


def test_what_can_not_be_decoded_is_no_open_node() -> None:
    with pytest.raises(ValueError, match="Node node01 can't be decoded"):
        why(KUBEVIRT, NODE | {"over": {"spec": {"unschedulable": "maybe"}}})
