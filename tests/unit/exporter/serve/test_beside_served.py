"""The next step of a finding follows what else is open of its VM, on each surface, and readers hear of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from exporter.checks import all_checks
from exporter.engine.evaluate import at_once
from exporter.questions import drain
from exporter.questions.findings import Filter, take, with_causes
from exporter.questions.vm.view import steps as one_vm

from ....asking import by_header
from ....rows import full
from ....served import Served, served

OWN, OTHER = "3e6c1f0a-6f0e-4d6b-9a43-0c8e5b1d2f31", "7c0f4f5e-52fd-4d8b-8a25-0f0d7f9f1f10"
NODE = {"kind": "Node", "name": "node01", "cordoned": "2026-09-21T13:33:20Z", "taints": ["medik8s.io/drain:NoSchedule"]}
VMI = {
    "kind": "VirtualMachineInstance",
    "name": "db",
    "uid": "i1",
    "vm": "u1",
    "uuid": OTHER,
    "node": "node01",
    "strategy": "LiveMigrate",
    "migratable": False,
}
POD = {"kind": "Pod", "name": "virt-launcher-db", "domain": "db", "vmi": "i1", "node": "node01"}
RESTART = "virtctl restart -n ns db"
FIRST = "First follow SpecRunMismatch, which says when to restart the VM: its next start changes its firmware UUID. "


def vm(uuid: str) -> dict[str, Any]:
    return full({"kind": "VirtualMachine", "name": "db", "uid": "u1", "uuid": uuid})


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Served]:
    checks = [check for check in all_checks() if check.id in ("evictions", "firmware_vms")]
    async with served(1, checks=checks, guard=by_header) as made:
        for row in (NODE, VMI, POD):
            made.evaluation.seen(full(row))
        change(made, OWN)
        yield made


def change(server: Served, uuid: str) -> None:
    server.evaluation.seen(vm(uuid))
    server.evaluation.evaluate()


async def listed(server: Served, path: str = "/api/v1/findings", **headers: str) -> dict[str, Any]:
    return json.loads((await server.get(path, **headers))[2])  # type: ignore[no-any-return]


def blocked(report: dict[str, Any]) -> dict[str, Any]:
    (found,) = (each for each in report["findings"] if each["reason"] == "NotMigratable")
    return found  # type: ignore[no-any-return]


@pytest.mark.parametrize("headers", [{}, {"Tenant": "ns"}], ids=["everyone", "tenant"])
async def test_a_finding_says_so_while_the_other_one_is_open(server: Served, headers: dict[str, str]) -> None:
    before = blocked(await listed(server, **headers))
    assert before["next"].startswith(FIRST)
    assert RESTART not in before["commands"]
    assert blocked(await listed(server, "/api/v1/findings?reason=NotMigratable"))["next"] == before["next"]

    change(server, OTHER)
    after = blocked(await listed(server, **headers))
    assert FIRST + after["next"] == before["next"]
    assert after["commands"] == [*before["commands"], RESTART]


async def test_the_end_of_the_other_finding_ends_a_wait_and_changes_the_tag(server: Served) -> None:
    path = "/api/v1/findings?reason=NotMigratable"
    _, headers, body = await server.get(path)
    generation = json.loads(body)["generation"]
    waiting = asyncio.create_task(server.get(f"{path}&wait=30&generation={generation}", If_None_Match=headers["ETag"]))
    change(server, OTHER)
    await server.notify()
    status, after, answered = await waiting

    assert status == 200
    assert after["ETag"] != headers["ETag"]
    assert not blocked(json.loads(answered))["next"].startswith(FIRST)


async def test_every_surface_says_the_same(server: Served) -> None:
    engine = server.engine
    report = with_causes(take(engine), engine)
    (found,) = (each for each in report.findings if each.reason == "NotMigratable")
    (cause,) = (each for each in report.causes or () if each.reason == "NotMigratable")
    (drained,) = at_once(drain.steps(engine.cluster, ["node01"], engine.findings(), engine.generation)).nodes
    (left,) = (each for each in drained.vms if each.reason == "NotMigratable")
    (listed_cause,) = (
        each for each in await server.listings.of(None).causes(Filter()) if each.reason == "NotMigratable"
    )

    assert found.next.startswith(FIRST)
    assert {found.next} == {cause.next, left.next, listed_cause.next}
    assert left.commands == found.commands
    whole = at_once(one_vm(engine, "ns", "db"))
    assert [each.next for each in whole.findings if each.reason == "NotMigratable"] == [found.next]
    page = (await server.get("/"))[2].decode()
    assert "First follow SpecRunMismatch, which says when to restart" in page


async def test_metrics_do_not_depend_on_it(server: Served) -> None:
    async def samples() -> list[str]:
        lines = (await server.get("/metrics"))[2].decode().splitlines()
        return [line for line in lines if line.startswith("kubevirt_vmi_eviction_blocked{")]

    before = await samples()
    change(server, OTHER)
    assert before
    assert await samples() == before
