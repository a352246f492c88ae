"""Whom a node's evacuations ask to leave, what keeps them from being called off, and that they are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.server import kubeconfig
from exporter.__main__ import main
from exporter.kube.errors import KubeError
from reconcile.cli.calling_off import asked_to_leave, closed
from tests.all_of import each_of
from tests.confirming import MemoryReads
from tests.fakeapi.apiserver import FakeApiServer
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
    with pytest.raises(ValueError, match="node node01 doesn't exist"):
        why(KUBEVIRT)


@pytest.mark.parametrize("kind", ["Node", "KubeVirt", "NodeMaintenance"])
def test_what_can_not_be_read_is_no_open_node(kind: str) -> None:
    with pytest.raises(KubeError):
        asyncio.run(closed(reads(KUBEVIRT, NODE, fails={kind: 403}), "node01"))


def test_what_can_not_be_decoded_is_no_open_node() -> None:
    with pytest.raises(ValueError, match="Node node01 can't be decoded"):
        why(KUBEVIRT, NODE | {"over": {"spec": {"unschedulable": "maybe"}}})


# All of it on an API server.

VMIS = ("db", "web")


def named(kind: str, name: str, namespace: str = "", group: str = "v1", **more: Any) -> dict[str, Any]:
    place = {"namespace": namespace} if namespace else {}
    return {"apiVersion": group, "kind": kind, "metadata": {**place, "name": name}, **more}


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    """Two VMIs are on another node by now, which have no strategy: nobody migrates them."""
    made = FakeApiServer()
    version = {"observedKubeVirtVersion": "v1.7.0", "targetKubeVirtVersion": "v1.7.0", "phase": "Deployed"}
    asked = {"phase": "Running", "nodeName": "node02", "evacuationNodeName": "node01"}
    made.load(
        [
            *(named("Namespace", each) for each in ("shop", "kubevirt", "kube-system")),
            *(named("Node", each, spec={}) for each in ("node01", "node02")),
            named("KubeVirt", "kubevirt", "kubevirt", "kubevirt.io/v1", spec={}, status=version),
            *(named("VirtualMachine", each, "shop", "kubevirt.io/v1", spec={"runStrategy": "Always"}) for each in VMIS),
            *(
                named("VirtualMachineInstance", each, "shop", "kubevirt.io/v1", spec={"domain": {}}, status=asked)
                for each in VMIS
            ),
        ]
    )
    await made.start()
    yield made
    await made.stop()


def requests_of(server: FakeApiServer) -> list[str]:
    found = (server.get("virtualmachineinstances", "shop", each)["status"] for each in VMIS)
    return [each.get("evacuationNodeName", "") for each in found]


async def called_off(server: FakeApiServer, folder: Path, *words: str) -> int:
    own = ("--ledger", str(folder / "ledger"), "--kubeconfig", str(kubeconfig(folder, server.url)))
    (folder / "reconcile.yaml").write_text("budgets: {fleetShare: 1.0}\n", encoding="utf-8")
    config = ("--config", str(folder / "reconcile.yaml"))
    return await asyncio.to_thread(main, ["reconcile", "clean", "--requests", "node01", *words, *own, *config])


async def test_all_requests_of_a_node_are_called_off_once_somebody_agrees(
    server: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await called_off(server, tmp_path) == 1
    assert "then rerun with --yes" in capsys.readouterr().err
    assert requests_of(server) == ["node01"] * 2

    assert await called_off(server, tmp_path, "--yes") == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.count(": request cancelled, attempt ") == 2
    assert requests_of(server) == [""] * 2


async def test_of_a_node_that_is_cordoned_nothing_is_called_off(
    server: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.patch("nodes", "", "node01", {"spec": {"unschedulable": True}})
    assert await called_off(server, tmp_path, "--yes") == 1
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == (
        "",
        "steward: node node01 is cordoned: a drain might wait for its VMIs to leave. Uncordon it first\n",
    )
    assert requests_of(server) == ["node01"] * 2


async def test_at_the_limit_it_stops_and_says_how_many_are_left(
    server: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.delete("virtualmachines", "shop", "web")
    assert await called_off(server, tmp_path, "--yes") == 1
    shown = capsys.readouterr()
    assert "shop/web: refused, budget_fleet: 1 of 1 VMs were touched" in shown.err
    assert shown.err.endswith("steward: stopped; 1 of 2 are unchanged\n")
    assert requests_of(server) == ["", "node01"]
