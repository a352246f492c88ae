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


def _no_claim(stage: Stage) -> Mapping[str, str]:
    stage.nad()
    owner = stage.vm()
    stage.running(owner)
    stage.pod()
    return {"OWNERUID": owner["metadata"]["uid"], "CLAIM": "db.blue"}


def _no_claim_of_an_old_pod(stage: Stage) -> Mapping[str, str]:
    stage.nad()
    owner = stage.vm()
    stage.running(owner)
    return {"OWNERUID": owner["metadata"]["uid"], "CLAIM": "db.blue"}


def _long_name(stage: Stage) -> Mapping[str, str]:
    name = "d" * 64
    stage.nad()
    stage.client.create(fleet.vm(stage.namespace, name, NETWORKS))
    return {"VMNAME": name, "CLAIM": f"{name}.blue"}


def _collision(stage: Stage) -> Mapping[str, str]:
    stage.nad()
    stage.nad("red", network=f"{stage.network}-red", subnets="10.1.0.0/16")
    stage.claim(stage.vm(blue="blue", Blue="red"))
    return {"CLAIM": "db.blue"}


def _elsewhere(stage: Stage) -> Mapping[str, str]:
    other = f"{stage.namespace}-other"
    stage.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    stage.nad(namespace=other)
    stage.claim(stage.vm(blue=f"{other}/blue"))
    return {"NADNAMESPACE": other, "NADNAME": "blue"}


def _request(stage: Stage) -> Mapping[str, str]:
    stage.nad(role="primary")
    owner = stage.vm(blue="pod")
    vmi = fleet.vmi(owner)
    vmi["metadata"]["annotations"] = {"network.kubevirt.io/addresses": '{"blue":["10.0.0.9"]}'}
    stage.client.make(vmi)
    stage.claim(owner)
    return {"CLAIM": "db.blue"}


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


def _no_webhook(stage: Stage) -> Mapping[str, str]:
    stage.client.make(fleet.deployment(stage.namespace, "kubevirt-ipam-controller-manager"))
    stage.client.make(fleet.deployment(stage.namespace, "cluster-network-addons-operator"))
    return {"OPERATORNAMESPACE": stage.namespace, "OPERATOR": "cluster-network-addons-operator"}


def _not_installed(stage: Stage) -> Mapping[str, str]:
    for name in ("ovnkube-control-plane", "cluster-network-addons-operator"):
        stage.client.make(fleet.deployment(stage.namespace, name))
    stage.client.create(fleet.nad(stage.namespace, "blue", stage.network))
    return {"OPERATORNAMESPACE": stage.namespace, "OPERATOR": "cluster-network-addons-operator"}


def _untrusted_webhook(stage: Stage) -> Mapping[str, str]:
    stage.client.create(fleet.webhook(stage.namespace))
    return _no_webhook(stage)


def _restarted(stage: Stage, values: Mapping[str, str]) -> bool:
    template = _deployment(stage, values["OPERATOR"])["spec"]["template"]
    return "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]


STORIES = [
    Story("VMIPAMClaimMissing", "MissingClaim", _no_claim, (acts.TOUCH_VMI, acts.FILL, acts.TOUCH_POD)),
    Story("VMIPAMClaimMissing", "MissingClaim", _no_claim_of_an_old_pod, (acts.FILL,)),
    Story("VMIPAMClaimNameUnusable", "NameTooLong", _long_name, leaves=nothing),
    Story(
        "VMIPAMClaimNameUnusable",
        "NameCollision",
        _collision,
        (acts.SAVE_VM, acts.REPLACE),
        edits=("name: Blue", "name: green"),
    ),
    Story(
        "VMNetworkInAnotherNamespace",
        "CrossNamespaceNad",
        _elsewhere,
        (acts.MAKE, acts.SAVE_VM, acts.REPLACE),
        files=lambda stage: {"NAD.yaml": fleet.nad(stage.namespace, "blue", stage.network)},
        edits=("-other/blue", "/blue"),
    ),
    Story("VMIPAMClaimRequestConflict", "StaticRequestConflict", _request, leaves=nothing),
    Story("KubeVirtIPAMControllerDown", "ControllerNotReady", _controller_away, (acts.SCALE,), leaves=_scaled),
    Story("VMNetworkControlPlaneDown", "ControlPlaneNotReady", _control_plane_away, (acts.SCALE,), leaves=_scaled),
    Story("KubeVirtIPAMWebhookBroken", "ControllerMissing", _not_installed, leaves=nothing),
    Story("KubeVirtIPAMWebhookBroken", "WebhookMissing", _no_webhook, (acts.RESTART,), leaves=_restarted),
    Story("KubeVirtIPAMWebhookBroken", "WebhookUntrusted", _untrusted_webhook, (acts.RESTART,), leaves=_restarted),
]
