"""What is done about evictions, on KubeVirt's own control plane: with no permission but those that are declared."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconcile.carry_out.attempt import AttemptState, Result
from reconcile.plan.plan import Create
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations.drains import cancel_stale_evacuation, migrate_marked_vmi, stop_blocked_vmi
from tests.cluster.client import ApiError
from tests.cluster.resources import VMS
from tests.confirming import hint_of
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.installation import NODES
from tests.kubevirt.releases import EVACUATE_CANCEL, needs
from tests.kubevirt.repairs import ACCOUNT, LATER, forbid, permit, request_to_leave
from tests.kubevirt.stage import Stage
from tests.repairing import repairing

HERE, ELSEWHERE, _ = NODES
CANCEL, MIGRATE, STOP = (each.REMEDIATION for each in (cancel_stale_evacuation, migrate_marked_vmi, stop_blocked_vmi))


class Repairs:
    """One attempt after another, as a user that may do what a remediation declares and nothing else."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage, self.folder = stage, folder

    def run(self, remediation: Remediation, reason: str) -> Result:
        permit(self.stage, remediation)
        about = {
            "check": "evictions",
            "reason": reason,
            "kind": "VirtualMachineInstance",
            "namespace": self.stage.namespace,
            "subject": "db",
        }
        vmi = self.stage.vmi("db")
        assert vmi is not None
        return asyncio.run(self._repaired(remediation, about, vmi))

    async def _repaired(self, remediation: Remediation, about: dict[str, str], vmi: dict[str, object]) -> Result:
        kubeconfig = str(self.stage.control_plane.kubeconfig(ACCOUNT))
        async with repairing(kubeconfig, self.folder / "ledger") as made:
            made.now = time.time() + LATER
            return await made.repair(remediation, hint_of(about, [vmi]))


@pytest.fixture
def repairs(kubevirt: ControlPlane, stage: Stage, tmp_path: Path) -> Iterator[Repairs]:
    yield Repairs(stage, tmp_path)
    forbid(stage)


@needs(EVACUATE_CANCEL)
def test_a_request_for_another_node_is_cancelled_and_the_next_eviction_is_heard(stage: Stage, repairs: Repairs) -> None:
    with stage.only_on(HERE):
        stage.running("db", eviction="LiveMigrate")
    request_to_leave(stage, ELSEWHERE)
    assert "Evacuation in progress" in stage.evict("db").message

    done = repairs.run(CANCEL, "StaleEvacuationRequest")

    assert done.state == AttemptState.DONE, done
    assert stage.evacuation("db") == ""
    assert repairs.run(CANCEL, "StaleEvacuationRequest").refused == "finding_holds"
    assert "Eviction triggered evacuation" in stage.evict("db").message
    stage.wait_moved("db", HERE)


def test_a_request_for_a_node_that_is_gone_is_cleared_by_a_migration(stage: Stage, repairs: Repairs) -> None:
    with stage.only_on(HERE):
        stage.running("db", eviction="LiveMigrate")
    request_to_leave(stage, "gone")
    refused = "node_exists" if EVACUATE_CANCEL.here else "supported"
    assert repairs.run(CANCEL, "StaleEvacuationRequest").refused == refused
    stage.orders.unplaced.add(stage.key("db"))

    done = repairs.run(MIGRATE, "StaleEvacuationRequest")

    assert done.state == AttemptState.DONE, done
    assert done.plan is not None
    (migration,) = stage.migrations("db")
    assert migration["metadata"]["name"] == done.plan.target.name
    assert migration["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "kubevirt-steward"
    assert isinstance(done.plan.step, Create)
    with pytest.raises(ApiError, match=r"in-flight migration|already exists"):
        stage.client.create(dict(done.plan.step.manifest))
    again = repairs.run(MIGRATE, "StaleEvacuationRequest")
    assert again.state == AttemptState.REFUSED
    assert len(stage.migrations("db")) == 1
    stage.orders.unplaced.clear()
    stage.wait_moved("db", HERE)
    stage.wait_evacuation("db", "")
    assert repairs.run(MIGRATE, "StaleEvacuationRequest").refused == "finding_holds"


@pytest.mark.parametrize("strategy", ["Always", "Once", "Manual"])
def test_a_stop_that_its_owner_allows_ends_the_guest_and_is_taken_back(
    stage: Stage, repairs: Repairs, strategy: str
) -> None:
    stage.orders.fixed.add(stage.key("db"))
    stage.vm("db", strategy=strategy, eviction="LiveMigrate")
    if strategy == "Manual":
        stage.act("db", "start")
    vmi = stage.wait_running("db")
    stage.taint(vmi["status"]["nodeName"], "medik8s.io/drain")
    assert repairs.run(STOP, "NotMigratable").refused == "opted_in"
    stage.client.patch(VMS, stage.namespace, "db", {"metadata": {"annotations": {STOP.opt_in: "true"}}})
    before = stage.client.get(VMS, stage.namespace, "db")["spec"]

    done = repairs.run(STOP, "NotMigratable")

    assert done.state == AttemptState.DONE, done
    assert done.plan is not None
    stage.wait_gone("db")
    after = stage.client.get(VMS, stage.namespace, "db")["spec"]
    assert after["runStrategy"] == "Halted"
    assert ("virtctl start" in done.plan.undo) is (strategy == "Manual")
    found = re.search(r"'(\[.*\])'", done.plan.undo)
    assert found is not None
    kind, path = "application/json-patch+json", VMS.path(stage.namespace, "db")
    stage.client.connection.request("PATCH", path, json.loads(found[1]), content_type=kind)
    assert stage.client.get(VMS, stage.namespace, "db")["spec"] == before
    if strategy == "Manual":
        stage.act("db", "start")
    stage.wait_running("db")
