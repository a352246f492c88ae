"""Our own annotations are set on the object that was read, and on no other that took its name since."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.server import kubeconfig
from exporter.kube.errors import KubeError
from exporter.kube.transport import Transport
from reconcile.carry_out.execute import PlanWriter, WriteOutcome
from reconcile.plan.annotations import PAUSED

from ....fakeapi.apiserver import FakeApiServer
from ....fakeapi.faults import Fault

PATH = "/apis/kubevirt.io/v1/namespaces/ns/virtualmachines/db"
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}}


def vm(uid: str, **annotations: str) -> dict[str, Any]:
    meta = {"namespace": "ns", "name": "db", "uid": uid, "annotations": annotations}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": meta, "spec": {}}


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    made = FakeApiServer()
    made.load([NAMESPACE, vm("u1", team="a")])
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


@pytest.fixture
async def writer(server: FakeApiServer, tmp_path: Path) -> AsyncIterator[PlanWriter]:
    transport = Transport.from_environment(str(kubeconfig(tmp_path, server.url)))
    await transport.load()
    try:
        yield PlanWriter(transport)
    finally:
        await transport.close()


def team(server: FakeApiServer, name: str) -> None:
    server.patch("virtualmachines", "ns", "db", {"metadata": {"annotations": {"team": name}}})


def sent(server: FakeApiServer) -> list[dict[str, Any]]:
    return [json.loads(call.body)["metadata"] for call in server.requests if call.method == "PATCH"]


async def test_who_writes_in_between_is_not_overwritten(server: FakeApiServer, writer: PlanWriter) -> None:
    server.faults.add(Fault(PATH, method="PATCH", times=1, before=lambda: team(server, "b")))

    answer = await writer.annotate(PATH, {PAUSED: "why"})

    assert answer.outcome is WriteOutcome.ACCEPTED
    first, second = sent(server)
    assert first["uid"] == second["uid"] == "u1"
    assert first["resourceVersion"] != second["resourceVersion"]
    assert set(first) == {"uid", "resourceVersion", "annotations"}
    assert server.get("virtualmachines", "ns", "db")["metadata"]["annotations"] == {"team": "b", PAUSED: "why"}


async def test_it_ends_where_the_object_changes_each_time(server: FakeApiServer, writer: PlanWriter) -> None:
    times = iter(range(1000))
    server.faults.add(Fault(PATH, method="PATCH", before=lambda: team(server, str(next(times)))))

    answer = await writer.annotate(PATH, {PAUSED: "why"})

    assert answer.outcome is WriteOutcome.CHANGED
    assert len(sent(server)) == 5


async def test_one_that_is_gone_is_not_annotated(server: FakeApiServer, writer: PlanWriter) -> None:
    with pytest.raises(KubeError, match="not found"):
        await writer.annotate(PATH.replace("/db", "/web"), {PAUSED: "why"})
    assert sent(server) == []
