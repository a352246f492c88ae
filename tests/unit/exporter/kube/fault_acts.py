"""The faults and when they happen; each act ends with the fault still active or just over."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Awaitable, Callable
from typing import Any

from demo.apiserver.errors import PlainError
from demo.apiserver.storage import StorageBackup
from exporter.store.source import SyncState
from tests.fakeapi import faults
from tests.fakeapi.apiserver import FakeApiServer
from tests.fakeapi.faults import Fault
from tests.unit.exporter.kube.fault_stage import Stage

CLAIMS = "/ipamclaims"

Act = Callable[[Stage], Awaitable[None]]
"""Injects a fault, changes the fleet meanwhile, and calls `over` when the current state is visible again."""


def watched(fault: Callable[[], Fault], fleet: Callable[[Stage], None] = Stage.change) -> Act:
    """The next watch hits the fault, and then the fleet changes."""

    async def act(stage: Stage) -> None:
        stage.inject(fault())
        stage.cut()
        await stage.server.until_unwatched("ipamclaims")
        await stage.server.until_watched("ipamclaims")
        stage.over()
        fleet(stage)

    return act


def met(*injected: Callable[[], Fault], lists: bool = False) -> Act:
    """The connections drop, the fleet changes, and the next requests for all kinds hit the faults."""

    async def act(stage: Stage) -> None:
        for each in injected:
            stage.inject(each())
        stage.over()
        if lists:
            stage.outdate()
        else:
            stage.cut()
            stage.change()

    return act


def on_claims(**effects: Any) -> Callable[[], Fault]:
    """Hits watches of claims, one by default."""
    return lambda: Fault(CLAIMS, watch=True, **copy.deepcopy({"times": 1, **effects}))


def on_watches(answer: faults.Answer, times: int = 6) -> Callable[[], Fault]:
    return lambda: Fault(watch=True, answer=answer, times=times)


def on_lists(answer: faults.Answer, times: int = 6) -> Callable[[], Fault]:
    return lambda: Fault(watch=False, answer=answer, times=times)


def trickle() -> Fault:
    return Fault("/namespaces", watch=False, drip=0.05, times=1)


def body(text: str) -> faults.Answer:
    return lambda _call, _target: PlainError(200, text)


def plain_lists(server: FakeApiServer) -> None:
    server.streaming_lists = False


def reorder(stage: Stage) -> None:
    """Two events of one object, the later one first: applied in that order, a deleted claim would come back."""
    stage.remove("ipamclaims", "shop", "checkout-canary.blue")
    stage.change_vm()


def big(stage: Stage) -> None:
    claim = stage.dead_claim("big", 240)
    claim["metadata"]["annotations"] = {"note": "x" * 1_400_000}
    stage.server.create(claim)
    stage.change()


async def big_in_list(stage: Stage) -> None:
    stage.over()
    big(stage)
    stage.cut()
    stage.server.compact()


async def frozen_list(stage: Stage) -> None:
    stage.inject(Fault(CLAIMS, watch=False, frozen=True, times=1))
    stage.over()
    stage.outdate()


async def between_pages(stage: Stage) -> None:
    stage.inject(Fault(CLAIMS, paged=True, before=stage.change, times=2))
    stage.over()
    stage.outdate()
    await stage.until(lambda: stage.changes >= 3)


async def snapshot_expires(stage: Stage) -> None:
    stage.inject(Fault(CLAIMS, paged=True, before=stage.server.compact, times=2))
    stage.over()
    stage.outdate()


def jump(seconds: float) -> Act:
    async def act(stage: Stage) -> None:
        stage.clock.offset = seconds
        stage.over()
        stage.cut()
        stage.change()

    return act


def refused(answer: faults.Answer, sync_state: SyncState, **pace: float) -> Act:
    async def act(stage: Stage) -> None:
        fault = stage.inject(Fault(CLAIMS, answer=answer))
        stage.cut()
        await stage.until_sync_state(sync_state)
        stage.change()
        await stage.until_sync_state(SyncState.LIVE, "VirtualMachine")
        stage.server.faults.remove(fault)
        stage.over()

    return act


def starting(*, ready: bool) -> Act:
    """An API server that has just started serves no CRD for a moment. If it is `ready`, it is another one behind the
    same address that says so.
    """

    async def act(stage: Stage) -> None:
        stage.inject(Fault("k8s.cni.cncf.io", answer=faults.page_not_found()))
        if not ready:
            stage.inject(Fault("/readyz", answer=faults.internal_error()))
        stage.cut()
        says = "the next discovery has to confirm that" if ready else "the API server is not ready"
        await stage.until(lambda: says in stage.why())
        stage.change()
        stage.server.faults.clear()
        stage.over()

    return act


async def unserved(stage: Stage) -> None:
    server, stage.emptied = stage.server, True
    kept = server.objects("ipamclaims")
    server.unserve("ipamclaims")
    await stage.until_sync_state(SyncState.ABSENT)
    server.serve("ipamclaims")
    server.load(kept)
    stage.change()
    stage.over()


async def restarted(stage: Stage) -> None:
    server, port = stage.server, int(stage.server.url.rpartition(":")[2])
    await server.stop()
    stage.change()
    await stage.until_sync_state(SyncState.STALE)
    await server.start(port=port)
    stage.over()


async def _ahead(stage: Stage) -> StorageBackup:
    """A backup, and a steward that has seen far more since: without a change of what is true."""
    backup = stage.server.backup()
    reflectors = stage.steward.source.reflectors
    for plural in ("virtualmachines", "nodes"):  # the bookmark after each is news to all other kinds
        meta = stage.server.objects(plural)[-1]["metadata"]
        for number in range(15):
            note = {"metadata": {"annotations": {"note": str(number)}}}
            stage.server.patch(plural, meta.get("namespace", ""), meta["name"], note)
        heard = {each.kind.name: each.stats.last_bookmark for each in reflectors}
        stage.server.bookmark()
        async with asyncio.timeout(10):
            while any(each.stats.last_bookmark == heard[each.kind.name] for each in reflectors):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
    return backup


async def restored(stage: Stage) -> None:
    """etcd is restored while the API server is down; when that is back it lacks what was seen of it."""
    server, port = stage.server, int(stage.server.url.rpartition(":")[2])
    backup = await _ahead(stage)
    await server.stop()
    server.restore(backup)
    stage.change()
    await server.start(port=port)
    stage.over()


async def silent(stage: Stage) -> None:
    """etcd is restored, and the watches stay."""
    stage.server.restore(await _ahead(stage))
    stage.change()
    stage.over()


def group_down(server: FakeApiServer) -> None:
    server.faults.add(Fault("/apis/k8s.cni.cncf.io/v1alpha1", answer=faults.unavailable()))


async def group_up(stage: Stage) -> None:
    await stage.until_sync_state(SyncState.FAILING)
    await stage.until_sync_state(SyncState.LIVE, "VirtualMachine")
    stage.server.faults.clear()
    stage.over()
