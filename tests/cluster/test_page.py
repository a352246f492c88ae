"""The page in a real browser, which has no script to run."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from exporter.sidecar.repairs import Repairs, decoding
from exporter.views.in_slices import at_once
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.exporter import Exporter, grant
from tests.cluster.fleet import claimed_vm, delete_vm
from tests.reported_repairs import plans, repair
from tests.rows import full
from tests.served import served

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian install the package chromium")
def test_chromium_shows_the_findings(api_server: ApiServer, client: Client, namespace: str, tmp_path: Path) -> None:
    grant(client)
    claimed_vm(client, namespace, "db")
    delete_vm(client, namespace, "db")
    with Exporter(api_server.kubeconfig("steward-exporter"), graces=0.0) as exporter:
        exporter.wait_ready().wait_found(namespace, {"db.blue": "StuckTerminatingOwnerGone"})
        dom = browse(tmp_path, "--dump-dom", f"{exporter.url}/?namespace={namespace}")
        picture = tmp_path / "page.png"
        browse(tmp_path, f"--screenshot={picture}", "--window-size=1280,1600", exporter.url)

    assert f"{namespace}/db.blue" in dom
    assert "StuckTerminatingOwnerGone" in dom
    assert "<script" not in dom
    assert picture.stat().st_size > 20_000  # a blank page is a few kilobytes


def browse(folder: Path, *words: str) -> str:
    assert CHROMIUM
    command = [CHROMIUM, *QUIET, f"--user-data-dir={folder / 'profile'}", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian install the package chromium")
async def test_chromium_shows_instancetypes_and_runs_nothing_of_their_names(tmp_path: Path) -> None:
    hostile = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
    async with served() as made:
        for name in ("u1", hostile, "x" * 253):
            made.evaluation.seen(full({"kind": "VirtualMachineClusterInstancetype", "name": name}))
            made.evaluation.seen(full({"kind": "VirtualMachine", "name": f"vm-{name}", "instancetype": {"name": name}}))
        dom = await asyncio.to_thread(browse, tmp_path, "--dump-dom", f"{made.url}/")
        picture = tmp_path / "page.png"
        await asyncio.to_thread(browse, tmp_path, f"--screenshot={picture}", "--window-size=1280,2400", made.url)

    section = dom[dom.index('id="instancetypes"') : dom.index('id="drain"')]
    assert section.count("1 unversioned") == 3
    assert "<code>ns/vm-u1</code>" in section
    assert "&lt;script&gt;" in section
    assert not re.search("<script|<img|<title>run", dom)
    assert picture.stat().st_size > 20_000


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian install the package chromium")
async def test_chromium_shows_features_and_runs_nothing_of_what_is_asked_for(tmp_path: Path) -> None:
    hostile = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4"}
    async with served() as made:
        made.evaluation.seen(full(kubevirt | {"target": "v1.9.0", "gates": ["VSOCK", hostile]}))
        for name, device in (("a", "nvidia.com/A100"), ("b", hostile), ("c", "x" * 253)):
            devices = {"downwardMetrics": {}, "gpus": [{"name": "g", "deviceName": device}]}
            made.evaluation.seen(full({"kind": "VirtualMachine", "name": name, "domain": {"devices": devices}}))
        dom = await asyncio.to_thread(browse, tmp_path, "--dump-dom", f"{made.url}/")
        picture = tmp_path / "page.png"
        await asyncio.to_thread(browse, tmp_path, f"--screenshot={picture}", "--window-size=1280,4800", made.url)
        narrow = tmp_path / "narrow.png"
        await asyncio.to_thread(browse, tmp_path, f"--screenshot={narrow}", "--window-size=500,4800", made.url)

    section = dom[dom.index('id="features"') : dom.index('id="drain"')]
    assert "feature gate DownwardMetrics is off" in section
    assert "3 VMs (3 stopped)" in section
    assert "<code>nvidia.com/A100</code>: 1 and 0" in section
    assert "In v1.9.0" in section
    assert "&lt;script&gt;" in section
    assert not re.search("<script|<img|<title>run", dom)
    assert min(picture.stat().st_size, narrow.stat().st_size) > 20_000


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian install the package chromium")
async def test_chromium_shows_repairs_and_runs_nothing_of_their_texts(tmp_path: Path) -> None:
    hostile = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
    repairs = Repairs(1_790_000_000.0)
    async with served(repairs=repairs) as made:
        first, second, third = (each.fingerprint for each in made.engine.findings())
        window = {"gate": "window", "why": "the window opens at 22:00", "until": 1790000000.0}
        answer = plans(
            "1",
            repair(first, state="blocked", blocked=[window]),
            repair(second, write=hostile, why=hostile, target=hostile, loses=["x" * 5000], remediation="y" * 253),
            repair(
                third, state="proposed", proposal={"owner": hostile, "where": "In Git.", "patch": "spec: {}\n" * 40}
            ),
        )
        repairs.take(at_once(decoding(json.dumps(answer).encode())))
        repairs.lost(f"it answers {hostile}", 1_790_000_060.0)
        dom = await asyncio.to_thread(browse, tmp_path, "--dump-dom", f"{made.url}/")
        picture, narrow = tmp_path / "page.png", tmp_path / "narrow.png"
        await asyncio.to_thread(browse, tmp_path, f"--screenshot={picture}", "--window-size=1280,1600", made.url)
        await asyncio.to_thread(browse, tmp_path, f"--screenshot={narrow}", "--window-size=500,1600", made.url)

    section = dom[dom.index('id="findings"') : dom.index('id="networks"')]
    assert section.count('<details class="repair">') == 3
    assert "<summary>Repair release_ipam_claim: blocked (mode plan)</summary>" in section
    assert "Repairs unknown since 2026-09-21T14:14:20Z: it answers &lt;script&gt;" in dom
    assert not re.search("<script|<img|<title>run", dom)
    assert min(picture.stat().st_size, narrow.stat().st_size) > 20_000
