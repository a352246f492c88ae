"""VMs that can't have an IPAMClaim, and a network stack that does not run."""

from __future__ import annotations

from collections.abc import Mapping

from tests.cluster import fleet
from tests.cluster.resources import DEPLOYMENTS
from tests.cluster.stage import NETWORKS, Stage, Story, nothing
from tests.cluster.stories import acts
from tests.manifests import Object

__all__ = ["STORIES"]


# -- VMs


def _no_claim(stage: Stage) -> None:
    stage.nad()
    owner = stage.vm()
    stage.running(owner)
    stage.pod()


def _no_claim_of_an_old_pod(stage: Stage) -> None:
    stage.nad()
    owner = stage.vm()
    stage.running(owner)


def _long_name(stage: Stage) -> None:
    name = "d" * 64
    stage.nad()
    stage.client.create(fleet.vm(stage.namespace, name, NETWORKS))


def _collision(stage: Stage) -> None:
    stage.nad()
    stage.nad("red", network=f"{stage.network}-red", subnets="10.1.0.0/16")
    stage.claim(stage.vm(blue="blue", Blue="red"))


def _elsewhere(stage: Stage) -> None:
    other = f"{stage.namespace}-other"
    stage.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    stage.nad(namespace=other)
    stage.claim(stage.vm(blue=f"{other}/blue"))


def _request(stage: Stage) -> None:
    stage.nad(role="primary")
    owner = stage.vm(blue="pod")
    vmi = fleet.vmi(owner)
    vmi["metadata"]["annotations"] = {"network.kubevirt.io/addresses": '{"blue":["10.0.0.9"]}'}
    stage.client.make(vmi)
    stage.claim(owner)


# -- the stack


def _controller_away(stage: Stage) -> Mapping[str, str]:
    name = "kubevirt-ipam-controller-manager"
    stage.client.make(fleet.deployment(stage.namespace, name, ready=0, replicas=0))
    return {"NAME": name}


def _control_plane_away(stage: Stage) -> Mapping[str, str]:
    stage.client.make(fleet.deployment(stage.namespace, "ovnkube-control-plane", ready=0, replicas=0))
    return {"NAME": "ovnkube-control-plane"}


def _scaled(stage: Stage, values: Mapping[str, str]) -> bool:
    return bool(_deployment(stage, values["NAME"])["spec"]["replicas"] == 2)


def _deployment(stage: Stage, name: str) -> Object:
    return stage.client.get(DEPLOYMENTS, stage.namespace, name)


def _no_webhook(stage: Stage) -> None:
    stage.client.make(fleet.deployment(stage.namespace, "kubevirt-ipam-controller-manager"))
    stage.client.make(fleet.deployment(stage.namespace, "cluster-network-addons-operator"))


def _not_installed(stage: Stage) -> None:
    for name in ("ovnkube-control-plane", "cluster-network-addons-operator"):
        stage.client.make(fleet.deployment(stage.namespace, name))
    stage.client.create(fleet.nad(stage.namespace, "blue", stage.network))


def _untrusted_webhook(stage: Stage) -> None:
    stage.client.create(fleet.webhook(stage.namespace))
    _no_webhook(stage)


def _restarted(stage: Stage, _: Mapping[str, str]) -> bool:
    template = _deployment(stage, "cluster-network-addons-operator")["spec"]["template"]
    return "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]


STORIES = [
    Story("VMPersistentIPBroken", "MissingClaim", _no_claim, (acts.TOUCH_VMI, acts.FILL, acts.TOUCH_POD)),
    Story("VMPersistentIPBroken", "MissingClaim", _no_claim_of_an_old_pod, (acts.FILL,)),
    Story("VMPersistentIPBroken", "NameTooLong", _long_name, leaves=nothing),
    Story(
        "VMPersistentIPBroken",
        "NameCollision",
        _collision,
        (acts.SAVE_VM, acts.REPLACE),
        edits=("name: Blue", "name: green"),
    ),
    Story(
        "VMPersistentIPBroken",
        "CrossNamespaceNad",
        _elsewhere,
        (acts.MAKE, acts.SAVE_VM, acts.REPLACE),
        files=lambda stage: {"NAD.yaml": fleet.nad(stage.namespace, "blue", stage.network)},
        edits=("-other/blue", "/blue"),
    ),
    Story("VMPersistentIPBroken", "StaticRequestConflict", _request, leaves=nothing),
    Story("KubeVirtIPAMControllerDown", "ControllerNotReady", _controller_away, (acts.SCALE,), leaves=_scaled),
    Story("VMNetworkControlPlaneDown", "ControlPlaneNotReady", _control_plane_away, (acts.SCALE,), leaves=_scaled),
    Story("KubeVirtIPAMWebhookBroken", "ControllerMissing", _not_installed, leaves=nothing),
    Story("KubeVirtIPAMWebhookBroken", "WebhookMissing", _no_webhook, (acts.RESTART,), leaves=_restarted),
    Story("KubeVirtIPAMWebhookBroken", "WebhookUntrusted", _untrusted_webhook, (acts.RESTART,), leaves=_restarted),
]
