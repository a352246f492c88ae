"""The states of VMs in a feature that is switched off while they run, wait or stand still, as KubeVirt makes them."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from tests.cluster.client import ApiError
from tests.cluster.exporter import Exporter
from tests.cluster.resources import VMIS, VMS
from tests.kubevirt.installation import NODES
from tests.kubevirt.settings import Settings
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

Found = tuple[str, str, str, str]  # subject's kind and name, reason, severity

GATE = "DownwardMetrics"
METRICS: Object = {"devices": {"downwardMetrics": {}}}
MEMORY: Object = {"resources": {"requests": {"memory": "64Mi"}}}
DENIED = "denied the request: downwardMetrics virtio serial is not allowed"


def wait_found(exporter: Exporter, stage: Stage, *wanted: Found) -> list[Object]:
    def reported() -> list[Object]:
        rows: list[Object] = exporter.report(f"?namespace={stage.namespace}&check=feature_mismatch")["findings"]
        return rows

    def found() -> list[Found]:
        rows = ((each["subject"], each) for each in reported())
        return sorted((subject["kind"], subject["name"], f["reason"], f["severity"]) for subject, f in rows)

    with contextlib.suppress(TimeoutError):
        wait_until(lambda: found() == sorted(wanted), 30, "what is found", every=0.02)
    assert found() == sorted(wanted)
    return reported()


def vm(name: str, reason: str, severity: str) -> Found:
    return "VirtualMachine", name, reason, severity


def vmi(name: str, reason: str, severity: str) -> Found:
    return "VirtualMachineInstance", name, reason, severity


# -- at admission


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
    wait_until(lambda: DENIED in failure(stage, name), 30, f"{name} cannot start")


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


# -- when the launcher pod is rendered

DEVICE, BINDING = "example.com/dev", "lan"
PERMITTED = {"pciHostDevices": [{"pciVendorSelector": "10DE:1EB8", "resourceName": DEVICE}]}
BINDINGS = {"binding": {BINDING: {"domainAttachmentType": "tap", "migration": {}}}}
WITH_DEVICE = {"devices": {"gpus": [{"name": "gpu", "deviceName": DEVICE}]}, **MEMORY}
WITH_BINDING = {"devices": {"interfaces": [{"name": "default", "binding": {"name": BINDING}}]}, **MEMORY}
POD = [{"name": "default", "pod": {}}]


def test_what_cannot_be_rendered_waits_without_a_pod(exporter: Exporter, settings: Settings, stage: Stage) -> None:
    settings.put({**settings.before, "permittedHostDevices": PERMITTED, "network": BINDINGS}, lambda: True)
    stage.orders.fixed.add(stage.key("device"))
    stage.running("device", domain=WITH_DEVICE)
    stage.running("binding", domain=WITH_BINDING, networks=POD)
    before = {name: version(stage, name) for name in ("device", "binding")}

    settings.put({**settings.before, "permittedHostDevices": {}}, lambda: True)
    stage.vm("new-device", domain=WITH_DEVICE)
    stage.vm("new-binding", domain=WITH_BINDING, networks=POD)
    stage.vm("idle-device", strategy="Halted", domain=WITH_DEVICE)
    words = {
        "new-device": f"GPU {DEVICE} is not permitted in permittedHostDevices configuration",
        "new-binding": f"couldn't find configuration for network binding: {BINDING}",
    }
    for name, why in words.items():
        wait_unsynchronized(stage, name, why)
    reported = wait_found(
        exporter,
        stage,
        vmi("device", "RunningStartedBefore", "warning"),
        vmi("binding", "MigrationBlocked", "critical"),
        vmi("new-device", "PendingBlocked", "critical"),
        vmi("new-binding", "PendingBlocked", "critical"),
        vm("idle-device", "StoppedRequestsDisabled", "warning"),
    )
    blocked = {each["subject"]["name"]: each["evidence"].get("blocked", "") for each in reported}
    assert all(why in blocked[name] for name, why in words.items())
    assert {name: version(stage, name) for name in before} == before
    assert [stage.refusal(name) for name in ("device", "binding", "new-device", "idle-device")] == [""] * 4
    assert [stage.pods(name) for name in words] == [[], []]
    stage.act("binding", "migrate")
    stage.running("other")  # virt-controller has seen what was asked for before
    assert stage.phases("binding") == ["Pending"]

    settings.put({**settings.before, "permittedHostDevices": PERMITTED, "network": BINDINGS}, lambda: True)
    for name in words:
        stage.wait_running(name)
    stage.wait_phases("binding", "Succeeded")
    wait_found(exporter, stage)


def version(stage: Stage, name: str) -> str:
    return str(stage.client.get(VMIS, stage.namespace, name)["metadata"]["resourceVersion"])


def wait_unsynchronized(stage: Stage, name: str, why: str) -> None:
    wait_until(lambda: why in unsynchronized(stage, name), 30, f"{name} is not rendered")


def unsynchronized(stage: Stage, name: str) -> str:
    """Why virt-controller does not get on with it."""
    rows = (stage.vmi(name) or {}).get("status", {}).get("conditions", [])
    return next((row["message"] for row in rows if (row["type"], row["status"]) == ("Synchronized", "False")), "")
