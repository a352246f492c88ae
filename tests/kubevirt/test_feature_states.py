"""The states of VMs in a feature that is switched off while they run, wait or stand still, as KubeVirt makes them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.cluster.client import ApiError
from tests.cluster.exporter import Exporter
from tests.cluster.resources import VMI_REPLICA_SETS, VMIS, VMS
from tests.kubevirt.feature_findings import MEMORY, vm, vmi, wait_found
from tests.kubevirt.installation import NODES
from tests.kubevirt.settings import Settings
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

GATE = "DownwardMetrics"
METRICS: Object = {"devices": {"downwardMetrics": {}}}
DENIED = "denied the request: downwardMetrics virtio serial is not allowed"


def asking(stage: Stage, name: str, **how: Any) -> None:
    stage.vm(name, domain={**METRICS, **MEMORY}, **how)


def switch(settings: Settings, stage: Stage, *, on: bool) -> None:
    """`any` asks for the metrics, and stands still."""
    settings.gates(*((GATE,) if on else ()), taken=lambda: bool(stage.refusal("any")) != on)


@pytest.fixture
def metrics(settings: Settings, stage: Stage) -> Settings:
    """They are allowed, and `any` is there."""
    settings.gates(GATE, taken=lambda: _admitted(stage))
    return settings


def _admitted(stage: Stage) -> bool:
    try:
        asking(stage, "any", strategy="Halted")
    except ApiError as error:
        if DENIED in error.message:
            return False
        raise
    return True


def test_each_vm_is_in_the_state_that_the_switch_has_put_it_in(
    exporter: Exporter, metrics: Settings, stage: Stage
) -> None:
    stage.orders.fixed.add(stage.key("fixed"))
    for name in ("moves", "fixed", "lost"):
        asking(stage, name)
    asking(stage, "by-hand", strategy="Manual")
    for name in ("moves", "fixed", "lost"):
        stage.wait_running(name)
    for node in NODES:
        stage.cordon(node)
    asking(stage, "waits")
    wait_until(lambda: phase(stage, "waits") == "Scheduling", 30, "it waits for a node")

    switch(metrics, stage, on=False)
    uids = {name: stage.client.get(VMIS, stage.namespace, name)["metadata"]["uid"] for name in ("moves", "fixed")}
    stage.client.delete(VMIS, stage.namespace, "lost")
    assert stage.act("by-hand", "start").code is None
    for name in ("lost", "by-hand"):
        wait_failure(stage, name)
    settled = (
        vm("any", "StoppedRequestsDisabled", "info"),
        vm("moves", "NotEditable", "warning"),
        vm("fixed", "NotEditable", "warning"),
        vm("lost", "StartBlocked", "critical"),
        vm("by-hand", "StartBlocked", "critical"),
    )
    wait_found(exporter, stage, *settled, vmi("waits", "PendingStartedBefore", "warning"))
    assert all(DENIED in stage.refusal(name) for name in ("any", "moves", "fixed", "lost", "by-hand", "waits"))
    assert DENIED in stage.act("any", "start").message
    assert DENIED in stage.act("moves", "stop").message

    for node in NODES:
        stage.uncordon(node)
    stage.wait_running("waits")  # it was admitted before
    wait_found(exporter, stage, *settled, vm("waits", "NotEditable", "warning"))
    assert stage.act("moves", "migrate").code is None
    stage.wait_phases("moves", "Succeeded")
    now = {name: stage.client.get(VMIS, stage.namespace, name)["metadata"]["uid"] for name in uids}
    assert now == uids

    switch(metrics, stage, on=True)
    wait_found(exporter, stage)
    for name in ("lost", "by-hand"):
        stage.wait_running(name)
        assert failure(stage, name) == ""
    wait_found(exporter, stage)


def phase(stage: Stage, name: str) -> str:
    return str((stage.vmi(name) or {}).get("status", {}).get("phase", ""))


def failure(stage: Stage, name: str) -> str:
    """Why KubeVirt cannot start it; empty if there is nothing in the way."""
    rows = stage.client.get(VMS, stage.namespace, name).get("status", {}).get("conditions", [])
    return next((row["message"] for row in rows if (row["type"], row["status"]) == ("Failure", "True")), "")


def wait_failure(stage: Stage, name: str) -> None:
    """Denied, or after a denial not tried again yet: virt-controller deletes the ControllerRevision of an earlier start
    once more, as long as its cache has it (deleteOlderVMRevision in pkg/virt-controller/watch/vm/vm.go).
    """
    words = (DENIED, 'controllerrevisions.apps "revision-start-vm-')
    wait_until(lambda: any(word in failure(stage, name) for word in words), 30, f"{name} cannot start")


def test_a_vm_and_its_vmi_that_differ_are_told_apart(exporter: Exporter, metrics: Settings, stage: Stage) -> None:
    asking(stage, "healed")
    stage.running("added")
    stage.wait_running("healed")
    change(stage, "healed", None)
    change(stage, "added", {})

    switch(metrics, stage, on=False)
    wait_found(
        exporter,
        stage,
        vm("any", "StoppedRequestsDisabled", "info"),
        vm("healed", "HealsAtRestart", "info"),
        vm("added", "WillFailAtRestart", "warning"),
    )
    assert (stage.refusal("healed"), DENIED in stage.refusal("added")) == ("", True)
    first = stage.vmi("healed")
    assert first is not None
    assert stage.act("healed", "restart").code is None
    stage.wait_ended(first)
    stage.wait_running("healed")
    first = stage.vmi("added")
    assert first is not None
    stage.client.delete(VMIS, stage.namespace, "added")
    stage.wait_ended(first)
    wait_failure(stage, "added")
    wait_found(exporter, stage, vm("any", "StoppedRequestsDisabled", "info"), vm("added", "StartBlocked", "critical"))


def test_what_would_not_start_anyway_is_no_alarm(exporter: Exporter, metrics: Settings, stage: Stage) -> None:
    asking(stage, "ended", strategy="RerunOnFailure")
    first = stage.wait_running("ended")
    stage.orders.powers_off.add(stage.key("ended"))
    stage.wait_ended(first)
    stage.wait_gone("ended")
    switch(metrics, stage, on=False)
    idle = [vm(name, "StoppedRequestsDisabled", "info") for name in ("any", "ended")]
    wait_found(exporter, stage, *idle)
    assert (failure(stage, "ended"), stage.vmi("ended")) == ("", None)


def change(stage: Stage, name: str, metrics: Object | None) -> None:
    domain = {"devices": {"downwardMetrics": metrics}}
    stage.client.patch(VMS, stage.namespace, name, {"spec": {"template": {"spec": {"domain": domain}}}})


def test_a_replica_set_cannot_replace_a_vmi(exporter: Exporter, metrics: Settings, stage: Stage) -> None:
    web = {"app": "web"}
    template = {"metadata": {"labels": web}, "spec": {"domain": {**METRICS, **MEMORY}}}
    meta = {"namespace": stage.namespace, "name": "web"}
    spec = {"replicas": 1, "selector": {"matchLabels": web}, "template": template}
    kind = "VirtualMachineInstanceReplicaSet"
    stage.client.create({"apiVersion": "kubevirt.io/v1", "kind": kind, "metadata": meta, "spec": spec})
    name = wait_until(lambda: replica(stage), 30, "it has a VMI")
    stage.wait_running(name)
    switch(metrics, stage, on=False)
    idle, refused = vm("any", "StoppedRequestsDisabled", "info"), (kind, "web", "TemplateRequestsDisabled", "warning")
    wait_found(exporter, stage, idle, refused, vmi(name, "RunningStartedBefore", "warning"))

    stage.client.delete(VMIS, stage.namespace, name)
    wait_until(lambda: DENIED in unreplaced(stage), 30, "KubeVirt cannot replace it")
    wait_found(exporter, stage, idle, refused)
    switch(metrics, stage, on=True)
    stage.wait_running(wait_until(lambda: replica(stage), 60, "it has a VMI again"))
    wait_found(exporter, stage)


def replica(stage: Stage) -> str | None:
    """One that is not being deleted: the earlier one can exist for a while."""
    every = [each["metadata"] for each in stage.client.list(VMIS, stage.namespace)["items"]]
    return next((each["name"] for each in every if "deletionTimestamp" not in each), None)


def unreplaced(stage: Stage) -> str:
    rows = stage.client.get(VMI_REPLICA_SETS, stage.namespace, "web").get("status", {}).get("conditions", [])
    return next((row["message"] for row in rows if row["type"] == "ReplicaFailure"), "")
