"""What is wrong with identities in the sample fleet: one function per case.

The codes are those of the reference on firmware UUIDs.
"""

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from ..fakeapi.registry import timestamp
from ..fakeapi.resources import Obj
from .networks import NODES
from .running import launcher, start_revision, vmi_of
from .samples import SampleVM, disk, uid, virtual_machine
from .trouble import Case, trouble

_BY_NAME = uuid.UUID("6a1a24a1-4061-4607-8bf4-a3963d0c5895")  # from which KubeVirt made UUIDs of names


def confused(now: datetime) -> list[Case]:
    return [case(now) for case in _CASES]


def same_name(now: datetime) -> Case:
    """Older than the release that gives each VM a UUID of its own."""
    derived = str(uuid.uuid5(_BY_NAME, "print-server"))
    samples = [_sample(now, "shop", "print-server", 130, 0), _sample(now, "billing", "print-server", 131, 1)]
    wrong = "has the UUID that its name gives, as {} does, and both run"
    cases = [_running(sample, uuid=derived) for sample in samples]
    return Case(
        [each for objects in cases for each in objects],
        [
            trouble(cases[0][0], "Duplicate", wrong.format("billing/print-server")),
            trouble(cases[1][0], "Duplicate", wrong.format("shop/print-server")),
        ],
    )


def restored(now: datetime) -> Case:
    source = _sample(now, "lab", "simulator", 132, 2)
    copy = replace(source, name="simulator-restored", node="", number=133, age=timedelta(days=3))
    vm = virtual_machine(copy)
    vm["metadata"]["annotations"] = {"restore.kubevirt.io/lastRestoreUID": "restore-of-simulator"}
    _set_firmware(vm["spec"]["template"]["spec"], uuid=source.uid("firmware"))
    wrong = "was restored from simulator under a new name, and will start with its UUID"
    objects = _running(source)
    return Case(
        [*objects, vm, disk(copy)],
        [
            trouble(vm, "LatentDuplicate", wrong),
            trouble(objects[0], "LatentDuplicate", "its restored copy has the same UUID"),
        ],
    )


def changes_with_its_next_start(now: datetime) -> Case:
    objects = _running(_sample(now, "telecom", "billing-gw", 134, 3))
    _set_firmware(objects[0]["spec"]["template"]["spec"], uuid=uid("firmware", "another"))
    wrong = "its UUID was edited while it runs: it comes back as another VM"
    return Case(objects, [trouble(objects[0], "SpecRunMismatch", wrong)])


def placeholder(now: datetime) -> Case:
    objects = _running(_sample(now, "windows-desktops", "kiosk", 135, 0), uuid="03000200-0400-0500-0006-000700080009")
    wrong = "has the UUID that boards have whose maker gave them none"
    return Case(objects, [trouble(objects[0], "InvalidUUID", wrong)])


def same_serial(now: datetime) -> Case:
    samples = [_sample(now, "windows-desktops", f"erp-{i}", 135 + i, i) for i in (1, 2)]
    cases = [_running(sample, serial="VMware-42 1d 6f 1e 58") for sample in samples]
    wrong = "was imported with the serial of one source, as {} was"
    return Case(
        [each for objects in cases for each in objects],
        [
            trouble(cases[0][0], "SerialDuplicate", wrong.format("erp-2")),
            trouble(cases[1][0], "SerialDuplicate", wrong.format("erp-1")),
        ],
    )


def pinned(now: datetime) -> Case:
    sample = _sample(now, "lab", "render", 138, 0).stopped()
    template = virtual_machine(sample)["spec"]
    pool = {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": _meta(now, "VirtualMachinePool", "lab", "render"),
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "render"}},
            "virtualMachineTemplate": {"metadata": {"labels": {"app": "render"}}, "spec": template},
        },
    }
    wrong = "its template has a UUID, so every VM of it will have the same"
    return Case([pool], [trouble(pool, "TemplatePinsUUID", wrong)])


def snapshot_without(now: datetime) -> Case:
    sample = _sample(now, "billing", "archive", 139, 0).stopped()
    vm = virtual_machine(sample)
    source = virtual_machine(sample)
    del source["spec"]["template"]["spec"]["domain"]["firmware"]
    content = {
        "apiVersion": "snapshot.kubevirt.io/v1beta1",
        "kind": "VirtualMachineSnapshotContent",
        "metadata": _meta(now - timedelta(days=400), "VirtualMachineSnapshotContent", "billing", "archive-2025"),
        "spec": {
            "source": {"virtualMachine": {"metadata": source["metadata"], "spec": source["spec"]}},
            "virtualMachineSnapshotName": "archive-2025",
        },
        "status": {"readyToUse": True, "creationTime": timestamp(now - timedelta(days=400))},
    }
    wrong = "holds no UUID: a VM restored from it gets another one"
    return Case([vm, disk(sample), content], [trouble(content, "SnapshotLacksUUID", wrong)])


_CASES: tuple[Callable[[datetime], Case], ...] = (
    same_name,
    restored,
    changes_with_its_next_start,
    placeholder,
    same_serial,
    pinned,
    snapshot_without,
)


def _sample(now: datetime, namespace: str, name: str, number: int, node: int) -> SampleVM:
    return SampleVM(
        namespace=namespace, name=name, now=now, node=NODES[node], number=number, age=timedelta(days=20 + number)
    )


def _running(sample: SampleVM, **firmware: str) -> list[Obj]:
    """All of a running VM, the VirtualMachine first."""
    vm, vmi, revision = virtual_machine(sample), vmi_of(sample), start_revision(sample)
    for spec in (vm["spec"]["template"]["spec"], vmi["spec"], revision["data"]["spec"]["template"]["spec"]):
        _set_firmware(spec, **firmware)
    return [vm, vmi, disk(sample), launcher(sample), revision]


def _set_firmware(spec: Obj, **firmware: str) -> None:
    spec["domain"]["firmware"] = spec["domain"]["firmware"] | firmware


def _meta(born: datetime, kind: str, namespace: str, name: str) -> Obj:
    return {
        "name": name,
        "namespace": namespace,
        "uid": uid(kind, namespace, name),
        "creationTimestamp": timestamp(born),
        "generation": 1,
    }
