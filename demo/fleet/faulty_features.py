"""What VMs of the sample fleet ask for, and the cluster does not allow: one function per case."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from ..apiserver.registry import timestamp
from ..apiserver.resources import Obj
from . import objects
from .networks import NODES
from .objects import condition
from .samples import SampleVM, complete, disk, virtual_machine
from .trouble import Case, trouble

_SIDECARS = {"hooks.kubevirt.io/hookSidecars": '[{"image": "quay.io/example/smbios:1"}]'}
_DENIED = 'admission webhook "virtualmachineinstances-create-validator.kubevirt.io" denied the request: '


def refused(now: datetime) -> list[Case]:
    return [case(now) for case in _CASES]


def not_editable(now: datetime) -> Case:
    made = complete(_sample(now, "billing", "printer-bridge", 180, 0))
    made[0]["spec"]["template"]["metadata"]["annotations"] = _SIDECARS
    _vmi(made)["metadata"]["annotations"] |= _SIDECARS
    wrong = "can't be edited: its hook sidecar needs feature gate Sidecar"
    return Case(made, [trouble(made[0], wrong)])


def not_rendered(now: datetime) -> Case:
    made = complete(_sample(now, "telecom", "edge-gw", 181, 1))
    for spec in (made[0]["spec"]["template"]["spec"], _vmi(made)["spec"]):
        interface = spec["domain"]["devices"]["interfaces"][0]
        del interface["masquerade"]
        interface["binding"] = {"name": "vdpa"}
    wrong = "can't migrate: its network binding was removed from KubeVirt's configuration"
    return Case(made, [trouble(_vmi(made), wrong)])


def no_longer_permitted(now: datetime) -> Case:
    why = "VMI uses a PCI host devices"
    made = complete(_sample(now, "lab", "renderer", 182, 2, hindrance=why))
    for spec in (made[0]["spec"]["template"]["spec"], _vmi(made)["spec"]):
        spec["domain"]["devices"]["hostDevices"] = [{"name": "gpu", "deviceName": "example.com/T4"}]
    wrong = "its device is no longer permitted: its next start will fail"
    return Case(made, [trouble(_vmi(made), wrong)])


def pending(now: datetime) -> Case:
    """It asks for metrics of its host too, which are allowed."""
    sample = _sample(now, "telecom", "dpi", 183, downward_metrics=True)
    vm = virtual_machine(sample)
    vm["spec"] |= {"runStrategy": "Always"}
    vm["spec"]["template"]["metadata"]["annotations"] = _SIDECARS
    vm["spec"]["template"]["spec"]["domain"]["devices"]["hostDevices"] = [
        {"name": "dpu", "deviceName": "example.com/DPU"}
    ]
    why = "failed to render launch manifest: HostDevice example.com/DPU is not permitted in permittedHostDevices "
    since = timestamp(now - timedelta(minutes=9))
    waits = objects.vmi(
        sample.namespace,
        sample.name,
        vm["spec"]["template"]["spec"],
        phase="Pending",
        conditions=[
            condition("Synchronized", False, since, reason="FailedCreate", message=f"{why}configuration"),
            condition(
                "Ready", False, since, reason="PodNotExists", message="virt-launcher pod has not yet been scheduled"
            ),
        ],
        uid=sample.uid("VirtualMachineInstance"),
        created=since,
        generation=1,
        annotations=_SIDECARS,
        owners=[sample.owner],
    )
    wrong = "waits for a device that isn't permitted"
    return Case([vm, disk(sample), waits], [trouble(waits, wrong)])


def start_refused(now: datetime) -> Case:
    sample = _sample(now, "billing", "token-agent", 184)
    vm = virtual_machine(sample)
    vm["spec"]["runStrategy"] = "Always"
    vm["spec"]["template"]["spec"]["domain"]["devices"]["autoattachVSOCK"] = True
    why = f"Failure while starting VMI: {_DENIED}VSOCK feature gate is not enabled in kubevirt-config"
    since = timestamp(now - timedelta(hours=3))
    vm["status"]["conditions"].append(condition("Failure", True, since, reason="FailedCreate", message=why))
    return Case([vm, disk(sample)], [trouble(vm, "can't start while feature gate VSOCK is off")])


def stopped(now: datetime) -> Case:
    """Of a manifest that KubeVirt would not take today."""
    sample = _sample(now, "lab", "rescue-cd", 185)
    vm = virtual_machine(sample)
    vm["spec"]["running"] = False
    volumes = vm["spec"]["template"]["spec"]["volumes"]
    volumes.append({"name": "iso", "hostDisk": {"path": "/var/lib/iso/tools.img", "type": "Disk"}})
    wrong = "needs feature gate HostDisk, and has both running and runStrategy"
    return Case([vm, disk(sample)], [trouble(vm, wrong)])


def edited_meanwhile(now: datetime) -> Case:
    made = complete(_sample(now, "windows-desktops", "signage", 186, 3))
    made[0]["spec"]["template"]["spec"]["domain"]["devices"]["autoattachVSOCK"] = True
    _vmi(made)["metadata"]["annotations"] |= _SIDECARS
    wrong = "was edited while running: its next start will be rejected"
    return Case(made, [trouble(made[0], wrong)])


_CASES: tuple[Callable[[datetime], Case], ...] = (
    not_editable,
    not_rendered,
    no_longer_permitted,
    pending,
    start_refused,
    stopped,
    edited_meanwhile,
)


def _vmi(made: list[Obj]) -> Obj:
    return next(each for each in made if each["kind"] == "VirtualMachineInstance")


def _sample(now: datetime, namespace: str, name: str, number: int, node: int | None = None, **more: Any) -> SampleVM:
    placed = "" if node is None else NODES[node]
    age = timedelta(days=number - 140)
    return SampleVM(namespace=namespace, name=name, now=now, node=placed, number=number, age=age, **more)
