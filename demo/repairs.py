"""The sidecar's part of `steward demo`: it plans repairs of the sample fleet, and carries out those that are approved.

Its story approves of two, and takes one of them back, by the commands that a person would type.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from exporter.__main__ import main
from exporter.config.settings import Config as ExporterConfig
from exporter.engine.engine import Engine
from exporter.kube.get_json import whole
from exporter.kube.transport import Transport
from reconcile.app import run
from reconcile.carry_out.finding_source import EngineSource, Observed
from reconcile.carry_out.metrics import ShownRepairs
from reconcile.config.settings import SidecarConfig, model_of
from reconcile.decide.repair import Repair
from reconcile.ledger import Entry, Ledger
from reconcile.plan.remediations import all_remediations

from .story import Say

_KEPT = "restash_missing_revision"  # is approved, and stays
_UNDONE = "persist_firmware_uuid"  # is approved, and taken back
_LARGEST = 1 << 24  # bytes of an answer
_APPROVABLE = (_KEPT, _UNDONE, "delete_orphan_pdb", "delete_orphan_revision")


class _Awaited:
    """The findings of an exporter in this process, once it is there."""

    def __init__(self, engine: Awaitable[Engine]) -> None:
        self._engine = asyncio.ensure_future(engine)

    async def observed(self) -> Observed:
        return await EngineSource(await self._engine, time.time).observed()

    async def changed(self, seconds: float) -> None:
        await EngineSource(await self._engine, time.time).changed(seconds)


class Demo:
    def __init__(self, url: str, board: ShownRepairs, kubeconfig: Path, ledger: Path) -> None:
        self.url = url
        self._board, self._kubeconfig, self._ledger = board, kubeconfig, ledger
        self._kept = ["--ledger", str(ledger)]

    def commands(self, exporter: str) -> Iterator[str]:
        yield shlex.join(["steward", "reconcile", "plan", *self._cluster(exporter)])
        yield shlex.join(["steward", "reconcile", "ledger", *self._kept])

    async def play(self, exporter: str, say: Say, pace: float) -> None:
        """A repair that is approved, carried out and stays; then one that is taken back."""
        await self._approved(_KEPT, exporter, say, pace)
        intended = await self._approved(_UNDONE, exporter, say, pace)
        if intended is None or intended.plan is None:
            return
        await asyncio.sleep(pace)
        say("Assume that the VM owner wants the other UUID. --accept gives up the UUID in use:")
        undo = ["steward", "reconcile", "undo", intended.attempt, "--yes", "--accept", "identity"]
        await self._run(say, [*undo, *self._cluster(), *self._kept])
        plan = intended.plan
        await self._until(lambda: self._board.get(plan.fingerprint, _UNDONE) is not None)
        say(f"Finding {plan.fingerprint} is open again. {plan.bound_to} is paused, so that it is not repaired again.")

    async def _approved(self, remediation: str, exporter: str, say: Say, pace: float) -> Entry | None:
        """Until the finding is gone; the attempt, None where somebody else was faster."""
        await self._until(lambda: bool(self._waiting(remediation)))
        repair = self._waiting(remediation)[0]
        because = repair.why.rstrip(".")
        say(f"The sidecar would {repair.write}, because {because}. It waits for an approval of plan {repair.hash}.")
        await asyncio.sleep(pace)
        await self._run(say, [*shlex.split(repair.commands[0]), *self._cluster(exporter)])
        await self._until(lambda: self._board.get(repair.fingerprint, remediation) is None)
        say(f"Finding {repair.fingerprint} is resolved.")
        found = (each for each in Ledger.read(self._ledger) if each.plan is not None and each.plan.hash == repair.hash)
        intended = next(found, None)
        if intended is not None:
            await self._run(say, ["steward", "reconcile", "ledger", intended.attempt, *self._kept])
            say(f"Event: {await self._event(intended)}")
        return intended

    def _waiting(self, remediation: str) -> list[Repair]:
        return [each for each in self._board.all() if each.remediation == remediation and each.state == "waiting"]

    async def _event(self, intended: Entry) -> str:
        """What `kubectl get events` shows of an attempt."""
        assert intended.plan is not None
        transport = Transport.from_environment(str(self._kubeconfig))
        path = f"/api/v1/namespaces/{intended.plan.bound_to.namespace}/events"
        try:
            await transport.load()
            async with transport.open("GET", path, read_seconds=10.0) as response:
                events = msgspec.json.decode(await whole(response, _LARGEST))["items"]
        finally:
            await transport.close()
        own = [each for each in events if each["metadata"]["name"].endswith(f".{intended.attempt}")]
        return "; ".join(
            f"{each['reason']} {each['involvedObject']['kind']} {each['involvedObject']['name']}: {each['message']}"
            for each in own
        )

    async def _until(self, holds: Callable[[], bool]) -> None:
        async with self._board.changed:
            await self._board.changed.wait_for(holds)

    def _cluster(self, exporter: str = "") -> list[str]:
        return ["--kubeconfig", str(self._kubeconfig), *(["--exporter", exporter] if exporter else [])]

    async def _run(self, say: Say, command: list[str]) -> None:
        """In a thread, since commands have a loop of their own."""
        say(f"$ {shlex.join(command)}")
        await asyncio.to_thread(main, command[1:])


@asynccontextmanager
async def join(kubeconfig: Path, engine: Awaitable[Engine]) -> AsyncIterator[Demo]:
    """The sidecar at work while entered, beside the exporter of the demo."""
    ledger = kubeconfig.parent / "ledger"
    transport = Transport.from_environment(str(kubeconfig))
    sidecar_runs = run(_config(ledger), transport, ExporterConfig(), source=_Awaited(engine), policies=False)
    async with sidecar_runs as (url, sidecar):  # the demo's API server has no admission policies
        yield Demo(url, sidecar.repairs, kubeconfig, ledger)


def _config(ledger: Path) -> SidecarConfig:
    """Few are to be approved of; all others are planned."""
    settings: dict[str, Any] = {
        "remediations": {each: {"mode": "approve", "minAge": "0s"} for each in _APPROVABLE},
        "interval": "1s",
        "verifyAfter": "1s",
        "listen": "127.0.0.1:0",
        "insecure": True,
        "ledger": {"directory": str(ledger)},
    }
    return model_of(all_remediations()).model_validate(settings, by_alias=True, by_name=False)
