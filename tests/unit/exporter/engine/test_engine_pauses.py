"""A partition with very many objects is evaluated in several turns, of one state of the cluster."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress

from exporter.engine.engine import Engine
from exporter.engine.intake import Intake
from exporter.findings.check import PER_NAMESPACE, Check, Family, Reason, View
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.kube.watch.listing import Decoder
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.source import SyncState
from tests.evaluation import NOW
from tests.rows import full

KIND = VirtualMachine.KIND
REASONS = {"Odd": Reason((Severity.INFO,), "Odd.", Family("x", "X."))}
VMS = 20


class Large:
    """A namespace with VMs, each of which costs a millisecond; a turn has four."""

    def __init__(self) -> None:
        self.timer, self.looked_at, self.begun = 0.0, 0, asyncio.Event()
        check = Check("x", "X", (KIND,), PER_NAMESPACE, REASONS, self._find, requires=(KIND,))
        self.engine = Engine([check], clock=lambda: NOW, timer=lambda: self.timer, initial=True)
        self.intake, self._decoder = Intake(self.engine, lambda: NOW), Decoder(KIND)
        self.intake.sync_state(KIND, SyncState.LIVE)
        for number in range(VMS):
            self.seen(f"vm-{number}")

    def _find(self, view: View) -> Iterator[Finding | None]:
        self.begun.set()
        vms = view.all(VirtualMachine)
        for vm in vms:
            self.timer += 0.001
            self.looked_at += 1
            yield Finding(reason="Odd", severity=Severity.INFO, subject=vm.ref, message=f"one of {len(vms)}.")
            yield None

    def seen(self, name: str) -> None:
        vm = full({"kind": "VirtualMachine", "name": name})
        self.intake.seen(KIND, self._decoder.object(json.dumps(vm).encode()))

    def found(self) -> set[str]:
        return {finding.message for finding in self.engine.findings()}


def test_it_takes_several_turns_and_is_there_as_a_whole() -> None:
    large = Large()
    began = large.timer
    assert large.engine.step()
    assert large.timer - began < 0.006
    assert not large.engine.caught_up
    assert large.found() == set()
    while large.engine.step():
        assert large.found() == set()
    assert large.found() == {f"one of {VMS}."}
    assert large.engine.caught_up
    assert (large.looked_at, large.engine.evaluated["x"].partitions) == (VMS, 1)


def test_after_a_change_in_the_midst_of_it_it_begins_again() -> None:
    large = Large()
    large.engine.step()
    large.seen("another")
    while large.engine.step():
        assert large.found() == set()
    assert large.found() == {f"one of {VMS + 1}."}


def test_after_a_change_elsewhere_it_is_not_lost() -> None:
    large = Large()
    large.engine.step()
    large.intake.sync_state(KIND, SyncState.BEHIND, "the watch ended")
    assert not large.engine.step()
    large.intake.sync_state(KIND, SyncState.LIVE)
    while large.engine.step():
        pass
    assert large.found() == {f"one of {VMS}."}


def test_where_it_is_no_longer_applicable_nobody_waits_for_it() -> None:
    large = Large()
    large.engine.step()
    large.intake.sync_state(KIND, SyncState.ABSENT, "gone")
    asyncio.run(asyncio.wait_for(large.intake.at_rest(), 1))
    assert not large.engine.step()
    assert large.engine.caught_up


async def _changes_arrive(large: Large) -> list[int]:
    """How many VMs were looked at when each change was taken in, while the engine runs."""
    task, looked_at = asyncio.create_task(large.engine.run()), []
    try:
        for number in range(3):
            await large.begun.wait()
            await large.intake.at_rest()
            looked_at.append(large.looked_at)
            large.begun.clear()
            large.seen(f"new-{number}")
        async with asyncio.timeout(5), large.engine.changed:
            await large.engine.changed.wait_for(lambda: large.found() == {f"one of {VMS + 3}."})
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    return looked_at


def test_changes_wait_until_it_is_done_so_that_it_ends_whatever_arrives() -> None:
    large = Large()
    first, second, third = VMS, 2 * VMS + 1, 3 * VMS + 3
    assert asyncio.run(_changes_arrive(large)) == [first, second, third]
