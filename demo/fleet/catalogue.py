"""The instancetypes and preferences that VMs of the sample fleet refer to."""

from datetime import datetime, timedelta

from ..apiserver.registry import timestamp
from ..apiserver.resources import Obj
from .instancetypes import kept
from .samples import uid

SIGNALLING = "signalling"
_CLUSTER = "VirtualMachineClusterInstancetype"
_OURS = {"instancetype.kubevirt.io/vendor": "kubevirt.io", "app.kubernetes.io/managed-by": "virt-operator"}


def offered(now: datetime) -> dict[str, Obj]:
    """By name."""
    born = timestamp(now - timedelta(days=190))
    sizes = {"u1.medium": (1, "4Gi"), "u1.large": (2, "8Gi"), "u1.xlarge": (4, "16Gi"), "o1.large": (2, "8Gi")}
    specs = {name: {"cpu": {"guest": cpus}, "memory": {"guest": memory}} for name, (cpus, memory) in sizes.items()}
    made = {name: kept(_CLUSTER, "", name, spec, **_meta(_CLUSTER, name, born)) for name, spec in specs.items()}
    kind, name = "VirtualMachineClusterPreference", "windows.11"
    wants = {
        "cpu": {"preferredCPUTopology": "sockets"},
        "devices": {"preferredDiskBus": "sata"},
        "requirements": {"cpu": {"guest": 2}, "memory": {"guest": "4Gi"}},
    }
    return {**made, name: kept(kind, "", name, wants, **_meta(kind, name, born)), SIGNALLING: signalling(born)}


def signalling(born: str, generation: str = "") -> Obj:
    """The instancetype of a namespace; `generation` tells one from the next that is created under its name."""
    kind = "VirtualMachineInstancetype"
    own = uid(kind, "telecom", SIGNALLING, generation)
    spec = {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}}
    return kept(kind, "telecom", SIGNALLING, spec, uid=own, created=born, generation=1)


def _meta(kind: str, name: str, born: str) -> Obj:
    return {"uid": uid(kind, "", name), "created": born, "generation": 1, "labels": _OURS}
