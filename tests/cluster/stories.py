"""The faults that runbooks are for, written to a real API server, and what a runbook's mitigation does about each.

A machine `db` has an interface `blue` on definition `blue` of network `tenantblue`, and the claim `db.blue`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from exporter.model.ipam_claim import FINALIZER
from tests.cluster import fleet
from tests.cluster.client import Client
from tests.cluster.resources import DEPLOYMENTS, IPAM_CLAIMS, NAMESPACES, PODS, VMIS, VMS, Resource
from tests.manifests import Object

__all__ = ["STORIES", "Story"]

FOREIGN = "example.com/other"
NETWORKS = {"blue": "blue"}

# What the blocks that take effect have in them, by which stories name those that they run.
DELETE, RELEASE, STATUS, FILL = "kubectl delete --raw", '"op": "remove"', "--subresource=status", "kubectl create -f -"
TOUCH_POD, TOUCH_VM, TOUCH_VMI = "annotate pods", "annotate virtualmachines.", "annotate virtualmachineinstances."
PROTECT, LABEL, OWN, DISOWN = (
    '"/metadata/finalizers", "value"',
    "label ipamclaims",
    '"/metadata/ownerReferences"',
    "OLDUID",
)
MAKE, SAVE_VM, REPLACE = "kubectl create -f DEFINITION", "> MACHINE.yaml", "kubectl replace"
SELECT, SCALE, RESTART = "label namespaces", "kubectl scale", "rollout restart"
EXCHANGE = (DELETE, RELEASE)

Seed = Callable[["Stage"], Mapping[str, str] | None]


@dataclass(frozen=True)
class Stage:
    """Where a story plays."""

    client: Client
    namespace: str

    def vm(self, **networks: str) -> Object:
        return self.client.create(fleet.vm(self.namespace, "db", networks or NETWORKS))

    def definition(self, name: str = "blue", namespace: str = "", **config: Any) -> Object:
        return self.client.create(fleet.definition(namespace or self.namespace, name, **config))

    def claim(self, owner: Object, ip: str | None = "10.0.0.5/24", **meta: Any) -> Object:
        """The machine's claim, with other metadata; what is None is left out."""
        made = fleet.claim(owner, ip=ip)
        made["metadata"] = {key: value for key, value in {**made["metadata"], **meta}.items() if value is not None}
        return self.client.make(made)

    def running(self, owner: Object) -> Object:
        return self.client.make(fleet.instance(owner))

    def pod(
        self, claim: str = "db.blue", ip: str = "10.0.0.5/24", domain: str = "db", phase: str = "Running"
    ) -> Object:
        attached = {f"{self.namespace}/blue": claim}
        return self.client.make(fleet.launcher_pod(self.namespace, domain, attached, (ip,) if ip else (), phase))

    def delete_claim(self) -> None:
        self.client.delete(IPAM_CLAIMS, self.namespace, "db.blue")

    def stop(self) -> None:
        """As `virtctl stop` ends: no instance, no pod."""
        self.client.remove(VMIS, self.namespace, "db")
        self.client.remove(PODS, self.namespace, "virt-launcher-db")


@dataclass(frozen=True)
class Story:
    """One fault of an alert.

    `acts` are parts of the blocks that the mitigation consists of, in order; `stops` says that the machine is stopped
    before. The finding then is gone, but where `leaves` says what else has come about: what waits for a component that
    is not there can't end it. `files` are what the person writes, `edits` what they change in the saved machine.
    """

    alert: str
    reason: str
    seed: Seed
    acts: tuple[str, ...] = ()
    stops: bool = False
    leaves: Callable[[Stage, Mapping[str, str]], bool] | None = None
    files: Callable[[Stage], Mapping[str, Object]] = lambda _: {}
    edits: tuple[str, str] = ("", "")
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.alert}-{self.reason}"


def _touched(resource: Resource, name: str) -> Callable[[Stage, Mapping[str, str]], bool]:
    def touched(stage: Stage, _: Mapping[str, str]) -> bool:
        meta = stage.client.get(resource, stage.namespace, name)["metadata"]
        return "steward.kubevirt-steward.io/nudged-at" in meta["annotations"]

    return touched


def _nothing(_: Stage, __: Mapping[str, str]) -> bool:
    return True


# -- the machine and its claim


def _deleted(stage: Stage, **meta: Any) -> Object:
    """The machine is gone, and garbage collection has marked its claim."""
    stage.definition()
    owner = stage.vm()
    stage.claim(owner, **meta)
    stage.client.delete(VMS, stage.namespace, "db")
    stage.delete_claim()
    return owner


def _stuck(stage: Stage) -> None:
    _deleted(stage, finalizers=[FOREIGN, FINALIZER])


def _held(stage: Stage) -> None:
    _deleted(stage, finalizers=[FOREIGN])


def _orphan(stage: Stage) -> None:
    stage.definition()
    stage.claim(stage.vm())
    stage.client.delete(VMS, stage.namespace, "db")


def _ownerless(stage: Stage) -> Mapping[str, str]:
    stage.definition()
    owner = stage.vm()
    stage.claim(owner, ownerReferences=None, finalizers=None)
    return {"OWNERUID": owner["metadata"]["uid"]}


def _abandoned(stage: Stage) -> None:
    stage.definition()
    stage.claim(stage.vm(), ownerReferences=None)
    stage.client.delete(VMS, stage.namespace, "db")


def _deleted_by_hand(stage: Stage) -> None:
    stage.definition()
    owner = stage.vm()
    stage.claim(owner)
    stage.running(owner)
    stage.pod()
    stage.delete_claim()


def _blocked(stage: Stage) -> None:
    stage.definition()
    owner = stage.client.create(
        {
            **(made := fleet.vm(stage.namespace, "db", NETWORKS)),
            "metadata": {**made["metadata"], "finalizers": [FOREIGN]},
        }
    )
    stage.claim(owner)
    stage.client.delete(VMS, stage.namespace, "db")
    stage.delete_claim()


def _replaced(stage: Stage) -> Mapping[str, str]:
    _orphan(stage)
    new = stage.vm()
    claim = stage.client.get(IPAM_CLAIMS, stage.namespace, "db.blue")
    old = claim["metadata"]["ownerReferences"][0]["uid"]
    return {"OLDUID": old, "OWNERUID": new["metadata"]["uid"]}


def _replaced_and_dying(stage: Stage) -> Mapping[str, str]:
    values = _replaced(stage)
    stage.delete_claim()
    return values


def _duplicate(stage: Stage) -> Mapping[str, str]:
    stage.definition()
    stage.claim(stage.vm())
    other = stage.client.create(fleet.vm(stage.namespace, "web", NETWORKS))
    stage.client.make(fleet.claim(other))
    attached = {f"{stage.namespace}/blue": "web.blue"}
    stage.client.make(fleet.launcher_pod(stage.namespace, "web", attached, ("10.0.0.5/24",)))
    return {"OTHERNAMESPACE": stage.namespace, "OTHERPOD": "virt-launcher-web"}


# -- its addresses


def _outside(stage: Stage) -> Mapping[str, str]:
    stage.definition(subnets="10.9.0.0/16")
    owner = stage.vm()
    stage.claim(owner)
    stage.running(owner)
    stage.pod(ip="")
    return {}


def _excluded(stage: Stage) -> None:
    stage.definition(excludeSubnets="10.0.0.4/30")
    stage.claim(stage.vm(), "10.0.0.5/16")


def _other_prefix(stage: Stage) -> Mapping[str, str]:
    stage.definition()
    owner = stage.vm()
    stage.claim(owner)
    stage.running(owner)
    stage.pod(ip="10.0.0.5/16")
    return {"ADDRESSES": '"10.0.0.5/16"'}


def _one_family(stage: Stage) -> None:
    stage.definition(subnets="10.0.0.0/16,fd00::/64")
    stage.claim(stage.vm(), "10.0.0.5/16")


def _drift(stage: Stage) -> Mapping[str, str]:
    stage.definition()
    owner = stage.vm()
    stage.claim(owner)
    stage.running(owner)
    stage.pod(ip="10.0.0.6/24")
    return {"ADDRESSES": '"10.0.0.6/24"'}


# -- its network


def _mismatch(stage: Stage) -> None:
    stage.definition(network="tenantgreen")
    stage.client.create(fleet.definition(stage.namespace, "old"))
    stage.claim(stage.vm())


def _no_network(stage: Stage) -> None:
    stage.claim(stage.vm())


def _not_here(stage: Stage) -> None:
    other = f"{stage.namespace}-other"
    stage.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    stage.definition(namespace=other)
    stage.claim(stage.vm())


def _labelled(stage: Stage, _: Mapping[str, str]) -> bool:
    labels = stage.client.get(NAMESPACES, None, stage.namespace)["metadata"]["labels"]
    return bool(labels["example.com-network"] == "blue")


def _missing_definition(stage: Stage) -> Mapping[str, Object]:
    return {"DEFINITION.yaml": fleet.definition(stage.namespace, "blue")}


# -- its use


def _empty(stage: Stage) -> None:
    stage.definition()
    owner = stage.vm()
    stage.claim(owner, None)
    stage.running(owner)
    stage.pod()


def _not_referenced(stage: Stage) -> None:
    stage.definition()
    owner = stage.vm()
    stage.claim(owner)
    stage.running(owner)
    stage.pod("")


def _unprotected(stage: Stage) -> None:
    stage.definition()
    stage.claim(stage.vm(), finalizers=None)


def _unlabelled(stage: Stage) -> None:
    stage.definition()
    stage.claim(stage.vm(), labels={"kubevirt.io/vm": "another"})


# -- machines


def _no_claim(stage: Stage) -> Mapping[str, str]:
    stage.definition()
    owner = stage.vm()
    stage.running(owner)
    stage.pod()
    return {"OWNERUID": owner["metadata"]["uid"]}


def _no_claim_of_an_old_pod(stage: Stage) -> Mapping[str, str]:
    stage.definition()
    owner = stage.vm()
    stage.running(owner)
    return {"OWNERUID": owner["metadata"]["uid"]}


def _long_name(stage: Stage) -> Mapping[str, str]:
    name = "d" * 64
    stage.definition()
    stage.client.create(fleet.vm(stage.namespace, name, NETWORKS))
    return {"MACHINE": name, "NAME": f"{name}.blue"}


def _collision(stage: Stage) -> Mapping[str, str]:
    stage.definition()
    stage.definition("red", network="tenantred", subnets="10.1.0.0/16")
    stage.claim(stage.vm(blue="blue", Blue="red"))
    return {}


def _elsewhere(stage: Stage) -> Mapping[str, str]:
    other = f"{stage.namespace}-other"
    stage.client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}})
    stage.definition(namespace=other)
    stage.claim(stage.vm(blue=f"{other}/blue"))
    return {"DEFINITIONNAMESPACE": other, "DEFINITION": "blue"}


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


def _untrusted_webhook(stage: Stage) -> Mapping[str, str]:
    stage.client.create(fleet.webhook(stage.namespace))
    return _no_webhook(stage)


def _restarted(stage: Stage, values: Mapping[str, str]) -> bool:
    template = _deployment(stage, values["OPERATOR"])["spec"]["template"]
    return "kubectl.kubernetes.io/restartedAt" in template["metadata"]["annotations"]


STORIES = [
    Story("VMIPAMClaimStuckTerminating", "StuckTerminatingOwnerGone", _stuck, (RELEASE,)),
    Story("VMIPAMClaimForeignFinalizer", "StuckTerminatingForeignFinalizer", _held, leaves=_nothing),
    Story("VMIPAMClaimOrphaned", "OrphanClaim", _orphan, EXCHANGE),
    Story("VMIPAMClaimOwnerless", "OwnerlessClaim", _ownerless, (OWN, PROTECT, LABEL)),
    Story("VMIPAMClaimOwnerless", "OwnerlessClaim", _abandoned, EXCHANGE),
    Story("VMIPAMClaimDeletedByHand", "StuckTerminatingDeletedByHand", _deleted_by_hand, (RELEASE,), stops=True),
    Story(
        "VMIPAMClaimBlocksVMDeletion",
        "StuckTerminatingBlocksOwnerDeletion",
        _blocked,
        (TOUCH_VM,),
        leaves=_touched(VMS, "db"),
    ),
    Story("VMIPAMClaimBlocksVMDeletion", "StuckTerminatingBlocksOwnerDeletion", _blocked, (TOUCH_VM, RELEASE)),
    Story("VMIPAMClaimOwnerReplaced", "OwnerUidMismatch", _replaced, (DISOWN,)),
    Story("VMIPAMClaimOwnerReplaced", "OwnerUidMismatch", _replaced_and_dying, (RELEASE,)),
    Story("VMIPAMClaimDuplicateIP", "DuplicateIP", _duplicate, (*EXCHANGE, TOUCH_POD)),
    Story("VMIPAMClaimIPOutsidePool", "IpOutsidePool", _outside, EXCHANGE, stops=True),
    Story("VMIPAMClaimAddressUnfit", "IpExcluded", _excluded, EXCHANGE),
    Story("VMIPAMClaimAddressUnfit", "PrefixMismatch", _other_prefix, (STATUS,)),
    Story("VMIPAMClaimAddressUnfit", "FamilyIncomplete", _one_family, EXCHANGE),
    Story("VMIPAMClaimIPDrift", "IpDrift", _drift, (STATUS,)),
    Story("VMIPAMClaimNetworkMismatch", "NetworkMismatch", _mismatch, EXCHANGE),
    Story("VMIPAMClaimNetworkMissing", "NetworkMissing", _no_network, (MAKE,), files=_missing_definition),
    Story(
        "VMIPAMClaimNetworkMissing",
        "NetworkNotInNamespace",
        _not_here,
        (SELECT,),
        leaves=_labelled,
        files=_missing_definition,
        values={"LABEL": "example.com-network", "VALUE": "blue"},
    ),
    Story("VMIPAMClaimNetworkMissing", "NetworkNotInNamespace", _not_here, (MAKE,), files=_missing_definition),
    Story("VMIPAMClaimEmpty", "EmptyClaim", _empty, (TOUCH_POD,), leaves=_touched(PODS, "virt-launcher-db")),
    Story(
        "VMIPAMClaimNotReferenced",
        "NotReferenced",
        _not_referenced,
        (TOUCH_POD,),
        leaves=_touched(PODS, "virt-launcher-db"),
    ),
    Story("VMIPAMClaimUnprotected", "UnprotectedClaim", _unprotected, (PROTECT,)),
    Story("VMIPAMClaimUnprotected", "UnlabelledClaim", _unlabelled, (LABEL,)),
    Story("VMIPAMClaimMissing", "MissingClaim", _no_claim, (TOUCH_VMI, FILL, TOUCH_POD)),
    Story("VMIPAMClaimMissing", "MissingClaim", _no_claim_of_an_old_pod, (FILL,)),
    Story("VMIPAMClaimNameUnusable", "NameTooLong", _long_name, leaves=_nothing),
    Story(
        "VMIPAMClaimNameUnusable", "NameCollision", _collision, (SAVE_VM, REPLACE), edits=("name: Blue", "name: green")
    ),
    Story(
        "VMNetworkInAnotherNamespace",
        "CrossNamespaceNad",
        _elsewhere,
        (MAKE, SAVE_VM, REPLACE),
        files=lambda stage: {"blue.yaml": fleet.definition(stage.namespace, "blue")},
        edits=("-other/blue", "/blue"),
    ),
    Story("KubeVirtIPAMControllerDown", "ControllerNotReady", _controller_away, (SCALE,), leaves=_scaled),
    Story("VMNetworkControlPlaneDown", "ControlPlaneNotReady", _control_plane_away, (SCALE,), leaves=_scaled),
    Story("KubeVirtIPAMWebhookBroken", "WebhookMissing", _no_webhook, (RESTART,), leaves=_restarted),
    Story("KubeVirtIPAMWebhookBroken", "WebhookUntrusted", _untrusted_webhook, (RESTART,), leaves=_restarted),
]
