"""What the kubelet of its node says of a pod: that it pulls an image, that it runs, that it has completed."""

from __future__ import annotations

import hashlib

from tests.kubevirt.orders import condition, now
from tests.manifests import Object

__all__ = ["completed", "pulling", "running"]

CONDITIONS = ("PodScheduled", "Initialized", "ContainersReady", "Ready")


def pulling(pod: Object, container: str) -> Object:
    """The status, while there is no image for a container."""
    image = next(each["image"] for each in pod["spec"]["containers"] if each["name"] == container)
    waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{image}"'}
    row = _container({"name": container, "image": image}) | {"ready": False, "state": {"waiting": waiting}}
    return {"containerStatuses": [row | {"imageID": "", "containerID": None}]}


def running(pod: Object, address: str, *, ready: bool = True) -> Object:
    """The status; not `ready`, only container compute is."""
    spec = pod["spec"]
    init = [_container(each, ended=each.get("restartPolicy") != "Always") for each in spec.get("initContainers", ())]
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "hostIP": "10.0.0.1",
        "startTime": now(),
        "conditions": [condition(each, "True" if ready or "Ready" not in each else "False") for each in CONDITIONS],
        "initContainerStatuses": init,
        "containerStatuses": [
            _container(each) | {"ready": ready or each["name"] == "compute"} for each in spec["containers"]
        ],
    }


def completed(pod: Object, phase: str = "Succeeded") -> Object:
    """The status at the end."""
    rows = [condition(each, "False" if "Ready" in each else "True") for each in CONDITIONS]
    ended = {
        f"{each}Statuses": [_container(one, ended=True) for one in pod["spec"].get(f"{each}s", ())]
        for each in ("initContainer", "container")
    }
    return {"phase": phase, "conditions": rows, **ended}


def _container(container: Object, *, ended: bool = False) -> Object:
    image = container["image"].partition("@")[0]
    digest = hashlib.sha256(image.encode()).hexdigest()
    state = {"terminated": {"exitCode": 0, "reason": "Completed"}} if ended else {"running": {"startedAt": now()}}
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": f"{image.rpartition(':')[0]}@sha256:{digest}",
        "containerID": f"none://{digest}",
        "ready": not ended,
        "started": not ended,
        "restartCount": 0,
        "state": state,
    }
