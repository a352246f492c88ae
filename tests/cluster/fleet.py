"""Machines and claims as KubeVirt's controllers leave them, written to a real API server by the test."""

from __future__ import annotations

from typing import Any

from exporter.model.ipam_claim import FINALIZER
from tests.cluster.client import Client
from tests.cluster.resources import IPAM_CLAIMS, VMS
from tests.manifests import Object

__all__ = ["claim", "delete_machine", "machine", "release", "vm"]


def vm(namespace: str, name: str) -> Object:
    spec = {"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}}}}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
    }


def claim(owner: Object, network: str = "tenantblue", ip: str = "10.0.0.5/24") -> Object:
    """The claim of a machine, with the finalizer, as ipam-extensions makes it."""
    meta = owner["metadata"]
    reference = {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    return {
        "apiVersion": "k8s.cni.cncf.io/v1alpha1",
        "kind": "IPAMClaim",
        "metadata": {
            "namespace": meta["namespace"],
            "name": f"{meta['name']}.blue",
            "labels": {"kubevirt.io/vm": meta["name"]},
            "finalizers": [FINALIZER],
            "ownerReferences": [reference],
        },
        "spec": {"network": network, "interface": ""},
        "status": {"ips": [ip]},
    }


def machine(client: Client, namespace: str, name: str, **of_claim: Any) -> Object:
    """A stopped machine with a claim; gives the machine."""
    made = client.create(vm(namespace, name))
    client.make(claim(made, **of_claim))
    return made


def delete_machine(client: Client, namespace: str, name: str) -> None:
    """As it goes while ipam-extensions is away: the machine is gone, garbage collection has marked the claim."""
    client.delete(VMS, namespace, name)
    client.delete(IPAM_CLAIMS, namespace, f"{name}.blue")


def release(client: Client, namespace: str, name: str) -> None:
    """Takes the finalizer off the machine's claim."""
    client.patch(IPAM_CLAIMS, namespace, f"{name}.blue", {"metadata": {"finalizers": None}})
