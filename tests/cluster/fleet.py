"""VMs and claims as KubeVirt's controllers leave them, written to a real API server by the test."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from demo.fleet import objects, pods
from demo.fleet import surroundings as around
from exporter.store.kinds.components import CLAIM_WEBHOOK
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
    "vmi",
    "webhook",
]


def vm(namespace: str, name: str, networks: Mapping[str, str] | None = None, firmware: Object | None = None) -> Object:
    """A stopped VM; `networks` are the names of its interfaces, with the NADs that they refer to.

    Without a `firmware` it gets a UUID and a serial of its own, as KubeVirt gives each new VM.
    """
    own = {"uuid": str(uuid.uuid4()), "serial": str(uuid.uuid4())} if firmware is None else firmware
    return objects.vm(namespace, name, objects.vmi_spec(networks, domain={"firmware": own or None}))


def vmi(of: Object, phase: str = "Running") -> Object:
    """The VMI of a VM, on node01."""
    meta, spec = of["metadata"], of["spec"]["template"]["spec"]
    owners = [objects.owner_of(of)]
    return objects.vmi(meta["namespace"], meta["name"], spec, node="node01", phase=phase, owners=owners)


def launcher_pod(
    namespace: str, domain: str, attached: Mapping[str, str], addresses: tuple[str, ...] = (), phase: str = "Running"
) -> Object:
    """`attached` are the NADs it is on (`namespace/name`), with the claims that it refers to, or nothing."""
    held = dict.fromkeys(attached, addresses) if addresses else {}
    notes = pods.attached(attached.items(), held)
    return pods.launcher(namespace, f"virt-launcher-{domain}", domain, node="node01", phase=phase, annotations=notes)


def nad(namespace: str, name: str, network: str = "tenantblue", **config: Any) -> Object:
    """A NAD of a network that keeps addresses, with `config` over it."""
    return around.nad(namespace, name, network, config=config)


def user_defined_network(namespace: str, name: str, message: str) -> Object:
    """One that could not be brought about, with what OVN-Kubernetes says of that."""
    return around.user_defined(namespace, name, ["10.0.0.0/16"], message, since="2026-05-04T08:12:31Z")


def deployment(namespace: str, name: str, ready: int = 1, replicas: int = 1) -> Object:
    return around.deployment(namespace, name, replicas=replicas, ready=ready)


def webhook(name: str, ca: str = "") -> Object:
    """The claims' webhook."""
    return around.webhook(name, CLAIM_WEBHOOK, ca or None)


def claim(owner: Object, network: str = "tenantblue", ip: str | None = "10.0.0.5/24") -> Object:
    """The claim of a VM, with the finalizer, as ipam-extensions makes it."""
    meta = owner["metadata"]
    name, ips = meta["name"], [ip] if ip else []
    owners = [objects.owner_of(owner)]
    return pods.claim(meta["namespace"], f"{name}.blue", network, ips, vm=name, owners=owners)


def claimed_vm(client: Client, namespace: str, name: str, **of_claim: Any) -> Object:
    """A stopped VM with a claim; gives the VM."""
    made = client.create(vm(namespace, name, {"blue": "blue"}))
    client.make(claim(made, **of_claim))
    return made


def delete_vm(client: Client, namespace: str, name: str) -> None:
    """As while ipam-extensions is down: the VM is gone, the garbage collector has deleted the claim, which stays."""
    client.delete(VMS, namespace, name)
    client.delete(IPAM_CLAIMS, namespace, f"{name}.blue")


def release(client: Client, namespace: str, name: str) -> None:
    """Takes the finalizer off the VM's claim."""
    client.patch(IPAM_CLAIMS, namespace, f"{name}.blue", {"metadata": {"finalizers": None}})
