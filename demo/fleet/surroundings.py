"""What VMs run on, one builder per kind: nodes, PDBs, networks, and the parts of KubeVirt. See objects.py."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ..apiserver.resources import Obj
from .objects import condition, filled, new

CORDONED = "node.kubernetes.io/unschedulable"


def node(
    name: str,
    *,
    room: Mapping[str, str],
    cordoned: bool | str | None = None,
    taints: Iterable[str] = (),
    ready: bool = True,
    since: str | None = None,
    labels: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **meta: Any,
) -> Obj:
    """A node; `taints` are texts such as `kubevirt.io/drain:NoSchedule`, `cordoned` may be the time since when."""
    tainted: list[Obj] = []
    for text in taints:
        key, _, effect = text.partition(":")
        if effect not in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
            raise ValueError(f"no taint: {text}")
        tainted.append({"key": key, "effect": effect})
    if cordoned:
        added = cordoned if isinstance(cordoned, str) else None
        tainted.append(filled(key=CORDONED, effect="NoSchedule", timeAdded=added))
    return new(
        "Node",
        "",
        name,
        labels={"kubernetes.io/hostname": name} | dict(labels or {}),
        spec=filled(unschedulable=True if cordoned else None, taints=tainted or None, **(spec or {})),
        status={
            "capacity": dict(room),
            "allocatable": dict(room),
            "conditions": [condition("Ready", ready, since, reason="KubeletReady" if ready else "KubeletNotReady")],
        }
        | dict(status or {}),
        **meta,
    )


def pdb(
    namespace: str,
    name: str,
    selector: Obj | None,
    *,
    min_available: int | str | None = None,
    max_unavailable: int | str | None = None,
    allowed: int = 0,
    healthy: int = 1,
    desired: int = 1,
    expected: int = 1,
    refused: str | None = None,
    since: str | None = None,
    observed: int = 1,
    generation: int = 1,
    unhealthy: str | None = None,
    **meta: Any,
) -> Obj:
    """A PDB as its controller leaves it: `allowed` evictions, or none, by the reason `refused`."""
    if min_available is not None and max_unavailable is not None:
        raise ValueError(f"PDB {name} has minAvailable and maxUnavailable")
    if refused and allowed:
        raise ValueError(f"PDB {name} allows {allowed} evictions, and none: {refused}")
    if allowed > max(healthy - desired, 0):
        raise ValueError(f"PDB {name} allows {allowed} evictions, with {healthy} healthy pods of {desired} to keep")
    if observed > generation:
        raise ValueError(f"PDB {name} was observed at generation {observed}, and has {generation}")
    conditions = [condition("DisruptionAllowed", False, since, reason=refused)] if refused else None
    return new(
        "PodDisruptionBudget",
        namespace,
        name,
        generation=generation,
        spec=filled(
            selector=selector,
            minAvailable=min_available,
            maxUnavailable=max_unavailable,
            unhealthyPodEvictionPolicy=unhealthy,
        ),
        status=filled(
            observedGeneration=observed,
            disruptionsAllowed=allowed,
            currentHealthy=healthy,
            desiredHealthy=desired,
            expectedPods=expected,
            conditions=conditions,
        ),
        **meta,
    )


def nad(
    namespace: str,
    name: str,
    network: str,
    *,
    subnets: str = "10.0.0.0/16",
    persistent: bool = True,
    number: int | None = None,
    config: Mapping[str, Any] | str | None = None,
    **meta: Any,
) -> Obj:
    """The NAD of a layer-2 network of OVN-Kubernetes, which accepts it by giving it a `number`.

    `config` goes over what its config would be; text is taken as it is.
    """
    settings = {
        "cniVersion": "1.0.0",
        "name": network,
        "type": "ovn-k8s-cni-overlay",
        "topology": "layer2",
        "netAttachDefName": f"{namespace}/{name}",
        "subnets": subnets,
        "allowPersistentIPs": persistent,
    }
    text = config if isinstance(config, str) else json.dumps(settings | dict(config or {}), indent=2)
    accepted = {} if number is None else {"k8s.ovn.org/network-name": network, "k8s.ovn.org/network-id": str(number)}
    return new("NetworkAttachmentDefinition", namespace, name, annotations=accepted, spec={"config": text}, **meta)


def user_defined(
    namespace: str,
    name: str,
    subnets: Iterable[str],
    failed: str | None = None,
    *,
    selects: Mapping[str, str] | None = None,
    since: str | None = None,
    **meta: Any,
) -> Obj:
    """A UDN, or without a namespace a CUDN, which `selects` namespaces.

    `failed` is what OVN-Kubernetes says of one that it could not make.
    """
    network = {
        "topology": "Layer2",
        "layer2": {
            "role": "Secondary",
            "subnets": list(subnets),
            "ipam": {"mode": "Enabled", "lifecycle": "Persistent"},
        },
    }
    why = {"reason": "SyncError", "message": failed} if failed else {"reason": "NetworkAttachmentDefinitionCreated"}
    status = {"conditions": [condition("NetworkCreated", not failed, since or meta.get("created"), **why)]}
    if namespace:
        return new("UserDefinedNetwork", namespace, name, spec=network, status=status, **meta)
    spec = {"namespaceSelector": {"matchLabels": dict(selects)} if selects else {}, "network": network}
    return new("ClusterUserDefinedNetwork", "", name, spec=spec, status=status, **meta)


def kubevirt(
    namespace: str,
    name: str,
    version: str,
    *,
    target: str | None = None,
    configuration: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **meta: Any,
) -> Obj:
    """KubeVirt at a version, on its way to `target` if that is another."""
    return new(
        "KubeVirt",
        namespace,
        name,
        spec={"configuration": filled(**(configuration or {}))} | dict(spec or {}),
        status={"phase": "Deployed", "observedKubeVirtVersion": version, "targetKubeVirtVersion": target or version}
        | dict(status or {}),
        **meta,
    )


def deployment(namespace: str, name: str, *, replicas: int = 1, ready: int = 1, **meta: Any) -> Obj:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
    return new(
        "Deployment",
        namespace,
        name,
        spec={"replicas": replicas, "selector": {"matchLabels": labels}, "template": template},
        status={"replicas": replicas, "readyReplicas": ready, "availableReplicas": ready},
        **meta,
    )


def endpoints(namespace: str, name: str, service: str, *, ready: int = 1, unready: int = 0, **meta: Any) -> Obj:
    """An EndpointSlice of a service, with so many endpoints."""
    states = [True] * ready + [False] * unready
    return new(
        "EndpointSlice",
        namespace,
        name,
        labels={"kubernetes.io/service-name": service},
        addressType="IPv4",
        endpoints=[{"addresses": [f"10.244.{i}.5"], "conditions": {"ready": is_}} for i, is_ in enumerate(states, 1)],
        ports=[{"port": 8443, "protocol": "TCP"}],
        **meta,
    )


def webhook(name: str, hook: str, ca: str | None = None, **meta: Any) -> Obj:
    """A webhook for pods that the API server never calls: no pod has the label."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    called = {
        "name": hook,
        "clientConfig": filled(url="https://127.0.0.1:1/", caBundle=ca),
        "rules": rules,
        "objectSelector": {"matchLabels": {"example.com/nobody": "has-this"}},
        "failurePolicy": "Ignore",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return new("MutatingWebhookConfiguration", "", name, webhooks=[called], **meta)
