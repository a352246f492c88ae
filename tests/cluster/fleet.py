"""VMs and claims as KubeVirt's controllers leave them, written to a real API server by the test."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from typing import Any

from exporter.model.kinds.ipam_claim import FINALIZER
from exporter.model.kinds.mutating_webhook_configuration import CLAIM_WEBHOOK
from tests.cluster.client import Client
from tests.cluster.resources import IPAM_CLAIMS, VMS
from tests.manifests import Object

__all__ = [
    "claim",
    "claimed_vm",
    "delete_vm",
    "deployment",
    "launcher_pod",
    "nad",
    "release",
    "user_defined_network",
    "vm",
    "vmi_of",
    "webhook",
]


def vm(namespace: str, name: str, networks: Mapping[str, str] | None = None, firmware: Object | None = None) -> Object:
    """A stopped VM; `networks` are the names of its interfaces, with the NADs that they refer to.

    Without a `firmware` it gets a UUID and a serial of its own, as KubeVirt gives each new VM.
    """
    template = _interfaces(networks or {})
    own = {"uuid": str(uuid.uuid4()), "serial": str(uuid.uuid4())} if firmware is None else firmware
    if own:
        template["domain"]["firmware"] = own
    spec = {"runStrategy": "Halted", "template": {"spec": template}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
    }


def _interfaces(networks: Mapping[str, str]) -> Object:
    if not networks:
        return {"domain": {"devices": {}}}
    return {
        "domain": {"devices": {"interfaces": [{"name": name, "bridge": {}} for name in networks]}},
        "networks": [{"name": name, "multus": {"networkName": key}} for name, key in networks.items()],
    }


def vmi_of(owner: Object, phase: str = "Running") -> Object:
    """The running VMI of a VM."""
    meta = owner["metadata"]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {
            "namespace": meta["namespace"],
            "name": meta["name"],
            "ownerReferences": [_reference(owner)],
        },
        "spec": owner["spec"]["template"]["spec"],
        "status": {"phase": phase, "nodeName": "node01"},
    }


def launcher_pod(
    namespace: str, domain: str, attached: Mapping[str, str], addresses: tuple[str, ...] = (), phase: str = "Running"
) -> Object:
    """`attached` are the NADs it is on (`namespace/name`), with the claims that it refers to, or nothing."""
    selections = [
        {"namespace": key.split("/")[0], "name": key.split("/")[1], **({"ipam-claim-reference": name} if name else {})}
        for key, name in attached.items()
    ]
    notes = {"kubevirt.io/domain": domain, "k8s.v1.cni.cncf.io/networks": json.dumps(selections)}
    if addresses:
        given = {key: {"ip_addresses": list(addresses)} for key in attached}
        notes["k8s.ovn.org/pod-networks"] = json.dumps(given, separators=(",", ":"))
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": namespace,
            "name": f"virt-launcher-{domain}",
            "labels": {"kubevirt.io": "virt-launcher"},
            "annotations": notes,
        },
        "spec": {"nodeName": "node01", "containers": [{"name": "compute", "image": "none"}]},
        "status": {"phase": phase},
    }


def nad(namespace: str, name: str, network: str = "tenantblue", **config: Any) -> Object:
    """A NAD of a network that keeps addresses, with `config` over it."""
    settings = {
        "cniVersion": "1.0.0",
        "name": network,
        "type": "ovn-k8s-cni-overlay",
        "topology": "layer2",
        "netAttachDefName": f"{namespace}/{name}",
        "subnets": "10.0.0.0/16",
        "allowPersistentIPs": True,
        **config,
    }
    return {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"config": json.dumps(settings, indent=2)},
    }


def user_defined_network(namespace: str, name: str, message: str) -> Object:
    """One that could not be brought about, with what OVN-Kubernetes says of that."""
    failed = {
        "type": "NetworkCreated",
        "status": "False",
        "reason": "SyncError",
        "message": message,
        "lastTransitionTime": "2026-05-04T08:12:31Z",
    }
    layer = {"role": "Secondary", "subnets": ["10.0.0.0/16"], "ipam": {"lifecycle": "Persistent"}}
    return {
        "apiVersion": "k8s.ovn.org/v1",
        "kind": "UserDefinedNetwork",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"topology": "Layer2", "layer2": layer},
        "status": {"conditions": [failed]},
    }


def deployment(namespace: str, name: str, ready: int = 1, replicas: int = 1) -> Object:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"namespace": namespace, "name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        "status": {"replicas": ready, "readyReplicas": ready, "availableReplicas": ready},
    }


def webhook(name: str, ca: str = "") -> Object:
    """The claims' webhook, which the API server never calls: no pod has this label."""
    config = {"url": "https://127.0.0.1:1/", **({"caBundle": ca} if ca else {})}
    hook = {
        "name": CLAIM_WEBHOOK,
        "clientConfig": config,
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        "objectSelector": {"matchLabels": {"example.com/nobody": "has-this"}},
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [hook],
    }


def _reference(owner: Object) -> Object:
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def claim(owner: Object, network: str = "tenantblue", ip: str | None = "10.0.0.5/24") -> Object:
    """The claim of a VM, with the finalizer, as ipam-extensions makes it."""
    meta = owner["metadata"]
    return {
        "apiVersion": "k8s.cni.cncf.io/v1alpha1",
        "kind": "IPAMClaim",
        "metadata": {
            "namespace": meta["namespace"],
            "name": f"{meta['name']}.blue",
            "labels": {"kubevirt.io/vm": meta["name"]},
            "finalizers": [FINALIZER],
            "ownerReferences": [_reference(owner)],
        },
        "spec": {"network": network, "interface": ""},
        "status": {"ips": [ip] if ip else []},
    }


def claimed_vm(client: Client, namespace: str, name: str, **of_claim: Any) -> Object:
    """A stopped VM with a claim; gives the VM."""
    made = client.create(vm(namespace, name, {"blue": "blue"}))
    client.make(claim(made, **of_claim))
    return made


def delete_vm(client: Client, namespace: str, name: str) -> None:
    """As it goes while ipam-extensions is away: the VM is gone, garbage collection has marked the claim."""
    client.delete(VMS, namespace, name)
    client.delete(IPAM_CLAIMS, namespace, f"{name}.blue")


def release(client: Client, namespace: str, name: str) -> None:
    """Takes the finalizer off the VM's claim."""
    client.patch(IPAM_CLAIMS, namespace, f"{name}.blue", {"metadata": {"finalizers": None}})
