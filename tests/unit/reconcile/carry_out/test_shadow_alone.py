"""A sidecar of which nothing may write: what it reads of the Lease, and that no request of it changes anything."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.errors import ApiError
from exporter.config.settings import Config as ExporterConfig
from exporter.facts.record import Ref
from exporter.kube.transport import Transport
from exporter.store.kinds import ipam_claim
from reconcile.app import run
from reconcile.carry_out.execute import IdleWriter, WriteOutcome
from reconcile.carry_out.sidecar import Sidecar
from reconcile.config.settings import SidecarConfig, model_of
from reconcile.decide.repair import Repair
from reconcile.ledger import Event, Ledger
from reconcile.plan.annotations import PAUSED
from reconcile.plan.plan import Delete
from reconcile.plan.remediations import all_remediations

from ....evaluation import NOW
from ....fakeapi.apiserver import FakeApiServer
from ....fakeapi.faults import Fault
from ....rows import full
from ....secure_server import config as kubeconfig
from ....sidecar_runs import KUBEVIRT, NAMESPACES, Findings, orphan

CLAIM = orphan("db")


def lease(**annotations: str) -> dict[str, Any]:
    meta = {"namespace": "ns", "name": "steward", "annotations": annotations}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": meta, "spec": {}}


def configured(directory: Path) -> SidecarConfig:
    given = {
        "remediations": {"delete_orphan_ipam_claim": {"mode": "shadow", "minAge": "0s"}},
        "lease": {"namespace": "ns", "name": "steward"},
        "ledger": {"directory": str(directory)},
        "listen": "127.0.0.1:0",
        "insecure": True,
    }
    return model_of(all_remediations()).model_validate(given, by_alias=True, by_name=False)


class Still(Findings):
    """They never change, so that the sidecar runs once, and then when it is told to."""

    async def changed(self, seconds: float) -> None:
        await asyncio.Event().wait()


@pytest.fixture
async def server() -> AsyncIterator[FakeApiServer]:
    made = FakeApiServer()
    made.load([*NAMESPACES, full({"kind": "Namespace", "name": "kube-system"}), KUBEVIRT, CLAIM])
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


@asynccontextmanager
async def running(server: FakeApiServer, folder: Path) -> AsyncIterator[Sidecar]:
    """Once it has run for the first time."""
    transport = Transport.from_environment(kubeconfig(folder / "kubeconfig", server.url))
    config = configured(folder / "ledger")
    found = Still([CLAIM])
    async with run(config, transport, ExporterConfig(), source=found, clock=lambda: NOW, wall=time.time) as (
        _,
        sidecar,
    ):
        await looked(sidecar, lambda repair: repair.state != "planned")
        yield sidecar


async def looked(sidecar: Sidecar, wanted: Callable[[Repair], bool]) -> None:
    board = sidecar.repairs
    async with asyncio.timeout(30), board.changed:
        await board.changed.wait_for(lambda: any(map(wanted, board.all())))


def gates(sidecar: Sidecar) -> list[str]:
    return [gate.gate for each in sidecar.repairs.all() for gate in each.blocked]


def events(folder: Path) -> list[Event]:
    return [each.event for each in Ledger.read(folder / "ledger") if each.event is not Event.COUNTED]


async def test_without_a_lease_it_shadows_and_makes_none(server: FakeApiServer, tmp_path: Path) -> None:
    async with running(server, tmp_path) as sidecar:
        await sidecar.once()  # the first run may have been before the Lease was looked for
        assert [each.state for each in sidecar.repairs.all()] == ["shadowed"]
        assert events(tmp_path) == [Event.SHADOWED]
    assert {call.method for call in server.requests} == {"GET"}
    assert server.objects("leases") == []


@pytest.mark.parametrize("annotation", ["a freeze", ""])
async def test_who_pauses_everything_pauses_that_too(server: FakeApiServer, tmp_path: Path, annotation: str) -> None:
    server.load([lease(**{PAUSED: annotation})])
    async with running(server, tmp_path) as sidecar:
        await sidecar.once()
        assert gates(sidecar) == ["paused"]
        assert events(tmp_path) == []


async def test_a_lease_that_can_not_be_read_may_pause_everything(server: FakeApiServer, tmp_path: Path) -> None:
    refusal = ApiError(403, "Forbidden", "no")
    server.faults.add(Fault("/leases", answer=lambda *_: refusal))
    async with running(server, tmp_path) as sidecar:
        await sidecar.once()
        (why,) = (gate.why for each in sidecar.repairs.all() for gate in each.blocked)
        assert "the Lease could not be read" in why
        assert events(tmp_path) == []


async def test_a_writer_that_is_idle_sends_nothing(server: FakeApiServer, tmp_path: Path) -> None:
    transport = Transport.from_environment(kubeconfig(tmp_path / "kubeconfig", server.url))
    await transport.load()
    try:
        writer, kind = IdleWriter(transport), ipam_claim.KIND
        whole = server.get("ipamclaims", "ns", "db.blue")
        step = Delete(target=Ref("IPAMClaim", "ns", "db.blue", whole["metadata"]["uid"]))
        answers = [
            await writer.dry_run(step, kind, "v1alpha1", whole),
            await writer.write(step, kind, "v1alpha1", whole),
            await writer.annotate("/apis/k8s.cni.cncf.io/v1alpha1/namespaces/ns/ipamclaims/db.blue", {PAUSED: "x"}),
        ]
        assert {each.outcome for each in answers} == {WriteOutcome.UNSENT}
        assert "no remediation has permission to write" in await writer.record("ns", {"kind": "Event"})
    finally:
        await transport.close()
    assert {call.method for call in server.requests} <= {"GET"}
    assert server.get("ipamclaims", "ns", "db.blue") == whole
