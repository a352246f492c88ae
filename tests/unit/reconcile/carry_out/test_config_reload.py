"""A configuration that changes while the sidecar works: from the next step on it counts, and a bad one never does."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from reconcile.cli.commands.run import follow
from reconcile.config.loading import LoadedSidecar, in_effect, load, reloaded
from reconcile.config.settings import SidecarConfig
from reconcile.plan.remediations import all_remediations

from ....fakeapi.faults import Fault
from ....rows import full
from ....sidecar_runs import Running, auto, on, orphan

BUDGETS = {"run": 20, "hour": 100, "namespaceHour": 100, "fleetShare": 1.0}
AUTO = {"canary": {"enabled": False}, **auto(budgets=BUDGETS)}
OFF = {**AUTO, "remediations": {"delete_orphan_ipam_claim": {"mode": "off", "minAge": "0s"}}}


def ten() -> list[dict[str, Any]]:
    vms = [full({"kind": "VirtualMachine", "namespace": "kubevirt", "name": f"crowd{at}"}) for at in range(50)]
    return [*(orphan(f"vm{at}") for at in range(10)), *vms]


def loaded(file: Path, settings: dict[str, Any] | str) -> LoadedSidecar:
    file.write_text(settings if isinstance(settings, str) else json.dumps(settings), encoding="utf-8")
    found = load(all_remediations(), file)
    assert isinstance(found, LoadedSidecar), found
    return found


def config(tmp_path: Path, settings: dict[str, Any]) -> SidecarConfig:
    return loaded(tmp_path / "new.yaml", settings).config


async def test_from_auto_to_off_in_the_middle_of_a_queue_of_ten(tmp_path: Path) -> None:
    off = config(tmp_path, OFF)
    async with on(tmp_path, AUTO, *ten()) as running:
        third = Fault("/ipamclaims/", method="DELETE", skip=5, times=1, before=lambda: running.sidecar.take(off))
        running.server.faults.add(third)  # the write of the third: dry runs and writes take turns
        assert await running.run() == 3
        assert len(running.writes()) == 3
        assert [each.event.value for each in running.ledger.entries()] == ["intended", "done"] * 3
        assert await running.run() == 0
        assert running.board.all() == []


@pytest.mark.parametrize("dry", [True, False], ids=["at the dry run", "at the entry of the ledger"])
async def test_a_stricter_mode_ends_an_attempt_before_its_write(
    dry: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = config(tmp_path, {**AUTO, "remediations": {"delete_orphan_ipam_claim": {"mode": "plan", "minAge": "0s"}}})
    async with on(tmp_path, AUTO, orphan("db")) as running:
        if dry:
            at = Fault("/ipamclaims/", method="DELETE", times=1, before=lambda: running.sidecar.take(plan))
            running.server.faults.add(at)
        else:

            async def assure(_: float) -> None:
                running.sidecar.take(plan)

            monkeypatch.setattr(running.leader, "assure", assure)
        assert await running.run() == 0
        assert running.writes() == []
        refused = running.repair().refused
        assert refused is not None
        assert (refused.precondition, "is now plan in namespace ns, and was auto" in refused.why) == ("mode", True)
        assert [each.event.value for each in running.ledger.entries()] == ([] if dry else ["intended", "failed"])


async def test_a_smaller_budget_counts_what_was_written_before(tmp_path: Path) -> None:
    async with on(tmp_path, {**AUTO, "budgets": {**BUDGETS, "run": 2}}, *ten()) as running:
        assert await running.run() == 2
        running.sidecar.take(config(tmp_path, {**AUTO, "budgets": {**BUDGETS, "namespaceHour": 3}}))
        assert await running.run() == 1
        gates = {gate for each in running.board.all() for gate in (it.gate for it in each.blocked)}
        assert gates == {"budget_namespace"}


@asynccontextmanager
async def followed(running: Running, file: Path, settings: dict[str, Any]) -> AsyncIterator[None]:
    started = loaded(file, settings)
    following = asyncio.create_task(follow(running.sidecar, started, started.config, file, look=0.02))
    try:
        yield
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


async def until(so: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not so():  # noqa: ASYNC110 # the file is polled
            await asyncio.sleep(0.02)


def sample(running: Running, name: str) -> float | None:
    return running.sidecar._context.measures.registry.get_sample_value(f"kubevirt_steward_repair_{name}")


async def test_a_file_that_changes_is_taken_and_a_bad_one_is_not(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "reconcile.yaml"
    async with on(tmp_path, AUTO, orphan("db"), orphan("web"), *ten()[10:]) as running, followed(running, file, AUTO):
        file.write_text("mode: atuo\n", encoding="utf-8")
        await until(lambda: sample(running, "config_reload_success") == 0)
        assert "mode: 'atuo' is unknown" in caplog.text
        assert await running.run() == 2

        file.write_text(json.dumps({**OFF, "interval": "7s", "listen": "127.0.0.1:1"}), encoding="utf-8")
        await until(lambda: sample(running, "config_reload_success") == 1)
        assert running.sidecar._context.config.interval.total_seconds() == 7
        assert "listen changed. It takes effect at the next start" in caplog.text
        running.appear(orphan("late"))
        assert await running.run() == 0
        assert running.board.all() == []
        assert (sample(running, "config_reload_timestamp_seconds") or 0) > 0


async def test_sighup_reads_it_at_once(tmp_path: Path) -> None:
    file = tmp_path / "reconcile.yaml"
    async with on(tmp_path, AUTO) as running:
        started = loaded(file, AUTO)
        following = asyncio.create_task(follow(running.sidecar, started, started.config, file, look=600))
        await asyncio.sleep(0)
        file.write_text(json.dumps({**AUTO, "interval": "9s"}), encoding="utf-8")
        os.kill(os.getpid(), signal.SIGHUP)
        await until(lambda: running.sidecar._context.config.interval.total_seconds() == 9)
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


def test_what_was_started_without_a_lease_writes_nothing(tmp_path: Path) -> None:
    started = loaded(tmp_path / "a.yaml", {})
    new = loaded(tmp_path / "b.yaml", AUTO)
    refused = reloaded(started, new, all_remediations(), tmp_path / "b.yaml")
    assert "holds no Lease; restart it" in str(refused)
    assert reloaded(new, started, all_remediations(), None) is started


def test_what_waits_for_the_next_start_stays_as_it_was(tmp_path: Path) -> None:
    started = loaded(tmp_path / "a.yaml", AUTO)
    changed = {**OFF, "editWar": {"returns": 9}, "lease": {"name": "other"}, "budgets": {"run": 1}}
    new = loaded(tmp_path / "b.yaml", changed)
    assert new.waiting(started) == ("editWar", "lease")
    found = in_effect(started.config, new.config)
    assert (found.edit_war.returns, found.lease.name) == (3, "kubevirt-steward-reconcile")
    assert (found.budgets.run, found.of("delete_orphan_ipam_claim").mode) == (1, "off")
