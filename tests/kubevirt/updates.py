"""What KubeVirt migrates running VMs for by itself: an update of its own, what was plugged, other volumes.

All of it is done by its workload updater, if the KubeVirt object lets it (`Settings.updates`).
"""

from __future__ import annotations

from tests.cluster.client import Client
from tests.cluster.resources import KUBEVIRTS, PODS, PVCS, VMS, Resource
from tests.kubevirt.installation import IMAGES, NAMESPACE
from tests.kubevirt.settings import KUBEVIRT
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

__all__ = [
    *("disk", "make_disk", "move_disk", "outdate", "outdated", "plug_cpus", "plug_memory", "remove_disks"),
    "wait_applied",
]

OUTDATED = "kubevirt.io/outdatedLauncherImage"
OLD_LAUNCHER = f"{IMAGES}/virt-launcher:v1.2.0"
PVS = Resource("", "v1", "persistentvolumes")


def outdate(stage: Stage, name: str) -> None:
    """As an update of KubeVirt leaves it: its launcher pod has an image that none would get now."""
    pod = stage.pod(name)
    containers = pod["spec"]["containers"]
    change = [each | {"image": OLD_LAUNCHER} if each["name"] == "compute" else each for each in containers]
    stage.client.patch(PODS, stage.namespace, pod["metadata"]["name"], {"spec": {"containers": change}})
    wait_until(lambda: outdated(stage, name), 30, f"KubeVirt knows that the launcher of {name} is old")
    # An update writes the KubeVirt object. Without that nothing looks for old launchers until some migration changes
    # (updateVmi and updateKubeVirt in pkg/virt-controller/watch/workload-updater).
    changed = {"metadata": {"annotations": {"updated": pod["metadata"]["uid"]}}}
    stage.client.patch(KUBEVIRTS, NAMESPACE, KUBEVIRT, changed)


def outdated(stage: Stage, name: str) -> bool:
    return OUTDATED in (stage.vmi(name) or {}).get("metadata", {}).get("labels", {})


def plug_cpus(stage: Stage, name: str, sockets: int) -> None:
    stage.client.patch(VMS, stage.namespace, name, _domain({"cpu": {"sockets": sockets}}))


def plug_memory(stage: Stage, name: str, guest: str) -> None:
    stage.client.patch(VMS, stage.namespace, name, _domain({"memory": {"guest": guest}}))


def _domain(change: Object) -> Object:
    return {"spec": {"template": {"spec": {"domain": change}}}}


def make_disk(stage: Stage, name: str) -> None:
    """A PVC that is bound, to a volume that every node has."""
    size = {"storage": "1Gi"}
    full = f"{stage.namespace}-{name}"
    claim = {"namespace": stage.namespace, "name": name}
    common = {"accessModes": ["ReadWriteMany"], "volumeMode": "Block", "storageClassName": ""}
    volume = {"hostPath": {"path": "/dev/null"}, "capacity": size, "claimRef": claim, **common}
    stage.client.create({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": full}, "spec": volume})
    spec = {"resources": {"requests": size}, "volumeName": full, **common}
    stage.client.create({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": claim, "spec": spec})

    def bound() -> bool:
        found: Object = stage.client.get(PVCS, stage.namespace, name)
        return bool(found.get("status", {}).get("phase") == "Bound")

    wait_until(bound, 60, f"PVC {name} is bound")


def remove_disks(client: Client, namespace: str) -> None:
    """The volumes of a namespace, which would outlast it."""
    for each in client.list(PVS)["items"]:
        if each["spec"]["claimRef"]["namespace"] == namespace:
            client.delete(PVS, None, each["metadata"]["name"])


def disk(claim: str) -> Object:
    """What a VM with this disk has in its template's spec, beside what else it has."""
    devices = {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}
    return {"domain": {"devices": devices, "memory": {"guest": "1Gi"}}, "volumes": [_volume(claim)]}


def _volume(claim: str) -> Object:
    return {"name": "root", "persistentVolumeClaim": {"claimName": claim}}


def move_disk(stage: Stage, name: str, claim: str) -> None:
    """To another PVC, while the VM runs."""
    spec = {"updateVolumesStrategy": "Migration", "template": {"spec": {"volumes": [_volume(claim)]}}}
    stage.client.patch(VMS, stage.namespace, name, {"spec": spec})


def wait_applied(stage: Stage, name: str, seconds: float = 90) -> None:
    """Until its guest has what was plugged, and runs from where its disk was moved to."""

    def applied() -> bool:
        vmi = stage.vmi(name)
        asked: Object = stage.client.get(VMS, stage.namespace, name)["spec"]["template"]["spec"]
        return vmi is not None and _has(vmi, asked)

    wait_until(applied, seconds, f"{name} has what was plugged into it")


def _has(vmi: Object, asked: Object) -> bool:
    domain, status = asked["domain"], vmi["status"]
    sockets = (domain.get("cpu") or {}).get("sockets")
    guest = (domain.get("memory") or {}).get("guest")
    return bool(
        (not sockets or status["currentCPUTopology"]["sockets"] == sockets)
        and (not guest or status["memory"]["guestCurrent"] == guest)
        and (_claims(asked) == _claims(vmi["spec"]) and not status.get("migratedVolumes"))
    )


def _claims(spec: Object) -> list[str]:
    volumes = spec.get("volumes") or ()
    return [each["persistentVolumeClaim"]["claimName"] for each in volumes if "persistentVolumeClaim" in each]
