"""What KubeVirt itself makes of firmware UUIDs, and what is found of it."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from uuid import uuid4

import pytest

from exporter.facts.firmware import legacy
from tests.cluster.client import ApiError
from tests.cluster.exporter import Exporter, grant
from tests.cluster.resources import VMIS, VMS
from tests.kubevirt.conftest import MakeStage
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.orders import true
from tests.kubevirt.releases import SERIAL, UUID_OF_ITS_OWN, UUID_WRITTEN, lacks, needs
from tests.kubevirt.sizes import POOLS
from tests.kubevirt.stage import Answer, Stage
from tests.manifests import Object
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def exporter(kubevirt: ControlPlane) -> Iterator[Exporter]:
    grant(kubevirt.admin)
    with Exporter(kubevirt.kubeconfig("steward-exporter")) as running:
        yield running.wait_ready()


def found(exporter: Exporter, *stages: Stage) -> set[tuple[str, str]]:
    """(namespace/name, reason) of what is found of identities."""
    reports = [exporter.report(f"?namespace={stage.namespace}") for stage in stages]
    return {
        (f"{each['subject']['namespace']}/{each['subject']['name']}", each["reason"])
        for report in reports
        for each in report["findings"]
        if each["check"].startswith("firmware_")
    }


def wait_found(exporter: Exporter, wanted: set[tuple[str, str]], *stages: Stage) -> None:
    wait_until(lambda: found(exporter, *stages) == wanted, 30, f"just {sorted(wanted)}", every=0.02)


def firmware(thing: Object) -> Object:
    spec = thing["spec"].get("template", thing)["spec"]
    made: Object = spec["domain"].get("firmware") or {}
    return made


def domain(uuid: str) -> Object:
    return {"devices": {}, "firmware": {"uuid": uuid}, "resources": {"requests": {"memory": "64Mi"}}}


def replace_without_firmware(stage: Stage, name: str) -> None:
    """As a tool does that writes the whole VM from a manifest; again, if KubeVirt wrote meanwhile."""

    def replaced() -> bool:
        thing = copy.deepcopy(stage.client.get(VMS, stage.namespace, name))
        del thing["spec"]["template"]["spec"]["domain"]["firmware"]
        try:
            stage.client.update(thing)
        except ApiError as error:
            if error.code != 409:
                raise
            return False
        return True

    wait_until(replaced, 30, f"{name} is replaced")


def restart_required(stage: Stage, name: str) -> bool:
    return true(stage.client.get(VMS, stage.namespace, name), "RestartRequired")


@needs(UUID_OF_ITS_OWN)
def test_a_new_vm_has_an_identity_of_its_own_and_nothing_is_found(exporter: Exporter, stage: Stage) -> None:
    made = firmware(stage.vm("db", strategy="Halted"))
    assert made["uuid"] != legacy("db")
    assert bool(made.get("serial")) is SERIAL.here
    marker = stage.vm("marker", strategy="Halted", domain=domain("x"))
    wait_found(exporter, {(f"{stage.namespace}/{marker['metadata']['name']}", "InvalidUUID")}, stage)


@lacks(UUID_WRITTEN)
def test_a_vm_without_a_uuid_keeps_that_of_its_name_and_is_information(
    kubevirt: ControlPlane, exporter: Exporter, stage: Stage
) -> None:
    """`exporter` waits for KubeVirt to write one; another one waits for nothing."""
    stage.vm("db", strategy="Manual")
    assert stage.act("db", "start") == Answer()
    assert firmware(stage.wait_running("db"))["uuid"] == legacy("db")
    assert firmware(stage.client.get(VMS, stage.namespace, "db")) == {}
    with Exporter(kubevirt.kubeconfig("steward-exporter"), graces=0) as hasty:
        hasty.wait_ready()
        wait_found(hasty, {(f"{stage.namespace}/db", "NotPersisted")}, stage)
        rows = hasty.report(f"?namespace={stage.namespace}&check=firmware_vms")["findings"]
    assert [(row["severity"], row["evidence"]["kubeVirt"]) for row in rows] == [("info", "1.5")]


@needs(UUID_WRITTEN)
def test_a_vm_that_is_replaced_without_its_firmware_gets_that_of_its_name(exporter: Exporter, stage: Stage) -> None:
    name = f"db-{stage.namespace}"
    stage.vm(name, strategy="Halted")
    replace_without_firmware(stage, name)
    wait_found(exporter, {(f"{stage.namespace}/{name}", "LegacyDerived")}, stage)

    assert firmware(stage.client.get(VMS, stage.namespace, name)) == {"uuid": legacy(name)}
    (finding,) = exporter.report(f"?namespace={stage.namespace}")["findings"]
    assert finding["evidence"]["serial"].startswith("missing")
    assert "NotPersisted" not in {each.reason for each in exporter.opened if each.subject.name == name}


@needs(UUID_WRITTEN)
def test_a_running_vm_that_is_replaced_keeps_its_identity_once_that_is_put_back(
    exporter: Exporter, stage: Stage
) -> None:
    name = f"db-{stage.namespace}"
    runs = firmware(stage.running(name))
    replace_without_firmware(stage, name)
    wait_found(exporter, {(f"{stage.namespace}/{name}", "SpecRunMismatch")}, stage)
    wait_until(lambda: restart_required(stage, name), 30, "KubeVirt asks for a restart")

    path = "/spec/template/spec/domain/firmware"
    stage.client.patch(VMS, stage.namespace, name, ({"op": "add", "path": path, "value": runs},))
    wait_found(exporter, set(), stage)
    assert firmware(stage.client.get(VMIS, stage.namespace, name)) == runs


def test_vms_that_were_given_one_uuid_collide_until_one_is_restarted_with_another(
    exporter: Exporter, make_stage: MakeStage
) -> None:
    uuid, both = str(uuid4()), (make_stage(), make_stage())
    for stage in both:
        stage.running(
            "db", domain={"devices": {}, "firmware": {"uuid": uuid}, "resources": {"requests": {"memory": "1M"}}}
        )
    paths = [f"{stage.namespace}/db" for stage in both]
    wait_found(exporter, {(path, "Duplicate") for path in paths}, *both)

    last, path = both[1], "/spec/template/spec/domain/firmware/uuid"
    new = str(uuid4())
    last.client.patch(VMS, last.namespace, "db", ({"op": "replace", "path": path, "value": new},))
    wait_found(exporter, {*((path, "Duplicate") for path in paths), (paths[1], "SpecRunMismatch")}, *both)
    before = last.wait_running("db")
    assert last.act("db", "restart") == Answer()
    last.wait_ended(before)
    last.wait_running("db")
    wait_found(exporter, set(), *both)
    assert firmware(last.client.get(VMIS, last.namespace, "db"))["uuid"] == new


def test_a_pool_that_sets_the_uuid_is_found_with_its_vms(exporter: Exporter, stage: Stage) -> None:
    labels, uuid = {"app": "web"}, str(uuid4())
    vm = {"runStrategy": "Halted", "template": {"spec": {"domain": domain(uuid)}}}
    stage.client.create(
        {
            "apiVersion": POOLS.api_version,
            "kind": "VirtualMachinePool",
            "metadata": {"namespace": stage.namespace, "name": "web"},
            "spec": {
                "replicas": 2,
                "selector": {"matchLabels": labels},
                "virtualMachineTemplate": {"metadata": {"labels": labels}, "spec": vm},
            },
        }
    )
    members = [f"{stage.namespace}/web-{number}" for number in (0, 1)]
    of_members = {(member, reason) for member in members for reason in ("LatentDuplicate", "MemberPinsUUID")}
    wait_found(exporter, {*of_members, (f"{stage.namespace}/web", "TemplatePinsUUID")}, stage)
    stage.client.patch(POOLS, stage.namespace, "web", {"spec": {"replicas": 0}})
