"""What is wrong with identities in the sample fleet: one function per case."""

import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from ..apiserver.registry import timestamp
from .networks import NODES
from .objects import new
from .samples import SampleVM, complete, disk, uid, virtual_machine
from .trouble import Case, trouble

_BY_NAME = uuid.UUID("6a1a24a1-4061-4607-8bf4-a3963d0c5895")  # from which KubeVirt made UUIDs of names


def confused(now: datetime) -> list[Case]:
    return [case(now) for case in _CASES]


def same_name(now: datetime) -> Case:
    """Older than the release that gives each VM a UUID of its own."""
    derived = _derived("print-server")
    wrong = "has the same name-based UUID as {}, and both run"
    shop = complete(_sample(now, "shop", "print-server", 130, 0, **derived))
    billing = complete(_sample(now, "billing", "print-server", 131, 1, **derived))
    troubles = [
        trouble(shop[0], wrong.format("billing/print-server")),
        trouble(billing[0], wrong.format("shop/print-server")),
    ]
    return Case([*shop, *billing], troubles)


def restored(now: datetime) -> Case:
    source = _sample(now, "lab", "simulator", 132, 2)
    same = {"uuid": source.uid("firmware")}
    copy = replace(source, name="simulator-restored", node="", number=133, age=timedelta(days=3), firmware=same)
    vm = virtual_machine(copy)
    vm["metadata"]["annotations"] = {"restore.kubevirt.io/lastRestoreUID": "restore-of-simulator"}
    objects = complete(source)
    troubles = [
        trouble(vm, "was restored from simulator and will start with the same UUID"),
        trouble(objects[0], "its restored copy has the same UUID"),
    ]
    return Case([*objects, vm, disk(copy)], troubles)


def changes_with_its_next_start(now: datetime) -> Case:
    """A manifest without a UUID was put in its place, so virt-controller wrote the one of the name."""
    sample = _sample(now, "telecom", "billing-gw", 134, 3)
    vm = virtual_machine(replace(sample, firmware=_derived("billing-gw")))
    vm["metadata"]["managedFields"] = [
        {
            "manager": "virt-controller",
            "operation": "Update",
            "apiVersion": "kubevirt.io/v1",
            "time": timestamp(now - timedelta(hours=2)),
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:template": {"f:spec": {"f:domain": {"f:firmware": {".": {}, "f:uuid": {}}}}}}},
        }
    ]
    wrong = "lost its UUID while running: its UUID changes at the next start"
    return Case([vm, *complete(sample)[1:]], [trouble(vm, wrong)])


def placeholder(now: datetime) -> Case:
    objects = complete(_sample(now, "windows-desktops", "kiosk", 135, 0, uuid="03000200-0400-0500-0006-000700080009"))
    return Case(objects, [trouble(objects[0], "has a known default UUID of mainboards")])


def same_serial(now: datetime) -> Case:
    serial = "VMware-42 1d 6f 1e 58"
    first, second = (complete(_sample(now, "windows-desktops", f"erp-{i}", 135 + i, i, serial=serial)) for i in (1, 2))
    wrong = "was imported with the same serial as {}"
    troubles = [trouble(first[0], wrong.format("erp-2")), trouble(second[0], wrong.format("erp-1"))]
    return Case([*first, *second], troubles)


def pinned(now: datetime) -> Case:
    labels = {"app": "render"}
    vm = virtual_machine(_sample(now, "lab", "render", 138, 0).stopped())
    pool = new(
        "VirtualMachinePool",
        "lab",
        "render",
        uid=uid("VirtualMachinePool", "lab", "render"),
        created=timestamp(now),
        generation=1,
        spec={
            "replicas": 0,
            "selector": {"matchLabels": labels},
            "virtualMachineTemplate": {"metadata": {"labels": labels}, "spec": vm["spec"]},
        },
    )
    return Case([pool], [trouble(pool, "its template sets a UUID, so all its VMs will share it")])


def snapshot_without(now: datetime) -> Case:
    sample = _sample(now, "billing", "archive", 139, 0).stopped()
    source, taken = virtual_machine(sample), timestamp(now - timedelta(days=400))
    del source["spec"]["template"]["spec"]["domain"]["firmware"]
    content = new(
        "VirtualMachineSnapshotContent",
        "billing",
        "archive-2025",
        uid=uid("VirtualMachineSnapshotContent", "billing", "archive-2025"),
        created=taken,
        generation=1,
        spec={
            "source": {"virtualMachine": {"metadata": source["metadata"], "spec": source["spec"]}},
            "virtualMachineSnapshotName": "archive-2025",
        },
        status={"readyToUse": True, "creationTime": taken},
    )
    wrong = "holds no UUID to restore"
    return Case([*complete(sample), content], [trouble(content, wrong)])


_CASES: tuple[Callable[[datetime], Case], ...] = (
    same_name,
    restored,
    changes_with_its_next_start,
    placeholder,
    same_serial,
    pinned,
    snapshot_without,
)


def _derived(name: str) -> dict[str, str]:
    """The UUID that KubeVirt gives a VM which has none."""
    return {"uuid": str(uuid.uuid5(_BY_NAME, name))}


def _sample(now: datetime, namespace: str, name: str, number: int, node: int, **firmware: str) -> SampleVM:
    return SampleVM(
        namespace=namespace,
        name=name,
        now=now,
        node=NODES[node],
        number=number,
        age=timedelta(days=20 + number),
        firmware=firmware,
    )
