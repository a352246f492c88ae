"""Pods with what Multus and OVN-Kubernetes write on them, and the IPAMClaims they refer to. See objects.py."""

import json
from collections.abc import Collection, Iterable, Mapping
from ipaddress import ip_interface
from typing import Any

from ..apiserver.resources import Obj
from .objects import IPAM_FINALIZER, condition, filled, new


def pod(
    namespace: str,
    name: str,
    *,
    node: str | None = None,
    phase: str = "Running",
    ready: bool = True,
    unschedulable: str | None = None,
    since: str | None = None,
    image: str = "none",
    requests: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **meta: Any,
) -> Obj:
    """Any pod; `unschedulable` is what the scheduler says of one that it finds no node for."""
    if phase == "Running" and not node:
        raise ValueError(f"pod {name} runs on no node")
    if unschedulable and node:
        raise ValueError(f"pod {name} can't be scheduled, and is on {node}")
    container = filled(name="compute", image=image, resources={"requests": dict(requests)} if requests else None)
    conditions = [condition("PodScheduled", not unschedulable, since, **_refused(unschedulable))]
    conditions.append(condition("Ready", ready and phase == "Running", since))
    return new(
        "Pod",
        namespace,
        name,
        spec=filled(nodeName=node or None, containers=[container]) | filled(**(spec or {})),
        status=filled(phase=phase, conditions=conditions) | filled(**(status or {})),
        **meta,
    )


def _refused(why: str | None) -> Obj:
    return {"reason": "Unschedulable", "message": why} if why else {}


def launcher(
    namespace: str,
    name: str,
    domain: str,
    *,
    vmi_uid: str | None = None,
    migration_uid: str | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **more: Any,
) -> Obj:
    """A pod that a VMI runs in, or is to come to by a migration."""
    marks = {
        "kubevirt.io": "virt-launcher",
        "kubevirt.io/created-by": vmi_uid,
        "kubevirt.io/migrationJobUID": migration_uid,
    }
    notes = {"kubevirt.io/domain": domain} | dict(annotations or {})
    return pod(namespace, name, labels=filled(**marks) | dict(labels or {}), annotations=notes, **more)


def attached(
    networks: Iterable[tuple[str, str | None]] = (), held: Mapping[str, Iterable[str]] | None = None, own: str = ""
) -> dict[str, str]:
    """A pod's annotations: the NADs it asks for (`namespace/name`) with the claims it refers to, and what it holds.

    `held` are the addresses by NAD, as OVN-Kubernetes gave them; `own` is the one on the pod network.
    """
    selections = []
    for key, reference in networks:
        namespace, name = key.split("/")
        selections.append({"name": name, "namespace": namespace} | _referring(reference))
    given = {"default": _given([own], "primary")} if own else {}
    given |= {key: _given(ips, "secondary") for key, ips in (held or {}).items()}
    notes = {"k8s.v1.cni.cncf.io/networks": selections, "k8s.ovn.org/pod-networks": given}
    return {key: json.dumps(value, separators=(",", ":")) for key, value in notes.items() if value}


def _referring(claim: str | None) -> Obj:
    return {"ipam-claim-reference": claim} if claim else {}


def _given(addresses: Iterable[str], role: str) -> Obj:
    ips = list(addresses)
    single = ips[0] if len(ips) == 1 else None
    return filled(ip_addresses=ips, ip_address=single, mac_address=mac(ips[0]) if ips else None, role=role)


def mac(address: str) -> str:
    """As OVN-Kubernetes makes it: from the first address."""
    return "0a:58:" + ip_interface(address).packed[:4].hex(":")


def claim(
    namespace: str,
    name: str,
    network: str,
    ips: Collection[str] | None = None,
    *,
    vm: str | None = None,
    conditions: Iterable[Obj] = (),
    finalizers: Iterable[str] = (IPAM_FINALIZER,),
    status: Mapping[str, Any] | None = None,
    **meta: Any,
) -> Obj:
    """An IPAMClaim; `network` is the name in the NAD's config, `vm` goes into its label."""
    return new(
        "IPAMClaim",
        namespace,
        name,
        labels={"kubevirt.io/vm": vm} if vm is not None else None,
        finalizers=finalizers,
        spec={"network": network, "interface": ""},
        status=filled(ips=None if ips is None else list(ips), conditions=list(conditions) or None, **(status or {})),
        **meta,
    )
