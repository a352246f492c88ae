"""A VM that can't be migrated, from the cordon of its node to its start after the drain, with KubeVirt's own parts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporter.store.kinds.node import DRAINING
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations.drains import start_stopped_vm, stop_blocked_vmi
from tests.cluster.exporter import Exporter
from tests.cluster.repair_ground import is_dry
from tests.cluster.resources import NODES as NODES_API
from tests.cluster.resources import VMS
from tests.cluster.sidecar import Sidecar
from tests.kubevirt.installation import NODES
from tests.kubevirt.repairs import ACCOUNT, Repairs, forbid
from tests.kubevirt.stage import Answer, Stage
from tests.manifests import Object
from tests.waiting import wait_until

HERE = NODES[0]
STOP, START = stop_blocked_vmi.REMEDIATION, start_stopped_vm.REMEDIATION
NOTE = "steward.kubevirt-steward.io/stopped-for-drain"
PREVIEWED = ("NotMigratableIfDrained", "NotMigratableWhileCordoned")

Make = Callable[[Remediation], Repairs]


@pytest.fixture
def repairs(stage: Stage, exporter: Exporter, tmp_path: Path) -> Iterator[Make]:
    """One sidecar by its Lease and its ledger, whatever it may repair."""
    yield lambda remediation: Repairs(stage, exporter, tmp_path, remediation)
    forbid(stage)


def vm(stage: Stage) -> Object:
    return stage.client.get(VMS, stage.namespace, "db")


def note(stage: Stage) -> Object | None:
    text = vm(stage)["metadata"].get("annotations", {}).get(NOTE)
    found: Object | None = json.loads(text) if text else None
    return found


def start(stage: Stage, strategy: str) -> Object:
    """`db` can't be migrated, and its owner allows that it is stopped; `web` can be, and is on the same node."""
    stage.orders.fixed.add(stage.key("db"))
    with stage.only_on(HERE):
        stage.vm("db", strategy=strategy, eviction="LiveMigrate")
        if strategy == "Manual":
            stage.act("db", "start")
        vmi = stage.wait_running("db")
        stage.running("web", eviction="LiveMigrate")
    stage.client.patch(VMS, stage.namespace, "db", {"metadata": {"annotations": {STOP.opt_in: "true"}}})
    wait_until(lambda: not vm(stage)["status"].get("stateChangeRequests"), 30, "nothing is asked of the VM")
    return vmi


def cordon(stage: Stage) -> None:
    """As `kubectl cordon`, until the node says since when."""
    stage.cordon(HERE)
    key = "node.kubernetes.io/unschedulable"

    def dated() -> bool:
        taints = stage.client.get(NODES_API, None, HERE)["spec"].get("taints", [])
        return any(each["key"] == key and each.get("timeAdded") for each in taints)

    wait_until(dated, 30, f"{HERE} says since when it is cordoned")


def draining(stage: Stage, why: str | None) -> None:
    stage.client.patch(NODES_API, None, HERE, {"metadata": {"annotations": {DRAINING: why}}})


def proposed(sidecar: Sidecar, fingerprint: str) -> bool:
    """Whether the plan is one, with the command that makes it one to carry out."""
    found = [each for each in sidecar.plans() if each["fingerprint"] == fingerprint]
    return any(f"{DRAINING}=" in each.get("proposal", {}).get("patch", "") for each in found)


def writes(stage: Stage) -> list[Object]:
    """What the sidecar has asked to be written of VMs, dry runs left out."""
    return [
        each
        for each in stage.control_plane.server.audit_events()
        if each["verb"] not in ("get", "list", "watch")
        and each["user"]["username"].endswith(ACCOUNT)
        and each["objectRef"]["namespace"] == stage.namespace
        and each["objectRef"]["resource"].startswith("virtualmachine")
        and not is_dry(each)
    ]


@pytest.mark.parametrize("strategy", ["Always", "Once", "Manual", "RerunOnFailure"])
def test_a_cordon_stops_nothing_a_drain_does_and_its_end_starts_it_again(
    stage: Stage, repairs: Make, strategy: str
) -> None:
    vmi = start(stage, strategy)
    stops = repairs(STOP)
    with stops.sidecar("auto") as sidecar:
        cordon(stage)
        for reason in PREVIEWED:
            stops.finding(reason)
        assert stage.evict("db").code == 429  # leaves no trace
        assert stops.found("NotMigratable") == []
        assert (writes(stage), sidecar.events()) == ([], [])

        stage.orders.holds.add(stage.key("web"))
        stage.evict("web")  # which whoever may evict one pod can do, and a descheduler does
        fingerprint = stops.finding("NotMigratable")["fingerprint"]
        wait_until(lambda: proposed(sidecar, fingerprint), 30, "it is proposed, with how to say it on the node")
        sidecar.runs_again()
        assert (writes(stage), sidecar.events()) == ([], [])
        draining(stage, "maintenance")
        sidecar.wait_for("verified")
    stage.wait_gone("db")
    assert vm(stage)["spec"]["runStrategy"] == "Halted"
    kept = note(stage)
    assert kept is not None
    assert (kept["node"], kept["vmi"], kept["runStrategy"]) == (HERE, vmi["metadata"]["uid"], strategy)
    assert kept["vm"] == vm(stage)["metadata"]["uid"]
    stops.finding("StoppedForDrain")

    comes_back(stage, repairs(START), strategy)


def comes_back(stage: Stage, starts: Repairs, strategy: str) -> None:
    stage.orders.holds.clear()
    stage.wait_moved("web", HERE)
    assert stage.vmi("db") is None
    with starts.sidecar("auto") as sidecar:
        before = sidecar.events().count("done")
        draining(stage, None)
        stage.uncordon(HERE)
        sidecar.wait_for("done", before + (2 if strategy == "Manual" else 1))
        stage.wait_running("db")
        wait_until(lambda: starts.found("StoppedAfterDrain") == [], 30, "it is no longer found")
    assert vm(stage)["spec"]["runStrategy"] == strategy
    assert (note(stage) is None) is (strategy != "Manual")
    if strategy != "Manual":
        return
    # The annotation of a VM that has run since says nothing.
    with starts.sidecar("auto") as sidecar:
        leads(sidecar)
        before = len(writes(stage))
        assert stage.act("db", "stop") == Answer()
        stage.wait_gone("db")
        wait_until(lambda: vm(stage)["status"].get("printableStatus") == "Stopped", 30, "it says that it is stopped")
        assert starts.found("StoppedAfterDrain") == []
        sidecar.runs_again()
        assert len(writes(stage)) == before


def leads(sidecar: Sidecar) -> None:
    """It could write: what it does not write then it does not want to."""
    wait_until(lambda: sidecar.value("kubevirt_steward_repair_leading") == 1, 30, "it holds the Lease")


def test_what_somebody_stopped_again_is_left_off(stage: Stage, repairs: Make) -> None:
    start(stage, "Always")
    stops = repairs(STOP)
    with stops.sidecar("auto") as sidecar:
        stage.taint(HERE, "medik8s.io/drain")
        sidecar.wait_for("verified")
    stage.wait_gone("db")
    assert stage.act("db", "start") == Answer()
    stage.wait_running("db")
    assert stage.act("db", "stop") == Answer()
    stage.wait_gone("db")
    assert vm(stage)["spec"]["runStrategy"] == "Halted"
    assert note(stage) is not None

    starts = repairs(START)
    before = len(writes(stage))
    with starts.sidecar("auto") as sidecar:
        leads(sidecar)
        stage.untaint(HERE)
        stage.running("later", eviction="LiveMigrate")
        assert starts.found("StoppedAfterDrain") == []
        assert starts.found("StoppedForDrain") == []
        sidecar.runs_again()
    assert len(writes(stage)) == before
