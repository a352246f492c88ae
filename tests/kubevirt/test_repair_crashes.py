"""The sidecar is killed at each step of a repair and started again: there is one effect, and one entry that says so.

The VMs of all cases are there at once, each in a namespace of its own with a sidecar of its own.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from reconcile.ledger import Event
from reconcile.plan.effects import REQUESTS
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations.drains import cancel_stale_evacuation, migrate_marked_vmi, stop_blocked_vmi
from tests.cluster.exporter import Exporter
from tests.cluster.repair_ground import SETTLING, STEPS, is_dry
from tests.cluster.resources import VMS
from tests.kubevirt.conftest import MakeStage
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.installation import NODES
from tests.kubevirt.releases import EVACUATE_CANCEL, needs
from tests.kubevirt.repairs import ACCOUNT, Repairs, forbid, request_to_leave
from tests.kubevirt.stage import Stage
from tests.manifests import Object

HERE, ELSEWHERE, _ = NODES
CANCEL, MIGRATE, STOP = (each.REMEDIATION for each in (cancel_stale_evacuation, migrate_marked_vmi, stop_blocked_vmi))
# Where the first process ends, and the second, which settles what the first one has left.
CASES = [*((step,) for step in STEPS), *(("written", step) for step in SETTLING)]
AT_ONCE = 4
ARRIVES = 2.0  # seconds


@dataclass(frozen=True)
class Crash:
    """One repair that ends at these steps, one process after another, before one ends it."""

    steps: tuple[str, ...]
    repairs: Repairs

    def happens(self, reason: str, effects: Callable[[Stage], list[Object]]) -> str:
        """What is wrong with what is left; empty for nothing."""
        self.repairs.finding(reason)
        for step in self.steps:
            killed = self.repairs.sidecar("auto", kill_at=step, arrives=ARRIVES)
            killed.fork.start(lambda: True)
            if killed.fork.ended(120) != -signal.SIGKILL:
                return f"not killed at {step}: {killed}"
            self.repairs.free_lease()
        with self.repairs.sidecar("auto", arrives=ARRIVES) as sidecar:
            sidecar.wait_for("verified", seconds=120)
            entries = sidecar.entries()
        attempts = {each.attempt for each in entries if each.event is Event.INTENDED}
        ends = (Event.DONE, Event.FAILED, Event.RESOLVED)
        ended = [each.attempt for each in entries if each.event in ends]
        self.repairs.attempt(entries)
        left = {
            "attempts without one end": attempts if sorted(attempts) != sorted(ended) else (),
            "effects": [] if len(made := effects(self.repairs.stage)) == 1 else made,
            "Events": [] if len(events := self.repairs.events()) == 1 else events,
            "finding": self.repairs.found(reason),
        }
        return "; ".join(f"killed at {self.steps}: {what}: {found}" for what, found in left.items() if found)


Crashes = Callable[[Remediation], list[Crash]]


@pytest.fixture
def crashes(make_stage: MakeStage, exporter: Exporter, tmp_path: Path) -> Iterator[Crashes]:
    """`crashes(remediation)`: each with a namespace."""
    stages: list[Stage] = []

    def make(remediation: Remediation) -> list[Crash]:
        stages.extend(make_stage() for _ in CASES)
        folders = (tmp_path / "-".join(steps) for steps in CASES)
        every = zip(CASES, stages, folders, strict=True)
        return [Crash(steps, Repairs(stage, exporter, folder, remediation)) for steps, stage, folder in every]

    yield make
    forbid(stages[0])


def running(every: list[Crash], strategy: str = "Always", *, fixed: bool = False) -> None:
    """A VM `db` in each namespace, all on one node."""
    stages = [each.repairs.stage for each in every]
    with stages[0].only_on(HERE):
        for stage in stages:
            if fixed:
                stage.orders.fixed.add(stage.key("db"))
            stage.vm("db", strategy=strategy, eviction="LiveMigrate")
            if strategy == "Manual":
                stage.act("db", "start")
        for stage in stages:
            stage.wait_running("db")


def happen(every: list[Crash], reason: str, effects: Callable[[Stage], list[Object]]) -> None:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = list(pool.map(lambda each: each.happens(reason, effects), every))
    assert [each for each in wrong if each] == []


def writes(stage: Stage, account: str, verb: str, resource: str) -> list[Object]:
    """What an account wrote in a namespace, with success and not as a dry run."""
    return [
        each
        for each in stage.control_plane.server.audit_events()
        if (each["verb"], (of := each.get("objectRef", {})).get("resource")) == (verb, resource)
        and of.get("namespace") == stage.namespace
        and each["user"]["username"].endswith(account)
        and not is_dry(each)
        and each["responseStatus"]["code"] < 300
    ]


@needs(EVACUATE_CANCEL)
def test_a_request_is_cancelled_once(kubevirt: ControlPlane, crashes: Crashes) -> None:
    every = crashes(CANCEL)
    running(every)
    for each in every:
        request_to_leave(each.repairs.stage, ELSEWHERE)
    cancels = partial(writes, account="kubevirt-apiserver", verb="patch", resource="virtualmachineinstances")
    happen(every, "StaleEvacuationRequest", cancels)
    assert {each.repairs.stage.evacuation("db") for each in every} == {""}


def test_a_migration_is_made_once(kubevirt: ControlPlane, crashes: Crashes) -> None:
    every = crashes(MIGRATE)
    running(every)
    for each in every:
        request_to_leave(each.repairs.stage, "gone")
    made = partial(writes, account=ACCOUNT, verb="create", resource="virtualmachineinstancemigrations")
    happen(every, "StaleEvacuationRequest", made)
    for each in every:
        each.repairs.stage.wait_phases("db", "Succeeded")


@pytest.mark.parametrize("strategy", ["Always", "Manual"])
def test_a_vm_is_stopped_once(kubevirt: ControlPlane, crashes: Crashes, strategy: str) -> None:
    every = crashes(STOP)
    running(every, strategy, fixed=True)
    for each in every:
        stage = each.repairs.stage
        allowed = {"metadata": {"annotations": {STOP.opt_in: "true"}}}
        stage.client.patch(VMS, stage.namespace, "db", allowed)
    every[0].repairs.stage.taint(HERE, "medik8s.io/drain")
    happen(every, "NotMigratable", stops)
    for each in every:
        each.repairs.stage.wait_gone("db")


def stops(stage: Stage) -> list[Object]:
    patches = writes(stage, ACCOUNT, "patch", "virtualmachines")
    return [each for each in patches if {op["path"] for op in each["requestObject"]} & {"/spec/runStrategy", REQUESTS}]
