"""The sidecar gives copies marks of their own and has a VMI looked at again, and KubeVirt goes on with what it wrote.

What is written to IPAMClaims alone, by adopting or reclaiming one, KubeVirt's control plane does not see.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from demo.fleet.surroundings import nad
from reconcile.plan.managed_fields import writers
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations.identity import reassign_mac_address, reassign_serial, replace_invalid_uuid
from reconcile.plan.remediations.networks import recreate_ipam_claim
from reconcile.plan.remediations.networks._nudging import NUDGED
from tests.cluster.exporter import Exporter
from tests.cluster.resources import VMIS, VMS
from tests.kubevirt.repairs import Repairs, forbid
from tests.kubevirt.stage import Answer, Stage
from tests.manifests import Object
from tests.waiting import wait_until

PLACEHOLDER = "03000200-0400-0500-0006-000700080009"
MAC = "02:00:00:aa:00:01"
COPIED = {"restore.kubevirt.io/lastRestoreUID": "r"}  # as KubeVirt's restore and clone leave it on a VM
Make = Callable[[Remediation], Repairs]


@pytest.fixture
def repairs(stage: Stage, exporter: Exporter, tmp_path: Path) -> Iterator[Make]:
    yield lambda remediation: Repairs(stage, exporter, tmp_path, remediation)
    forbid(stage)


def vm(stage: Stage, name: str) -> Object:
    return stage.client.get(VMS, stage.namespace, name)


def domain_of(thing: Object) -> Object:
    own: Object = thing["spec"].get("template", thing)["spec"]["domain"]
    return own


def domain(devices: Object | None = None, **firmware: str) -> Object:
    memory = {"resources": {"requests": {"memory": "64Mi"}}}
    return {"devices": devices or {}, **memory} | ({"firmware": firmware} if firmware else {})


def copied(stage: Stage, name: str, **template: Any) -> None:
    """A copy of `db` that is off. A copy is younger than what it is a copy of, and the API server counts seconds."""
    made = datetime.fromisoformat(vm(stage, "db")["metadata"]["creationTimestamp"]).timestamp()
    wait_until(lambda: time.time() >= made + 1, 5, "another second has begun")
    stage.vm(name, strategy="Halted", **template)
    stage.client.patch(VMS, stage.namespace, name, {"metadata": {"annotations": COPIED}})
    wait_until(lambda: vm(stage, name).get("status", {}).get("printableStatus") == "Stopped", 30, "it is stopped")


def started(stage: Stage, name: str) -> Object:
    assert stage.act(name, "start") == Answer()
    return stage.wait_running(name)


def attached(mac: str = "") -> Object:
    """What gives a VM an interface on NAD `blue`."""
    interface = {"name": "blue", "bridge": {}} | ({"macAddress": mac} if mac else {})
    return {
        "domain": domain({"interfaces": [interface]}),
        "networks": [{"name": "blue", "multus": {"networkName": "blue"}}],
    }


def network(stage: Stage) -> None:
    """One of its own: networks are the cluster's."""
    made = nad(
        *(stage.namespace, "blue", f"net-{stage.namespace}"),
        subnets="10.0.0.0/24",
        persistent=True,
        number=7,
        config=None,
    )
    stage.client.create(made)


def test_a_copy_starts_with_a_serial_of_its_own(stage: Stage, repairs: Make) -> None:
    shared = str(uuid4())
    runs = stage.running("db", domain=domain(serial=shared))
    copied(stage, "twin", domain=domain(serial=shared))
    made = repairs(reassign_serial.REMEDIATION)
    finding = made.finding("SerialDuplicate", "twin")
    with made.sidecar("approve") as sidecar:
        made.approved(finding, sidecar)
        attempt = made.attempt(sidecar.entries())
    new = domain_of(vm(stage, "twin"))["firmware"]["serial"]
    assert new != shared
    assert domain_of(started(stage, "twin"))["firmware"]["serial"] == new
    assert domain_of(runs)["firmware"]["serial"] == domain_of(vm(stage, "db"))["firmware"]["serial"] == shared

    assert "refused, " in made.undo(attempt).stderr  # its guest knows it by now
    assert domain_of(vm(stage, "twin"))["firmware"]["serial"] == new


def test_a_copy_starts_with_a_mac_address_of_its_own(stage: Stage, repairs: Make) -> None:
    network(stage)
    stage.running("db", **attached(MAC))
    copied(stage, "twin", **attached(MAC))
    made = repairs(reassign_mac_address.REMEDIATION)
    finding = made.finding("LatentDuplicateMAC", "twin")
    with made.sidecar("approve") as sidecar:
        made.approved(finding, sidecar)
    (interface,) = domain_of(vm(stage, "twin"))["devices"]["interfaces"]
    assert interface["macAddress"] != MAC
    (own,) = domain_of(started(stage, "twin"))["devices"]["interfaces"]
    assert own["macAddress"] == interface["macAddress"]
    (kept,) = domain_of(vm(stage, "db"))["devices"]["interfaces"]
    assert kept["macAddress"] == MAC


def test_a_vm_starts_with_a_uuid_in_place_of_a_placeholder(stage: Stage, repairs: Make) -> None:
    stage.vm("db", strategy="Halted", domain=domain(uuid=PLACEHOLDER, serial="s-1"))
    wait_until(lambda: vm(stage, "db").get("status", {}).get("printableStatus") == "Stopped", 30, "it is stopped")
    made = repairs(replace_invalid_uuid.REMEDIATION)
    finding = made.finding("InvalidUUID")
    with made.sidecar("approve") as sidecar:
        made.approved(finding, sidecar)
    new = domain_of(vm(stage, "db"))["firmware"]
    assert new == {"uuid": str(UUID(new["uuid"])), "serial": "s-1"}
    assert new["uuid"] != PLACEHOLDER
    assert domain_of(started(stage, "db"))["firmware"]["uuid"] == new["uuid"]
    assert made.found("InvalidUUID") == []


def test_kubevirt_lets_a_running_vmi_be_annotated_and_leaves_it_so(stage: Stage, repairs: Make) -> None:
    network(stage)
    before = stage.running("db", **attached())
    made = repairs(recreate_ipam_claim.REMEDIATION)
    made.finding("MissingClaim")
    with made.sidecar("auto") as sidecar:
        sidecar.wait_for("done")
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}})
    wait_until(lambda: noted(stage) == vm(stage, "db")["metadata"]["generation"], 30, "KubeVirt has seen the change")
    after = stage.client.get(VMIS, stage.namespace, "db")
    assert after["metadata"]["annotations"][NUDGED] == "db.blue"
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["spec"] == before["spec"]
    assert stage.refusal("db") == ""


def noted(stage: Stage, name: str = "db") -> int:
    found: int = vm(stage, name)["status"].get("desiredGeneration", 0)
    return found


def test_kubevirt_notes_each_change_of_a_vm_that_runs_and_none_of_one_that_is_off(stage: Stage) -> None:
    """By which `drop_stale_reference` knows that a spec was not changed for a while, whatever was taken out."""
    stage.running("db", nodeSelector={"kubernetes.io/os": "linux"})
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"template": {"spec": {"nodeSelector": None}}}})
    wait_until(lambda: noted(stage) == vm(stage, "db")["metadata"]["generation"], 30, "KubeVirt has noted it")
    (writer,) = writers(vm(stage, "db"), "/status/desiredGeneration", "status")
    assert writer.time is not None
    assert stage.act("db", "stop") == Answer()
    stage.wait_gone("db")
    wait_until(lambda: vm(stage, "db")["status"].get("printableStatus") == "Stopped", 30, "it is stopped")
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"template": {"spec": {"hostname": "x"}}}})
    changed = vm(stage, "db")["metadata"]["generation"]
    assert noted(stage) < changed
    assert stage.act("db", "start") == Answer()
    stage.wait_running("db")
    wait_until(lambda: noted(stage) >= changed, 30, "KubeVirt has noted it once the VM runs")
