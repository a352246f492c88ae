"""When the engine evaluates, and when it says that it has: settling, slices, swaps, errors, settings, waking up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest

from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.facts.record import Ref
from exporter.findings.check import PER_CLUSTER, PER_NAMESPACE, Check, Family, Reason, View
from exporter.findings.finding import Finding, Since, Unknown
from exporter.findings.severity import Severity
from exporter.store.kinds.components import Deployment
from exporter.store.kinds.node import NodeMaintenance
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.source import SyncState
from tests.evaluation import Evaluation
from tests.rows import full

FAMILY = Family("x", "X.")
REASONS = {
    "Odd": Reason((Severity.INFO,), "Odd.", FAMILY),
    "Slow": Reason((Severity.INFO,), "Slow.", FAMILY, grace=60.0),
}


class Settings(msgspec.Struct, frozen=True):
    reason: str = "Odd"


class World:
    """An engine of one check that finds each VM, on a clock and a timer that are set by hand."""

    def __init__(self, *, settle: float = 0.0, cost: float = 0.0, initial: bool = True) -> None:
        self.clock = 1000.0
        self.timer = 0.0
        self.cost = cost
        self.broken: set[str] = set()
        self.check = Check(
            "x",
            "X",
            (VirtualMachine.KIND,),
            PER_NAMESPACE,
            REASONS,
            self._find,
            settings=Settings,
            requires=(VirtualMachine.KIND,),
        )
        self.engine = Engine(
            [self.check], clock=lambda: self.clock, timer=lambda: self.timer, settle=settle, initial=initial
        )
        self.intake = Intake(self.engine, lambda: self.clock)
        self.sees(SyncState.LIVE)

    def _find(self, view: View) -> Iterator[Finding]:
        self.timer += self.cost
        if view.partition in self.broken:
            raise ZeroDivisionError(view.partition)
        for vm in view.all(VirtualMachine):
            yield Finding(reason=view.settings.reason, severity=Severity.INFO, subject=vm.ref, message="m")

    def sees(self, sync_state: SyncState, why: str = "") -> None:
        self.intake.sync_state(VirtualMachine.KIND, sync_state, why)

    def put(self, namespace: str, name: str = "db") -> None:
        self.engine.put(_vm(namespace, name))

    def found(self) -> list[str]:
        return sorted(str(each.subject.path) for each in self.engine.findings())


def _vm(namespace: str, name: str) -> VirtualMachine:
    evaluation = Evaluation(())
    evaluation.seen(full({"kind": "VirtualMachine", "namespace": namespace, "name": name}))
    (vm,) = evaluation.engine.cluster.all(VirtualMachine)
    return vm


def test_a_partition_settles_before_it_is_evaluated() -> None:
    world = World(settle=2.0)
    world.timer = 10.0
    world.put("a")
    world.timer = 11.9
    assert world.engine.step() is False
    assert (world.found(), world.engine.caught_up) == ([], False)
    world.put("a", "web")  # what changes meanwhile does not begin the wait anew
    world.timer = 12.0
    world.engine.step()
    assert (world.found(), world.engine.caught_up) == (["a/db", "a/web"], True)


def test_a_step_takes_a_few_milliseconds_and_says_whether_more_is_due() -> None:
    world = World(cost=0.003)
    for namespace in "abcde":
        world.put(namespace)
    assert world.engine.step() is True
    assert world.found() == ["a/db", "b/db"]
    assert not world.engine.caught_up
    assert world.engine.step() is True
    assert world.engine.step() is False
    assert world.found() == [f"{each}/db" for each in "abcde"]
    cost = world.engine.evaluated["x"]
    assert (cost.partitions, cost.errors, cost.once) == (5, 0, True)
    assert cost.seconds == pytest.approx(0.015)


def test_a_check_of_the_whole_cluster_has_its_answer_before_any_object_is_there() -> None:
    def nobody(view: View) -> Iterator[Finding]:
        if not view.all(VirtualMachine):
            yield Finding(reason="Odd", severity=Severity.INFO, subject=Ref("Cluster", "", "c"), message="m")

    check = Check("nobody", "Nobody", (VirtualMachine.KIND,), PER_CLUSTER, REASONS, nobody)
    engine = Engine([check], clock=float, timer=float, initial=True)
    Intake(engine, float).sync_state(VirtualMachine.KIND, SyncState.LIVE)
    engine.step()
    assert [finding.subject.name for finding in engine.findings()] == ["c"]
    engine.put(_vm("a", "db"))
    engine.step()
    assert list(engine.findings()) == []


def test_nothing_is_evaluated_while_a_store_is_swapped() -> None:
    world = World()
    with world.engine.held():
        with world.engine.held():
            world.put("a")
        assert world.engine.step() is False
        assert not world.engine.caught_up
    assert world.found() == []
    world.engine.step()
    assert (world.found(), world.engine.caught_up) == (["a/db"], True)


def test_a_partition_whose_check_raises_keeps_its_findings_and_says_why() -> None:
    world = World()
    world.put("a")
    world.put("b")
    world.engine.step()
    world.broken = {"a"}
    world.put("a", "web")
    world.put("b", "web")
    world.engine.step()
    assert world.found() == ["a/db", "b/db", "b/web"]
    (unknown,) = world.engine.unknowns()
    assert unknown == Unknown("x", "a", "the check raised ZeroDivisionError: a; please report it")
    assert {f.subject.namespace: world.engine.unknown_of(f) for f in world.engine.findings()} == {
        "a": unknown.why,
        "b": "",
    }
    assert world.engine.evaluated["x"].errors == 1
    assert world.engine.caught_up

    world.broken = set()
    world.put("a", "api")
    world.engine.step()
    assert world.found() == ["a/api", "a/db", "a/web", "b/db", "b/web"]
    assert world.engine.unknowns() == []


def test_what_a_check_raised_is_no_news_where_it_is_not_applicable() -> None:
    world = World()
    world.broken = {"a"}
    world.put("a")
    world.engine.step()
    assert world.engine.unknowns()
    world.sees(SyncState.ABSENT, "gone")
    assert world.engine.unknowns() == []
    assert list(world.engine.not_applicable()) == ["x"]
    world.broken = set()
    world.sees(SyncState.LIVE)
    world.engine.step()
    assert world.found() == ["a/db"]


def test_other_settings_have_everything_evaluated_again_and_the_same_ones_nothing() -> None:
    world = World()
    world.put("a")
    world.put("b")
    world.engine.step()
    world.engine.configure("x", Settings())
    world.engine.configure("nobody", Settings("Slow"))
    world.engine.step()
    assert world.engine.evaluated["x"].partitions == 2
    world.engine.configure("x", Settings("Slow"))
    assert not world.engine.caught_up
    world.engine.step()
    assert {each.reason for each in world.engine.findings()} == {"Slow"}
    assert world.engine.evaluated["x"].partitions == 4


def test_other_settings_close_what_is_left_of_partitions_that_are_gone() -> None:
    world = World()
    world.put("a")
    world.engine.step()
    world.sees(SyncState.STALE, "lost")
    world.engine.remove(VirtualMachine, "a", "db")
    world.engine.step()
    assert world.found() == ["a/db"]
    world.engine.configure("x", Settings("Slow"))
    world.sees(SyncState.LIVE)
    world.engine.step()
    assert world.found() == []


def test_findings_and_what_is_unknown_count_as_news_and_other_changes_do_not() -> None:
    world = World()
    grown = [world.engine.generation]

    def grew() -> bool:
        world.engine.step()
        grown.append(world.engine.generation)
        return grown[-1] > grown[-2]

    assert not grew()
    world.put("a")
    assert grew()
    world.put("a")
    assert not grew()
    world.sees(SyncState.STALE, "lost")
    assert grew()
    world.sees(SyncState.STALE, "lost")
    assert not grew()
    world.sees(SyncState.LIVE)
    assert grew()
    world.engine.remove(VirtualMachine, "a", "nobody")
    assert not grew()
    world.engine.remove(VirtualMachine, "a", "db")
    assert grew()


def test_a_check_that_is_blind_does_not_hold_up_the_others_nor_what_is_caught_up() -> None:
    world = World()
    world.sees(SyncState.BEHIND, "connecting")
    world.put("a")
    assert world.engine.step() is False
    assert (world.found(), world.engine.caught_up) == ([], True)
    assert world.engine.unknowns() == []  # for a moment only
    world.sees(SyncState.STALE, "lost")
    assert world.engine.unknowns() == [Unknown("x", "", "VirtualMachine: lost")]
    world.sees(SyncState.LIVE)
    assert not world.engine.caught_up
    world.engine.step()
    assert world.found() == ["a/db"]


def test_it_is_ready_once_every_required_kind_is_listed_and_evaluated_and_stays_so() -> None:
    world = World()
    world.sees(SyncState.STARTING, "not yet")
    optional, required = NodeMaintenance.KIND, Deployment.KIND
    assert optional.optional
    assert not required.optional
    world.intake.sync_state(optional, SyncState.FAILING, "500")
    world.intake.sync_state(required, SyncState.LIVE)
    assert not world.engine.ready
    world.sees(SyncState.LIVE)
    assert not world.engine.ready  # nothing was evaluated yet
    world.engine.step()
    assert not world.engine.ready  # whether the optional kind is served is not known
    world.intake.sync_state(required, SyncState.ABSENT, "gone")
    world.intake.sync_state(optional, SyncState.ABSENT, "not served")
    assert not world.engine.ready
    world.intake.sync_state(required, SyncState.BEHIND, "connecting")
    assert world.engine.ready
    world.sees(SyncState.FORBIDDEN, "no")
    assert world.engine.ready


def test_without_any_kind_it_is_not_ready() -> None:
    assert not Engine((), clock=float, timer=float).ready


def test_what_is_found_later_waits_for_its_grace_to_the_second() -> None:
    world = World(initial=False)
    world.engine.configure("x", Settings("Slow"))
    world.engine.step()
    world.put("a")
    world.engine.step()
    world.clock += 59.0
    world.put("a", "web")
    world.engine.step()
    assert world.found() == []
    world.clock += 1.0
    world.engine.step()
    assert world.found() == ["a/db"]
    world.clock += 58.9
    world.engine.step()
    assert world.found() == ["a/db"]
    world.clock += 0.1
    world.engine.step()
    assert world.found() == ["a/db", "a/web"]
    assert {(f.since, f.since_source) for f in world.engine.findings()} == {
        (1000.0, Since.FIRST_SEEN),
        (1059.0, Since.FIRST_SEEN),
    }


def test_what_ends_within_its_grace_and_begins_again_waits_anew() -> None:
    world = World(initial=False)
    world.engine.configure("x", Settings("Slow"))
    world.engine.step()
    world.put("a")
    world.engine.step()
    world.clock += 30.0
    world.engine.remove(VirtualMachine, "a", "db")
    world.engine.step()
    world.clock += 10.0
    world.put("a")
    world.engine.step()
    world.clock += 59.0
    world.engine.step()
    assert world.found() == []
    world.clock += 1.0
    world.engine.step()
    assert [f.since for f in world.engine.findings()] == [1040.0]


# -- for ever


@asynccontextmanager
async def running(engine: Engine) -> Any:
    task = asyncio.create_task(engine.run())
    try:
        yield
        assert not task.done()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(engine: Engine, holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5), engine.changed:
        await engine.changed.wait_for(holds)


async def test_whoever_waits_is_woken_by_what_is_found() -> None:
    world = World()
    async with running(world.engine):
        world.put("a")
        await until(world.engine, lambda: world.found() == ["a/db"])
        world.engine.remove(VirtualMachine, "a", "db")
        await until(world.engine, lambda: not world.found())


async def test_whoever_waits_is_woken_when_all_is_evaluated_though_nothing_was_found() -> None:
    world = World()
    async with running(world.engine):
        with world.engine.held():
            world.put("a")
            await until(world.engine, lambda: not world.engine.caught_up)
            world.engine.remove(VirtualMachine, "a", "db")
        await until(world.engine, lambda: world.engine.caught_up)


async def test_the_end_of_a_swap_is_enough_to_wake_it() -> None:
    world = World()
    async with running(world.engine):
        with world.engine.held():
            world.put("a")
            for _ in range(5):
                await asyncio.sleep(0)  # it looks, and finds that it may not
        await until(world.engine, lambda: world.found() == ["a/db"])


async def test_what_settles_is_evaluated_without_another_event() -> None:
    world = World()
    engine = Engine([world.check], clock=time.time, timer=time.monotonic, settle=0.05, initial=True)
    Intake(engine, time.time).sync_state(VirtualMachine.KIND, SyncState.LIVE)
    async with running(engine):
        engine.put(_vm("a", "db"))
        await until(engine, lambda: [f.subject.name for f in engine.findings()] == ["db"])


async def test_others_have_their_turn_between_two_slices() -> None:
    world = World(cost=0.003)
    turns: list[int] = []

    async def others() -> None:
        while True:
            turns.append(len(world.found()))
            await asyncio.sleep(0)

    for namespace in "abcdefghij":
        world.put(namespace)
    task = asyncio.create_task(others())
    async with running(world.engine):
        await until(world.engine, lambda: len(world.found()) == 10)
    task.cancel()
    assert {2, 4, 6, 8} <= set(turns)


async def test_other_settings_wake_it() -> None:
    world = World()
    world.put("a")
    async with running(world.engine):
        await until(world.engine, lambda: world.found() == ["a/db"])
        world.engine.configure("x", Settings("Slow"))
        await until(world.engine, lambda: {f.reason for f in world.engine.findings()} == {"Slow"})


async def test_it_wakes_up_when_a_grace_ends() -> None:
    world = World(initial=False)
    world.engine.configure("x", Settings("Slow"))
    world.engine.step()
    world.put("a")
    world.engine.step()
    world.clock += 59.95
    async with running(world.engine):
        loop = asyncio.get_running_loop()
        loop.call_later(0.02, lambda: setattr(world, "clock", 1060.0))
        await until(world.engine, lambda: world.found() == ["a/db"])
