"""VMs whose firmware identity is shared, not kept, or none, and templates that give it away."""

from __future__ import annotations

from typing import Any

from tests.cluster import fleet
from tests.cluster.resources import VMS
from tests.cluster.stage import Stage, Story
from tests.cluster.stories import acts
from tests.manifests import Object

__all__ = ["BOOTLOADER", "NEW", "OLD", "STORIES", "pool", "replica_set"]

OLD, NEW = "3e6c1f0a-6f0e-4d6b-9a43-0c8e5b1d2f31", "7c0f4f5e-52fd-4d8b-8a25-0f0d7f9f1f10"
BOOTLOADER = {"efi": {"secureBoot": False}}
_DB = {"NAME": "db"}  # the one of the two that is stopped


def vm(stage: Stage, name: str = "db", **firmware: Any) -> Object:
    return stage.client.create(fleet.vm(stage.namespace, name, firmware=firmware))


def pool(namespace: str) -> Object:
    """One whose template sets the UUID."""
    template = fleet.vm(namespace, "web", firmware={"uuid": OLD, "bootloader": BOOTLOADER})["spec"]
    return _of_two("pool.kubevirt.io/v1beta1", "VirtualMachinePool", namespace, "virtualMachineTemplate", template)


def replica_set(namespace: str) -> Object:
    template = fleet.vm(namespace, "web", firmware={"uuid": OLD, "bootloader": BOOTLOADER})["spec"]["template"]
    return _of_two("kubevirt.io/v1", "VirtualMachineInstanceReplicaSet", namespace, "template", template)


def _of_two(version: str, kind: str, namespace: str, field: str, template: Object) -> Object:
    labels = {"app": "web"}
    made = {"metadata": {"labels": labels}, "spec": template["spec"] if field == "template" else template}
    return {
        "apiVersion": version,
        "kind": kind,
        "metadata": {"namespace": namespace, "name": "web"},
        "spec": {"replicas": 2, "selector": {"matchLabels": labels}, field: made},
    }


def _both_run(stage: Stage) -> None:
    for name in ("db", "copy"):
        stage.running(vm(stage, name, uuid=OLD, serial=name))


def _both_are_stopped(stage: Stage) -> None:
    for name in ("db", "copy"):
        vm(stage, name, uuid=OLD, serial=name)


def _none_but_a_bootloader(stage: Stage) -> None:
    vm(stage, bootloader=BOOTLOADER)


def _none(stage: Stage) -> None:
    vm(stage)


def _replaced_while_it_runs(stage: Stage) -> None:
    firmware: dict[str, Any] = {"uuid": OLD, "serial": "S1", "bootloader": BOOTLOADER}
    made = vm(stage, "db", **firmware)
    stage.running(made)
    bare = {"spec": {"template": {"spec": {"domain": {"firmware": {"uuid": NEW, "serial": None}}}}}}
    stage.client.patch(VMS, stage.namespace, "db", bare)


def _no_uuid(stage: Stage) -> None:
    vm(stage, uuid="not-a-uuid")


def _one_serial(stage: Stage) -> None:
    for name, uuid in (("db", OLD), ("copy", NEW)):
        stage.running(vm(stage, name, uuid=uuid, serial="S1"))


def _pinning_pool(stage: Stage) -> None:
    stage.client.create(pool(stage.namespace))


def _pinning_replica_set(stage: Stage) -> None:
    stage.client.create(replica_set(stage.namespace))


STORIES = [
    Story("VMFirmwareUUIDDuplicate", "Duplicate", _both_run, (acts.SET_UUID,), stops=True, values=_DB),
    Story("VMFirmwareUUIDDuplicate", "LatentDuplicate", _both_are_stopped, (acts.SET_UUID,)),
    Story("VMFirmwareUUIDUnstable", "NotPersisted", _none_but_a_bootloader, (acts.ADD_UUID,)),
    Story("VMFirmwareUUIDUnstable", "NotPersisted", _none, (acts.ADD_FIRMWARE,)),
    Story("VMFirmwareUUIDUnstable", "SpecRunMismatch", _replaced_while_it_runs, (acts.PUT_BACK,)),
    Story("VMFirmwareUUIDUnstable", "InvalidUUID", _no_uuid, (acts.SET_UUID,)),
    Story("VMSerialDuplicate", "SerialDuplicate", _one_serial, (acts.SET_SERIAL,), stops=True, values=_DB),
    Story("VMTemplatePinsFirmwareUUID", "TemplatePinsUUID", _pinning_pool, (acts.OF_POOL,)),
    Story("VMTemplatePinsFirmwareUUID", "TemplatePinsUUID", _pinning_replica_set, (acts.OF_REPLICA_SET,)),
]
