"""What `steward impact` foretells of an upgrade on the demo's API server is what `steward check` finds after it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.server import kubeconfig
from demo.fleet.sample import sample_fleet
from exporter.__main__ import main

from ....fakeapi.apiserver import FakeApiServer
from ....rows import full

Row = dict[str, Any]
Triple = tuple[str, str, str]
"""Reason, subject, feature."""
RANGES: Row = {"name": "default", "masquerade": {}, "portRanges": [{"protocol": "TCP", "start": 80, "end": 90}]}
POD: Row = {"networks": [{"name": "default", "pod": {}}]}
WIDE: Row = {"devices": {"interfaces": [RANGES]}}
ROWS: list[Row] = [
    {"kind": "VirtualMachine", "name": "wide", "runStrategy": "Halted", "domain": WIDE, "template": POD},
    {"kind": "VirtualMachine", "name": "reboots", "runStrategy": "Always", "domain": {"rebootPolicy": "Terminate"}},
    {"kind": "VirtualMachine", "name": "sealed", "runStrategy": "Halted", "domain": {"launchSecurity": {"sev": {}}}},
]


@pytest.fixture
async def cluster() -> AsyncIterator[FakeApiServer]:
    """The demo's fleet, and a few more, on KubeVirt 1.8."""
    server = FakeApiServer()
    server.load(sample_fleet(datetime(2026, 11, 21, 12, 0, tzinfo=UTC)).objects)
    server.load([full({"namespace": "shop", "uid": f"u-{row['name']}", **row}) for row in ROWS])
    upgrade(server, "v1.8.4", "v1.8.4")
    await server.start()
    yield server
    await server.stop()


def upgrade(server: FakeApiServer, observed: str, target: str) -> None:
    status = {"observedKubeVirtVersion": observed, "targetKubeVirtVersion": target}
    server.patch("kubevirts", "kubevirt", "kubevirt", {"status": status})


def triple(finding: Row) -> Triple:
    return finding["reason"], finding["subject"]["name"], finding["feature"]


async def answer(capsys: pytest.CaptureFixture[str], config: str, *words: str) -> Row:
    await asyncio.to_thread(main, [*words, "-o", "json", "--kubeconfig", config])
    told: Row = json.loads(capsys.readouterr().out)
    return told


async def found(capsys: pytest.CaptureFixture[str], config: str) -> set[Triple]:
    report = await answer(capsys, config, "check")
    return {triple(each) for each in report["findings"] if each["check"] == "feature_mismatch"}


async def test_what_is_foretold_is_found_in_the_midst_of_the_upgrade_and_after_it(
    cluster: FakeApiServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = str(kubeconfig(tmp_path, cluster.url))
    before = await found(capsys, config)
    impact = await answer(capsys, config, "impact", "--upgrade-to", "1.9")
    told = [each for each in impact["findings"] if each["finding"]["check"] == "feature_mismatch"]
    comes, goes = ({triple(each["finding"]) for each in told if each["change"] == how} for how in ("appears", "goes"))

    assert impact["leftOut"] == 0
    assert comes == {("StoppedRequestsDisabled", "wide", "port_ranges")}
    assert goes == {("StartBlocked", "reboots", "reboot_policy"), ("StoppedRequestsDisabled", "sealed", "sev")}
    assert len(before - goes) == 10  # the faulty ones of the fleet, which neither release allows
    upgrade(cluster, "v1.8.4", "v1.9.0")
    assert await found(capsys, config) == before | {("BreaksAtUpgrade", "wide", "port_ranges")}
    upgrade(cluster, "v1.9.0", "v1.9.0")
    assert await found(capsys, config) == (before - goes) | comes


async def test_known_bugs_of_the_target_are_named(
    cluster: FakeApiServer, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    config = str(kubeconfig(tmp_path, cluster.url))
    gates = {"spec": {"configuration": {"developerConfiguration": {"featureGates": ["DecentralizedLiveMigration"]}}}}
    cluster.patch("kubevirts", "kubevirt", "kubevirt", gates)
    upgrade(cluster, "v1.7.4", "v1.7.4")
    impact = await answer(capsys, config, "impact", "--upgrade-to", "v1.8.2")
    (named,) = (each for each in impact["findings"] if each["finding"]["reason"] == "KnownBugOfGate")
    assert (named["change"], named["outcome"], named["finding"]["severity"]) == ("appears", "other", "info")
    assert "https://github.com/kubevirt/kubevirt/pull/17765" in named["finding"]["message"]
    assert "v1.8.3 has the fix." in named["finding"]["next"]
