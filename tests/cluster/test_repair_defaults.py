"""With nothing set the sidecar plans whatever can be repaired, for as long as it runs, and writes nothing at all."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from exporter.config.settings import Config as ExporterConfig
from exporter.kube.transport import Transport
from reconcile.app import run
from reconcile.config.settings import SidecarConfig, model_of
from reconcile.ledger import Ledger
from reconcile.plan.remediations import all_remediations
from tests.cluster.conftest import MakeApiServer
from tests.cluster.process import free_ports
from tests.cluster.repair_faults import FAULTS, LATER
from tests.cluster.repair_ground import ACCOUNT, Ground, ground_of
from tests.cluster.resources import LEASES
from tests.manifests import Object

pytestmark = pytest.mark.long

RUNS, INTERVAL = 120, 30.0  # an hour's


@pytest.fixture
def ground(own_api_server: MakeApiServer, tmp_path: Path) -> Iterator[Ground]:
    with ground_of(own_api_server, tmp_path) as made:
        yield made


class Clock:
    """Stands still but when it is put forward."""

    def __init__(self) -> None:
        self.now = time.time() + LATER

    def __call__(self) -> float:
        return self.now


def defaults(ground: Ground, folder: Path) -> SidecarConfig:
    """All as it is shipped, but for where things are."""
    (port,) = free_ports(1)
    places = {
        "listen": f"127.0.0.1:{port}",
        "insecure": True,
        "ledger": {"directory": str(folder / "ledger")},
        "source": {"url": ground.exporter.url},
        "interval": "1h",  # the test runs it
    }
    return model_of(all_remediations()).model_validate(places, by_alias=True, by_name=False)


def shown(url: str) -> list[Object]:
    with urllib.request.urlopen(f"{url}/api/v1/plans", timeout=10) as answer:
        found: list[Object] = json.load(answer)["repairs"]
    return found


async def test_an_hour_with_the_defaults_writes_nothing(ground: Ground, tmp_path: Path) -> None:
    stages = {fault.id: ground.stage() for fault in FAULTS}
    for fault in FAULTS:
        fault.seed(stages[fault.id])
    before = {fault.id: fault.target(stages[fault.id]) for fault in FAULTS}
    for fault in FAULTS:
        ground.wait_found(stages[fault.id].namespace, fault.reason)
    for stage in stages.values():
        stage.client.delete(LEASES, stage.namespace, "steward")
    transport = Transport.from_environment(str(ground.server.kubeconfig(ACCOUNT)))
    clock = Clock()

    async with run(defaults(ground, tmp_path), transport, ExporterConfig(), clock=clock) as (url, sidecar):
        for _ in range(RUNS):
            clock.now += INTERVAL
            assert await sidecar.once() == 0
        repairs = await asyncio.to_thread(shown, url)

    planned = {(each["namespace"], each["remediation"]) for each in repairs if each["state"] == "planned"}
    assert planned >= {(stages[fault.id].namespace, fault.remediation) for fault in FAULTS}
    assert ground.sent() == []
    assert ground.asked() > RUNS  # it reads, and is seen there
    for stage in stages.values():
        assert ground.client.list(LEASES, stage.namespace)["items"] == []
    assert ground.client.find(LEASES, "default", "kubevirt-steward-reconcile") is None
    assert {fault.id: fault.target(stages[fault.id]) for fault in FAULTS} == before
    assert list(Ledger.read(tmp_path / "ledger")) == []
