"""Features that are refused after admission: when the launcher pod is rendered, and when a node is looked for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tests.cluster.exporter import Exporter
from tests.cluster.resources import NODES as ALL_NODES
from tests.cluster.resources import VMIS, VMS, Resource
from tests.kubevirt.feature_findings import MEMORY, vm, vmi, wait_found
from tests.kubevirt.installation import NODES
from tests.kubevirt.releases import PERSISTENT_STATE, RELEASE, needs
from tests.kubevirt.settings import Settings
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

DEVICE, BINDING = "example.com/dev", "lan"
PERMITTED = {"pciHostDevices": [{"pciVendorSelector": "10DE:1EB8", "resourceName": DEVICE}]}
BINDINGS = {"binding": {BINDING: {"domainAttachmentType": "tap", "migration": {}}}}
WITH_DEVICE = {"devices": {"gpus": [{"name": "gpu", "deviceName": DEVICE}]}, **MEMORY}
WITH_BINDING = {"devices": {"interfaces": [{"name": "default", "binding": {"name": BINDING}}]}, **MEMORY}
POD = [{"name": "default", "pod": {}}]
_BINDING_WORD = "bindining" if RELEASE < (1, 7) else "binding"


def test_what_cannot_be_rendered_waits_without_a_pod(exporter: Exporter, settings: Settings, stage: Stage) -> None:
    with offered(stage, *NODES[:2]):
        cannot_be_rendered(exporter, settings, stage)


def cannot_be_rendered(exporter: Exporter, settings: Settings, stage: Stage) -> None:
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
        "new-binding": f"couldn't find configuration for network {_BINDING_WORD}: {BINDING}",
    }
    for name, why in words.items():
        wait_unsynchronized(stage, name, why)
    wait_found(
        exporter,
        stage,
        vmi("device", "RunningStartedBefore", "warning"),
        vmi("binding", "MigrationBlocked", "critical"),
        vmi("new-device", "PendingBlocked", "critical"),
        vmi("new-binding", "PendingBlocked", "critical"),
        vm("idle-device", "StoppedRequestsDisabled", "warning"),
        check="feature_mismatch",
    )
    wait_until(lambda: all(why in blocked(exporter, stage, name) for name, why in words.items()), 30, "it says why")
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
    wait_found(exporter, stage, check="feature_mismatch")


@contextlib.contextmanager
def offered(stage: Stage, *nodes: str) -> Iterator[None]:
    """The nodes have one device each meanwhile."""

    def offer(count: str | None) -> None:
        for name in nodes:
            room = {"capacity": {DEVICE: count}, "allocatable": {DEVICE: count}}
            stage.client.patch(ALL_NODES, None, f"{name}/status", {"status": room})

    offer("1")
    try:
        yield
    finally:
        offer(None)


def blocked(exporter: Exporter, stage: Stage, name: str) -> str:
    """What is found to be in its way."""
    rows = exporter.report(f"?namespace={stage.namespace}")["findings"]
    return next((each["evidence"].get("blocked", "") for each in rows if each["subject"]["name"] == name), "")


def version(stage: Stage, name: str) -> str:
    return str(stage.client.get(VMIS, stage.namespace, name)["metadata"]["resourceVersion"])


def wait_unsynchronized(stage: Stage, name: str, why: str) -> None:
    wait_until(lambda: why in unsynchronized(stage, name), 30, f"{name} is not rendered")


def unsynchronized(stage: Stage, name: str) -> str:
    """Why virt-controller does not get on with it."""
    rows = (stage.vmi(name) or {}).get("status", {}).get("conditions", [])
    return next((row["message"] for row in rows if (row["type"], row["status"]) == ("Synchronized", "False")), "")


STORAGE_CLASSES = Resource("storage.k8s.io", "v1", "storageclasses")
WITH_STATE = {"devices": {"tpm": {"persistent": True}}, **MEMORY}


@needs(PERSISTENT_STATE)
def test_state_that_no_storage_class_is_for_waits_for_one(exporter: Exporter, settings: Settings, stage: Stage) -> None:
    stage.vm("waits", domain=WITH_STATE)
    stage.vm("idle", strategy="Halted", domain=WITH_STATE)
    wait_unsynchronized(stage, "waits", "no default storage class found")
    wait_found(
        exporter, stage, vmi("waits", "PendingBlocked", "critical"), vm("idle", "StoppedRequestsDisabled", "warning")
    )
    with storage_class(stage, f"{stage.namespace}-state") as name:
        settings.put({**settings.before, "vmStateStorageClass": name}, lambda: True)
        stage.wait_running("waits")
        wait_found(exporter, stage)
        settings.restore()
        wait_found(
            exporter,
            stage,
            vmi("waits", "RunningStartedBefore", "info"),
            vm("idle", "StoppedRequestsDisabled", "warning"),
        )


@contextlib.contextmanager
def storage_class(stage: Stage, name: str) -> Iterator[str]:
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    stage.client.create({**kind, "provisioner": "example.com/none", "volumeBindingMode": "WaitForFirstConsumer"})
    try:
        yield name
    finally:
        stage.client.delete(STORAGE_CLASSES, None, name)


# -- when a node is looked for

DEDICATED: Object = {"cpu": {"cores": 1, "dedicatedCpuPlacement": True}, "devices": {}, **MEMORY}
CPU_MANAGERS = ("cpumanager", "kubevirt.io/cpumanager")  # launcher pods select the former up to 1.7


def test_dedicated_cpus_need_the_gate_and_a_node(exporter: Exporter, settings: Settings, stage: Stage) -> None:
    settings.gates("CPUManager", taken=lambda: True)
    with labelled(stage, *NODES[:2]):
        stage.running("runs", domain=DEDICATED)
        wait_found(exporter, stage)

    # As virt-handler takes the label away.
    settings.restore()
    stage.vm("waits", domain=DEDICATED)
    wait_until(lambda: printed(stage, "waits") == "ErrorUnschedulable", 30, "no node takes it")
    wait_found(exporter, stage, vmi("runs", "MigrationBlocked", "critical"), vmi("waits", "PendingBlocked", "critical"))
    assert [stage.refusal(name) for name in ("runs", "waits")] == ["", ""]

    settings.gates("CPUManager", taken=lambda: True)
    wait_found(exporter, stage, vmi("runs", "NoNodeSupports", "critical"), vmi("waits", "NoNodeSupports", "critical"))
    with labelled(stage, *NODES[:2]):
        stage.wait_running("waits")
        wait_found(exporter, stage)


@contextlib.contextmanager
def labelled(stage: Stage, *nodes: str) -> Iterator[None]:
    def label(value: str | None) -> None:
        labels = dict.fromkeys(CPU_MANAGERS if RELEASE >= (1, 8) else CPU_MANAGERS[:1], value)
        for node in nodes:
            stage.client.patch(ALL_NODES, None, node, {"metadata": {"labels": labels}})

    label("true")
    try:
        yield
    finally:
        label(None)


def printed(stage: Stage, name: str) -> str:
    return str(stage.client.get(VMS, stage.namespace, name).get("status", {}).get("printableStatus", ""))
