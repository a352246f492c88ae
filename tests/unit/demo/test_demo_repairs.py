"""The sidecar's part of the demo: repairs of the sample fleet that are approved, carried out, shown and taken back."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from demo.repairs import join
from demo.showing import DemoPart, demo
from demo.story import Say
from exporter.engine.engine import Engine
from reconcile.ledger import Event, Ledger
from reconcile.plan.annotations import PREFIX


class Once:
    """A part that looks at the demo after its story, before the demo ends."""

    def __init__(self, part: DemoPart, kubeconfig: Path) -> None:
        self.part, self.kubeconfig, self.url = part, kubeconfig, part.url
        self.over = asyncio.Event()
        self.repairs: dict[str, list[dict[str, str]]] = {}
        self.events: list[Event] = []

    def commands(self, exporter: str) -> Iterable[str]:
        return self.part.commands(exporter)

    async def play(self, exporter: str, say: Say, pace: float) -> None:
        await self.part.play(exporter, say, pace)
        async with aiohttp.ClientSession() as session, session.get(f"{exporter}/api/v1/findings") as answer:
            report = json.loads(await answer.read())
        self.repairs = {each["fingerprint"]: each.get("repairs") for each in report["findings"]}
        self.events = [each.event for each in Ledger.read(self.kubeconfig.parent / "ledger")]
        self.over.set()


def server_of(kubeconfig: Path) -> str:
    server: str = json.loads(kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
    return server


async def given_up(kubeconfig: Path) -> None:
    """The Lease, which its last holder gave up: the sidecar leads without waiting for its end."""
    annotations = {f"{PREFIX}lease-process": "p", f"{PREFIX}lease-released": "p"}
    lease = {"metadata": {"name": "kubevirt-steward-reconcile", "annotations": annotations}, "spec": {}}
    url = f"{server_of(kubeconfig)}/apis/coordination.k8s.io/v1/namespaces/default/leases"
    async with aiohttp.ClientSession() as session, session.post(url, json=lease) as answer:
        assert answer.status == 201


async def test_a_repair_is_approved_and_stays_and_another_is_taken_back(capsys: pytest.CaptureFixture[str]) -> None:
    joined: asyncio.Future[Once] = asyncio.get_running_loop().create_future()

    @asynccontextmanager
    async def watched(kubeconfig: Path, engine: Awaitable[Engine]) -> AsyncIterator[Once]:
        await given_up(kubeconfig)
        async with join(kubeconfig, engine) as part:
            joined.set_result(Once(part, kubeconfig))
            yield joined.result()

    task = asyncio.create_task(demo(("127.0.0.1", 0), 0.05, [watched]))
    async with asyncio.timeout(180):
        once = await joined
        await once.over.wait()
    task.cancel()
    await asyncio.wait([task])
    text = capsys.readouterr().out

    assert "steward reconcile plan --kubeconfig" in text
    stays, back = re.findall(r"\$ steward reconcile approve (\w+) ", text)
    assert f"Finding {stays} is resolved." in text
    assert f"Finding {back} is open again. VirtualMachine telecom/billing-gw is paused" in text
    assert re.search(r"Event: Repaired VirtualMachine payments-db: restash_missing_revision: ", text)
    resume = r"To resume: steward reconcile resume --kubeconfig \S+/kubeconfig VirtualMachine telecom/billing-gw"
    assert re.search(resume, text)  # of this cluster, whichever kubectl would ask
    assert stays not in once.repairs
    assert any(each for each in once.repairs.values())
    assert once.events.count(Event.DONE) == 2
