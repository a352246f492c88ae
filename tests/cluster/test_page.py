"""The page in a real browser."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporter.engine.evaluate import at_once
from exporter.sidecar import Repairs, decoding
from tests.asking import scripts_in
from tests.cluster.apiserver import ApiServer
from tests.cluster.browser import CHROMIUM, QUIET, browser
from tests.cluster.client import Client
from tests.cluster.exporter import Exporter, grant
from tests.cluster.fleet import claimed_vm, delete_vm
from tests.reported_repairs import plans, repair
from tests.rows import full
from tests.served import served

from ..cause_counts import causes_of_vms

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium; on Debian install the package chromium")
HOSTILE = "<script>document.title='run'</script><img src=x onerror=\"document.title='run'\">"
LOOKS = (Path(__file__).parent / "page_looks.js").read_text(encoding="utf-8")
PATHS = ("/", "/findings", "/nodes/node01", "/drain?node=node01", "/impact", "/features/", "/instancetypes/", "/health")


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
    assert picture.stat().st_size > 20_000  # a blank page is a few kilobytes


def browse(folder: Path, *words: str) -> str:
    assert CHROMIUM
    command = [CHROMIUM, *QUIET, f"--user-data-dir={folder / 'profile'}", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def fleet(see: Callable[[dict[str, Any]], None]) -> None:
    """Some objects of which pages have something to say."""
    see({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4", "gates": ["VSOCK"]})
    see({"kind": "Node", "name": "node01", "cordoned": True})
    see({"kind": "VirtualMachineClusterInstancetype", "name": "u1.with-a-name-that-is-longer-than-a-phone-is-wide"})
    see({"kind": "VirtualMachine", "name": "db", "instancetype": {"name": "u1"}, "runStrategy": "Always"})
    see({"kind": "VirtualMachineInstance", "name": "db", "node": "node01", "phase": "Running"})


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_nothing_is_wider_than_the_screen_or_too_faint(scheme: str, tmp_path: Path) -> None:
    names = ["x" * 253, "a-name-with-many-parts." * 10]
    async with served(0, checks=[causes_of_vms(20, 400, names=names)]) as made, browser(tmp_path) as tab:
        fleet(lambda row: made.evaluation.seen(full(row)))
        first = next(iter(made.engine.findings()))
        paths = (*PATHS, f"/findings/{first.fingerprint}", f"/findings?cause={first.cause}", "/vms/ns/db", "/runbooks/")
        found = {}
        for width in (1440, 1280, 390):
            await tab.looks(width, scheme)
            for path in (*paths, "/runbooks/VMInstancetypeMissing.md"):
                await tab.open(f"{made.url}{path}")
                found[width, path] = await tab.value(LOOKS)
        assert {key: each for key, each in found.items() if each} == {}
        assert {each.split("/")[2] for each in tab.asked if each.startswith("http")} == {made.url.split("/")[2]}


async def test_the_worst_cause_is_in_the_first_fold(tmp_path: Path) -> None:
    async with served(0, checks=[causes_of_vms(20, 400)]) as made, browser(tmp_path) as tab:
        for width in (1440, 1280, 390):
            await tab.looks(width, "light")
            await tab.open(made.url)
            for part in (".count", ".trust", "article.cause h3"):
                place = f"document.querySelector({part!r}).getBoundingClientRect().bottom"
                assert 0 < await tab.value(place) < 844, (width, part)


async def test_the_page_follows_changes_and_keeps_the_focus_and_what_is_open(tmp_path: Path) -> None:
    async with served(1) as made, browser(tmp_path) as tab:
        cause = next(iter(made.engine.causes)).id
        fingerprint = next(iter(made.engine.findings())).fingerprint
        await tab.open(f"{made.url}/findings?open={cause}")
        await tab.until("document.querySelector('[data-state]').textContent.includes('Refreshes itself')")
        await tab.value(f"document.querySelector('#c-{cause} h3 a').focus()")
        made.see("another")
        await made.notify()
        await tab.until("document.querySelector('h1').textContent.includes('2 findings')")
        focused = await tab.value("document.activeElement.getAttribute('href')")
        assert focused == f"/findings/{fingerprint}"
        assert await tab.value("document.querySelectorAll('li.finding').length") == 2


async def test_a_command_is_copied_and_a_link_of_before_leads_on(tmp_path: Path) -> None:
    async with served(0, checks=[causes_of_vms(1, 1)]) as made, browser(tmp_path) as tab:
        (finding,) = made.engine.findings()
        await tab.open(f"{made.url}/findings/{finding.fingerprint}")
        assert await tab.value("document.querySelectorAll('.command').length") == 2
        await tab.value("document.querySelector('.command button').click()")
        await tab.until("/Copied|Selected/.test(document.querySelector('.command button').textContent)")
        await tab.open(f"{made.url}/#networks")
        await tab.until("location.pathname === '/networks/' && document.readyState === 'complete'")


async def test_chromium_shows_instancetypes_and_runs_nothing_of_their_names(tmp_path: Path) -> None:
    async with served() as made:
        for name in ("u1", HOSTILE, "x" * 253):
            made.evaluation.seen(full({"kind": "VirtualMachineClusterInstancetype", "name": name}))
            made.evaluation.seen(full({"kind": "VirtualMachine", "name": f"vm-{name}", "instancetype": {"name": name}}))
        dom = await asyncio.to_thread(browse, tmp_path, "--dump-dom", f"{made.url}/instancetypes/")

    assert dom.count("1 by the live object") == 3
    assert "<code>ns/vm-u1</code>" in dom
    assert "&lt;script&gt;" in dom
    assert scripts_in(dom) == []
    assert not re.search("<img|<title>run", dom)


async def test_chromium_shows_features_and_runs_nothing_of_what_is_asked_for(tmp_path: Path) -> None:
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4"}
    async with served() as made:
        made.evaluation.seen(full(kubevirt | {"target": "v1.9.0", "gates": ["VSOCK", HOSTILE]}))
        for name, device in (("a", "nvidia.com/A100"), ("b", HOSTILE), ("c", "x" * 253)):
            devices = {"downwardMetrics": {}, "gpus": [{"name": "g", "deviceName": device}]}
            made.evaluation.seen(full({"kind": "VirtualMachine", "name": name, "domain": {"devices": devices}}))
        dom = await asyncio.to_thread(browse, tmp_path, "--dump-dom", f"{made.url}/features/")

    assert "feature gate DownwardMetrics is off" in dom
    assert "3 VMs (3 stopped)" in dom
    assert "<code>nvidia.com/A100</code>: 1 and 0" in dom
    assert "In v1.9.0" in dom
    assert "&lt;script&gt;" in dom
    assert scripts_in(dom) == []
    assert not re.search("<img|<title>run", dom)


async def test_chromium_shows_repairs_and_runs_nothing_of_their_texts(tmp_path: Path) -> None:
    repairs = Repairs(1_790_000_000.0)
    async with served(repairs=repairs) as made:
        first, second, third = (each.fingerprint for each in made.engine.findings())
        window = {"gate": "window", "why": "the window opens at 22:00", "until": 1790000000.0}
        answer = plans(
            "1",
            repair(first, state="blocked", blocked=[window]),
            repair(second, write=HOSTILE, why=HOSTILE, target=HOSTILE, loses=["x" * 5000], remediation="y" * 253),
            repair(
                third, state="proposed", proposal={"owner": HOSTILE, "where": "In Git.", "patch": "spec: {}\n" * 40}
            ),
        )
        repairs.take(at_once(decoding(json.dumps(answer).encode())))
        repairs.lost(f"it answers {HOSTILE}", 1_790_000_060.0)
        doms = [
            await asyncio.to_thread(browse, tmp_path, "--dump-dom", f"{made.url}{path}")
            for path in (*(f"/findings/{each}" for each in (first, second, third)), "/repairs")
        ]

    assert "release_ipam_claim: blocked" in doms[0]
    for dom in doms[:3]:
        assert dom.count('<article class="repair"') == 1
    for dom in doms:
        assert scripts_in(dom) == []
        assert not re.search("<img|<title>run", dom)
    assert "Repairs unknown since 2026-09-21T14:14:20Z: it answers &lt;script&gt;" in doms[3]
