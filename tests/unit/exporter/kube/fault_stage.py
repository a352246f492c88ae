"""The live path against an API server with faults: the findings before, meanwhile and after are recorded.

The truth is an engine of its own, fed with the objects of the server. fault_table.py has the faults.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest import mock

from demo.fleet.faulty import faulty
from demo.fleet.networks import SHOP, addresses, ground
from demo.fleet.sample import healthy_vms
from demo.fleet.samples import SampleVM, complete
from exporter.app import Steward, assemble
from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.findings.check import Check
from exporter.findings.finding import Finding, Since
from exporter.kube.client import Timeouts
from exporter.kube.transport import Transport
from exporter.store.source import Source, SyncState
from tests.evaluation import Evaluation, api_kinds
from tests.fakeapi.apiserver import FakeApiServer
from tests.fakeapi.faults import Fault
from tests.secure_server import config

__all__ = ["PACE", "Stage", "staged"]

PACE = Timeouts(
    watch=30,
    grace=0.2,
    catch_up=0.03,
    silence=0.25,
    longest_list=0.4,
    first_wait=0.04,
    longest_wait=0.2,
    look_again=0.1,
    stale_after=0.3,
    page=5,
    jitter=False,
)
_PATIENCE = 10.0  # seconds, for anything to happen


def _at_once(check: Check) -> Check:
    """With orphaned claims that do not wait: a change makes one, and is over once it is found."""
    reasons = {
        name: replace(each, grace=0.0) if name == "OrphanClaim" else each for name, each in check.reasons.items()
    }
    return replace(check, reasons=reasons)


CHECKS = [_at_once(check) for check in all_checks()]
_NOW = datetime.now(UTC) - timedelta(days=3)  # no grace ends within a day of now, whichever way a clock jumps
_FLEET = healthy_vms(_NOW)
_STOPPED = [vm for vm in _FLEET if vm.network and not vm.running]

Facts = dict[str, tuple[Any, ...]]


def facts(engine: Engine) -> Facts:
    """The findings about the cluster by fingerprint, without what depends on the engine."""
    return {
        f.fingerprint: (
            f.check,
            f.reason,
            f.severity,
            str(f.subject),
            f.message,
            f.group,
            str(f.evidence),
            None if f.since_source is Since.FIRST_SEEN else f.since,
        )
        for f in engine.findings()
        if f.check != "sources"
    }


@dataclass
class Stage:
    server: FakeApiServer
    steward: Steward
    clock: Clock
    before: Facts = field(default_factory=dict)
    gone: list[Finding] = field(default_factory=list)
    come: list[Finding] = field(default_factory=list)
    logged: list[logging.LogRecord] = field(default_factory=list)
    injected: list[Fault] = field(default_factory=list)
    began: float = 0.0
    changes: int = 0
    emptied: bool = False  # the fault deletes objects and restores them: their findings close in between

    def start_recording(self) -> None:
        self.before = facts(self.steward.engine)
        self.steward.engine.listen(self._note)

    def _note(self, gone: Iterable[Finding], come: Iterable[Finding]) -> None:
        self.gone += [each for each in gone if each.check != "sources"]
        self.come += [each for each in come if each.check != "sources"]

    # -- what happens to the cluster

    def inject(self, fault: Fault) -> Fault:
        self.injected.append(fault)
        return self.server.faults.add(fault)

    def change(self) -> None:
        """Opens two findings and closes one, over two kinds: deletes a VM but not its claim, and an orphaned claim."""
        self.change_vm()
        self.server.create(self.dead_claim(f"dead-{self.changes}", 200 + self.changes))
        old = "checkout-canary.blue" if self.changes == 1 else f"dead-{self.changes - 1}.blue"
        self.remove("ipamclaims", "shop", old)

    def change_vm(self) -> None:
        vm = _STOPPED[self.changes]
        self.changes += 1
        self.remove("virtualmachines", vm.namespace, vm.name)

    def remove(self, plural: str, namespace: str, name: str) -> None:
        self.server.patch(plural, namespace, name, {"metadata": {"finalizers": None}})
        self.server.delete(plural, namespace, name)

    @staticmethod
    def dead_claim(name: str, host: int) -> dict[str, Any]:
        vm = SampleVM(namespace="shop", name=name, now=_NOW, network=SHOP, addresses=addresses(SHOP, host))
        return next(obj for obj in complete(vm) if obj["kind"] == "IPAMClaim")

    def cut(self) -> None:
        """Ends all connections, so that what is asked next meets the fault."""
        self.server.drop_connections()

    def outdate(self) -> None:
        """Ends all connections and what could be resumed: everything is listed again."""
        self.cut()
        self.change()
        self.server.compact()

    # -- what is seen of it

    def over(self) -> None:
        """From now on the truth can be seen."""
        self.began = time.monotonic()

    async def until(self, holds: Callable[[], bool]) -> None:
        changed = self.steward.engine.changed
        async with asyncio.timeout(_PATIENCE), changed:
            await changed.wait_for(holds)

    async def until_sync_state(self, sync_state: SyncState, kind: str = "IPAMClaim") -> None:
        await self.until(lambda: self.sync_state(kind) is sync_state)

    def sync_state(self, kind: str) -> SyncState:
        source = self.steward.engine.cluster.get(Source, "", kind)
        assert source is not None
        return source.sync_state

    def why(self, kind: str = "IPAMClaim") -> str:
        source = self.steward.engine.cluster.get(Source, "", kind)
        return source.why if source is not None else ""

    def truth(self) -> Evaluation:
        # What came out of its grace before the clock went back stays open.
        evaluation = Evaluation(CHECKS, now=self.clock() - min(self.clock.offset, 0.0))
        for kind in api_kinds().values():
            for obj in self.server.objects(kind.plural):
                evaluation.seen(obj)
        evaluation.evaluate()
        return evaluation

    async def until_true(self) -> Evaluation:
        """Waits until all is evaluated as the truth is; gives up with the difference."""
        truth, engine = self.truth(), self.steward.engine
        wanted, unknown = facts(truth.engine), truth.engine.unknowns()

        def sees() -> bool:
            live = all(source.sync_state is SyncState.LIVE for source in engine.cluster.all(Source))
            return live and engine.caught_up and engine.unknowns() == unknown and facts(engine) == wanted

        try:
            await self.until(sees)
        except TimeoutError:
            seen = facts(engine)
            raise AssertionError(
                f"still wrong after {_PATIENCE:.0f} s:\n"
                f"sync states {[(each.name, each.sync_state.value, each.why) for each in engine.cluster.all(Source)]}\n"
                f"unknown {engine.unknowns()}\nexpected {unknown}\n"
                f"missing {[wanted[each] for each in wanted.keys() - seen.keys()]}\n"
                f"false {[seen[each] for each in seen.keys() - wanted.keys()]}"
            ) from None
        return truth

    def check(self, truth: Evaluation) -> None:
        """What must hold of the way there, and of what is left behind."""
        after = facts(truth.engine)
        lasting = {mark for mark, fact in after.items() if self.before.get(mark) == fact}
        assert lasting or not self.before
        flickered = lasting & {each.fingerprint for each in (*self.gone, *self.come)}
        assert self.emptied or not flickered, "a lasting finding flickered"
        invented = {each.fingerprint for each in self.come} - self.before.keys() - after.keys()
        assert self.emptied or not invented, (
            "something was found that never was"
        )  # without a CRD its objects are missed
        missed = [each for each in self.injected if each.times]
        assert not missed, "a fault was not met"
        for kind in truth.kinds.values():
            held, there = self.steward.engine.cluster, truth.engine.cluster
            assert held.count(kind.record) == there.count(kind.record), kind.name
        assert not [record.getMessage() for record in self.logged if record.levelno >= logging.ERROR]
        assert not [record.getMessage() for record in self.logged if record.exc_info]


class Clock:
    """Stands in for time.time, and can jump."""

    def __init__(self) -> None:
        self._real = time.time
        self.offset = 0.0

    def __call__(self) -> float:
        return self._real() + self.offset


class _Collect(logging.Handler):
    def __init__(self, into: list[logging.LogRecord]) -> None:
        super().__init__()
        self._into = into

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.partition(".")[0] in ("exporter", "asyncio"):
            self._into.append(record)


@asynccontextmanager
async def staged(
    folder: Path, prepare: Callable[[FakeApiServer], None], pace: dict[str, float]
) -> AsyncIterator[Stage]:
    """A server with a small fleet, and a steward that watches it."""
    server = FakeApiServer()
    server.load([*ground(_NOW), *(obj for vm in (*_FLEET[:3], *_STOPPED) for obj in complete(vm))])
    server.load([obj for case in faulty(_NOW) for obj in case.objects])
    await server.start()
    path = config(folder / "kubeconfig", server.url, {"token": "t0ken"})
    prepare(server)
    clock = Clock()
    with mock.patch("time.time", clock):
        steward = assemble(Transport.from_environment(path), checks=CHECKS, pace=replace(PACE, **pace), settle=0.02)  # type: ignore[arg-type]
        stage = Stage(server, steward, clock)
        handler = _Collect(stage.logged)
        logging.getLogger().addHandler(handler)
        try:
            stage.over()
            async with steward.watching():
                yield stage
        finally:
            logging.getLogger().removeHandler(handler)
            await server.stop()
    leaked = asyncio.all_tasks() - {asyncio.current_task()}
    assert not leaked, leaked
