"""The requests of a reflector, its backoff, and the sync state that it reports."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.calls import ApiCall
from exporter.app import assemble
from exporter.engine.intake import Intake
from exporter.kube.transport import Transport
from exporter.kube.watch.listing import Decoder
from exporter.kube.watch.reflector import LiveSource
from exporter.store.decode import by_name
from exporter.store.kinds.ipam_claim import IPAMClaim
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.source import SyncState
from tests.evaluation import Evaluation
from tests.fakeapi import faults
from tests.fakeapi.apiserver import FakeApiServer
from tests.fakeapi.faults import Fault
from tests.unit.exporter.kube.fault_acts import plain_lists
from tests.unit.exporter.kube.fault_stage import PACE, Stage, staged

CLAIMS = "ipamclaims.k8s.cni.cncf.io"


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110 # no event for a request
            await asyncio.sleep(0.005)


def asked(stage: Stage, *, watch: bool, path: str = "/ipamclaims") -> list[ApiCall]:
    return [call for call in stage.server.requests if call.path.endswith(path) and call.watch is watch]


def resumed_from(stage: Stage) -> str:
    return asked(stage, watch=True)[-1].query.get("resourceVersion", "")


def nothing(_: FakeApiServer) -> None:
    pass


# -- requests


async def test_every_request_has_the_token_and_refuses_compression(tmp_path: Path) -> None:
    async with staged(tmp_path, plain_lists, {}) as stage:
        await stage.until_true()
        calls = list(stage.server.requests)

    assert {call.watch for call in calls} == {True, False}
    assert {call.headers.get("Authorization") for call in calls} == {"Bearer t0ken"}
    assert {call.headers.get("Accept-Encoding") for call in calls} == {"identity"}


async def test_a_list_is_paged_and_the_watch_resumes_from_it(tmp_path: Path) -> None:
    async with staged(tmp_path, plain_lists, {}) as stage:
        await stage.until_true()
        lists, watches = asked(stage, watch=False), asked(stage, watch=True)
        version = stage.server.version

    assert len(lists) > 2
    assert {call.query["limit"] for call in lists} == {"5"}
    assert ["continue" in call.query for call in lists] == [False] + [True] * (len(lists) - 1)
    assert [call.query.get("sendInitialEvents") for call in watches] == ["true", None]
    assert watches[1].query["resourceVersion"] == str(version)
    assert watches[1].query["allowWatchBookmarks"] == "true"
    assert watches[1].query["timeoutSeconds"] == "30"


async def test_a_watch_resumes_from_a_bookmark(tmp_path: Path) -> None:
    async with staged(tmp_path, nothing, {}) as stage:
        await stage.until_true()
        stage.change_vm()  # raises the resourceVersion, with no event for claims
        claims = next(each for each in stage.steward.source.reflectors if each.kind.resource == CLAIMS)
        stage.server.bookmark()
        await until(lambda: claims.stats.last_bookmark > 0)
        before = len(asked(stage, watch=True))
        stage.cut()
        await until(lambda: len(asked(stage, watch=True)) > before)
        assert resumed_from(stage) == str(stage.server.version)


async def test_a_watch_that_times_out_resumes_from_its_last_event(tmp_path: Path) -> None:
    async with staged(tmp_path, nothing, {}) as stage:
        await stage.until_true()
        stage.server.pace.longest, stage.server.pace.bookmarks = 0.15, None
        stage.cut()  # the watches that were begun before would last
        stage.server.create(stage.dead_claim("late", 230))
        await until(lambda: resumed_from(stage) == str(stage.server.version))
        assert len([call for call in asked(stage, watch=True) if "sendInitialEvents" in call.query]) == 1


async def test_a_relist_changes_only_what_differs(tmp_path: Path) -> None:
    async with staged(tmp_path, nothing, {}) as stage:
        await stage.until_true()
        stage.start_recording()
        stage.outdate()
        await stage.until_true()
        claims = next(each for each in stage.steward.source.reflectors if each.kind.resource == CLAIMS)
        assert claims.stats.relists == 1
        # the deleted claim; that of the deleted VM, and the new one
        assert [each.subject.name for each in stage.gone] == ["checkout-canary.blue"]
        assert {each.subject.name for each in stage.come} == {"dead-1.blue", "promo-1.blue"}


async def test_a_streaming_list_may_take_longer_than_a_watch(tmp_path: Path) -> None:
    def slow(server: FakeApiServer) -> None:
        server.faults.add(Fault("/namespaces", watch=True, drip=0, times=1))

    async with staged(tmp_path, slow, {"watch": 0.05, "grace": 0.01, "silence": 30, "longest_list": 60}) as stage:
        await stage.until_sync_state(SyncState.LIVE, "Namespace")
        assert time.monotonic() - stage.began > 0.06
        first = asked(stage, watch=True, path="/namespaces")[0]
        assert int(first.query["timeoutSeconds"]) > 60
        assert not asked(stage, watch=False, path="/namespaces")


@pytest.mark.parametrize("lists", [nothing, plain_lists], ids=["streaming", "paged"])
async def test_what_went_while_a_kind_was_not_served_is_gone_when_it_is_listed_again(
    tmp_path: Path, lists: Callable[[FakeApiServer], None]
) -> None:
    async with staged(tmp_path, lists, {}) as stage:
        await stage.until_true()
        cluster = stage.steward.engine.cluster
        kept = stage.server.objects("virtualmachines")[0]
        port = int(stage.server.url.rpartition(":")[2])
        await stage.server.stop()  # nobody watches it go
        stage.server.unserve("virtualmachines")
        await stage.server.start(port=port)
        await stage.until_sync_state(SyncState.ABSENT, "VirtualMachine")
        assert cluster.count(VirtualMachine) > 1  # it is not optional: what is held is shown as unknown
        assert stage.why("VirtualMachine").endswith("; checks that read it are unknown until its CRD is installed")
        stage.server.serve("virtualmachines")
        stage.server.load([kept])
        await stage.until_sync_state(SyncState.LIVE, "VirtualMachine")
        assert [each.name for each in cluster.all(VirtualMachine)] == [kept["metadata"]["name"]]
        await stage.until_true()


# -- sync state


async def test_what_is_held_is_current_up_to_the_last_word_of_a_live_watch(tmp_path: Path) -> None:
    began = time.time()
    async with staged(tmp_path, nothing, {}) as stage:
        await stage.until_sync_state(SyncState.LIVE)
        claims = next(each for each in stage.steward.source.reflectors if each.kind.resource == CLAIMS)
        connected = claims.stats.current
        assert began <= connected <= time.time()
        stage.server.bookmark()
        await until(lambda: claims.stats.current > connected)

        port = int(stage.server.url.rpartition(":")[2])
        await stage.server.stop()
        await stage.until_sync_state(SyncState.BEHIND)
        lost = claims.stats.current
        await stage.until_sync_state(SyncState.STALE)
        assert claims.stats.current == lost
        await stage.server.start(port=port)
        await stage.until_sync_state(SyncState.LIVE)
        assert claims.stats.current > lost


async def test_the_sync_state_and_its_reason_follow_the_api_server(tmp_path: Path) -> None:
    def failing(server: FakeApiServer) -> None:
        server.faults.add(Fault("/ipamclaims", answer=faults.internal_error()))

    async with staged(tmp_path, failing, {}) as stage:
        assert (stage.sync_state("IPAMClaim"), stage.why()) == (SyncState.STARTING, f"{CLAIMS} has not been listed yet")
        await stage.until_sync_state(SyncState.FAILING)
        assert stage.why() == f"can't list or watch {CLAIMS}: 500 etcdserver: request timed out"
        stage.server.faults.clear()
        await stage.until_sync_state(SyncState.LIVE)
        assert stage.why() == ""

        port = int(stage.server.url.rpartition(":")[2])
        await stage.server.stop()
        await stage.until_sync_state(SyncState.BEHIND)
        await stage.until(lambda: stage.why().startswith(f"can't list or watch {CLAIMS}: no connection to http://"))
        await stage.until_sync_state(SyncState.STALE)
        assert stage.why() == f"no connection for {CLAIMS} for 0 s"
        await stage.server.start(port=port)
        await stage.until_sync_state(SyncState.LIVE)

        stage.server.faults.add(Fault("/ipamclaims", answer=faults.forbidden()))
        stage.cut()
        await stage.until_sync_state(SyncState.FORBIDDEN)
        assert stage.why().startswith(f"can't list {CLAIMS} in all namespaces: 403 {CLAIMS} is forbidden: User ")
        assert stage.why().endswith(f'. Grant "list" and "watch" on {CLAIMS}')
        stage.server.faults.clear()
        await stage.until_sync_state(SyncState.LIVE)

        stage.server.unserve("ipamclaims")
        await stage.until_sync_state(SyncState.ABSENT)
        assert stage.why() == (f"the cluster does not serve {CLAIMS}; there are no objects until its CRD is installed")


async def test_a_kind_that_was_forbidden_for_long_is_stale_at_once_when_the_server_fails(tmp_path: Path) -> None:
    async with staged(tmp_path, nothing, {}) as stage:
        await stage.until_true()
        forbidden = stage.server.faults.add(Fault("/ipamclaims", answer=faults.forbidden()))
        stage.cut()
        await stage.until_sync_state(SyncState.FORBIDDEN)
        await asyncio.sleep(PACE.stale_after)
        stage.server.faults.add(Fault("k8s.cni.cncf.io", answer=faults.unavailable()))
        seen: list[SyncState] = []
        stage.server.faults.remove(forbidden)
        await stage.until(lambda: seen.append(stage.sync_state("IPAMClaim")) or seen[-1] is SyncState.STALE)  # type: ignore[func-returns-value]
        assert SyncState.BEHIND not in seen


# -- backoff


async def gaps(folder: Path, count: int, pace: dict[str, float], **effects: Any) -> list[float]:
    """The seconds between successive requests for claims that all hit the fault."""
    times: list[float] = []
    async with staged(folder, plain_lists, pace) as stage:
        await stage.until_true()
        stage.server.faults.add(
            Fault("/ipamclaims", watch=True, before=lambda: times.append(time.monotonic()), **effects)
        )
        stage.cut()
        await until(lambda: len(times) > count)
    return [after - before for before, after in itertools.pairwise(times)][:count]


async def test_the_backoff_grows_up_to_a_limit(tmp_path: Path) -> None:
    waits = await gaps(tmp_path, 6, {}, answer=faults.unavailable())

    # the first backoff was after the cut
    for wait, least in zip(waits, (0.08, 0.16, 0.2, 0.2, 0.2, 0.2), strict=True):
        assert least <= wait < 0.2 + 1.0


async def test_retry_after_is_honoured(tmp_path: Path) -> None:
    assert (await gaps(tmp_path, 1, {"longest_wait": 1.0}, answer=faults.too_many_requests(1)))[0] >= 1.0


async def test_retry_after_0_does_not_shorten_the_backoff(tmp_path: Path) -> None:
    waits = await gaps(tmp_path, 3, {}, answer=faults.too_many_requests(0))
    assert all(wait >= least for wait, least in zip(waits, (0.08, 0.16, 0.2), strict=True))


async def test_a_watch_that_ends_immediately_again_and_again_backs_off(tmp_path: Path) -> None:
    times: list[float] = []

    def at_once(server: FakeApiServer) -> None:
        server.pace.longest, server.pace.bookmarks = 0.0, None
        server.faults.add(Fault("/ipamclaims", watch=True, before=lambda: times.append(time.monotonic())))

    async with staged(tmp_path, at_once, {}):
        await until(lambda: len(times) > 6)
    assert times[6] - times[5] >= PACE.longest_wait


async def test_a_watch_without_a_response_is_retried(tmp_path: Path) -> None:
    accepted = 0

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        await reader.read()
        writer.close()

    async with staged(tmp_path, nothing, {}) as stage:
        await stage.until_true()
        port = int(stage.server.url.rpartition(":")[2])
        await stage.server.stop()
        async with await asyncio.start_server(silent, "127.0.0.1", port):
            kinds = len(stage.steward.source.reflectors)
            await until(lambda: accepted > 2 * kinds)
        await stage.server.start(port=port)
        await stage.until_true()


# -- unexpected errors


async def test_an_error_of_a_reflector_is_raised_in_the_block(tmp_path: Path) -> None:
    class Broken(Intake):
        async def swap(self, *_: Any) -> None:
            raise ZeroDivisionError from KeyError("why")

    async with staged(tmp_path, nothing, {}) as stage:
        await stage.until_true()
        kinds = [each.kind for each in stage.steward.source.reflectors]
        transport = Transport.from_environment(str(tmp_path / "kubeconfig"))
        source = LiveSource(transport, kinds, Broken(stage.steward.engine, time.time), PACE)
        with pytest.raises(ZeroDivisionError) as caught:
            async with source.watching():
                await asyncio.Event().wait()
    assert isinstance(caught.value.__cause__, KeyError)


async def test_an_error_of_the_engine_is_raised_in_the_block(tmp_path: Path) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError

    async with staged(tmp_path, nothing, {}) as stage:
        steward = assemble(Transport.from_environment(str(tmp_path / "kubeconfig")), pace=PACE, settle=0)
        steward.engine.listen(broken)
        with pytest.raises(ZeroDivisionError):
            async with steward.watching():
                await asyncio.Event().wait()
        await stage.until_true()


async def test_an_error_of_the_block_is_not_wrapped(tmp_path: Path) -> None:
    async with staged(tmp_path, nothing, {}):
        steward = assemble(Transport.from_environment(str(tmp_path / "kubeconfig")), pace=PACE)
        with pytest.raises(OSError, match="taken"):
            async with steward.watching():
                raise OSError("taken")


async def test_a_list_counts_even_if_its_resource_versions_went_back() -> None:
    evaluation = Evaluation(())
    kind = evaluation.kinds["IPAMClaim"]
    decoder = Decoder(kind)

    def claim(version: int, network: str) -> Any:
        meta = f'{{"name":"a","namespace":"ns","uid":"u","resourceVersion":"{version}"}}'
        return decoder.object(f'{{"metadata":{meta},"spec":{{"network":"{network}"}}}}'.encode())

    def held() -> str:
        return next(evaluation.engine.cluster.all(IPAMClaim)).network

    await evaluation.intake.swap(kind, by_name([claim(900, "blue")]))
    evaluation.intake.seen(kind, claim(800, "late"))
    assert held() == "blue"
    await evaluation.intake.swap(kind, by_name([claim(7, "red")]))
    assert held() == "red"
