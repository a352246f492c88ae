"""The sample fleet's ground: namespaces, nodes, networks, KubeVirt itself."""

import json
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_network

from ..fakeapi.registry import timestamp
from ..fakeapi.resources import Obj

_UIDS = uuid.UUID("0b9f7b1e-2f53-4b7c-8d1c-5f3a9c1e7d20")
NODES = ("node01", "node02", "node03", "node04")


@dataclass(frozen=True, slots=True)
class Network:
    """A layer-2 network of OVN-Kubernetes, whose VMs keep their addresses."""

    namespace: str
    nad: str
    name: str
    """Cluster-wide, and not the NAD's name."""
    logical: str
    """What VMs call it in their spec."""
    subnets: tuple[str, ...]
    number: int

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.nad}"


SHOP = Network("shop", "blue", "shop-blue", "blue", ("192.168.10.0/24",), 1)
BILLING = Network("billing", "ledger", "billing-ledger", "ledger", ("192.168.20.0/24",), 2)
LAB = Network("lab", "bench", "lab-bench", "bench", ("192.168.30.0/24",), 3)
TELECOM = Network("telecom", "signalling", "telecom-signalling", "sig", ("10.40.0.0/24", "fd40::/64"), 4)
LEGACY = Network("legacy", "old", "legacy-old", "net1", ("192.168.90.0/24",), 5)
NETWORKS = (SHOP, BILLING, LAB, TELECOM, LEGACY)

NAMESPACES = ("default", "kubevirt", "shop", "billing", "lab", "telecom", "windows-desktops", "legacy")


def addresses(network: Network, host: int) -> tuple[str, ...]:
    """The same host of each subnet, with the subnet's prefix."""
    subnets = [ip_network(subnet) for subnet in network.subnets]
    return tuple(f"{subnet[host]}/{subnet.prefixlen}" for subnet in subnets)


def ground(now: datetime) -> list[Obj]:
    """Everything but the VMs."""
    born = timestamp(now - timedelta(days=200))
    return [
        *(namespace(name, born) for name in NAMESPACES),
        *(node(name, born, timestamp(now - timedelta(days=12))) for name in NODES),
        *(attachment(network, born) for network in NETWORKS),
        *user_defined(born),
        kubevirt(born),
        *(deployment(name, born) for name in ("virt-operator", "virt-api", "virt-controller")),
        *(deployment(name, born) for name in ("kubevirt-ipam-controller-manager", "ovnkube-control-plane")),
        endpoints("virt-api", born),
        webhook("kubevirt-ipam-controller-mutating-webhook-configuration", born),
    ]


def webhook(name: str, born: str) -> Obj:
    """By which launcher pods come to refer to their claims."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": _meta("MutatingWebhookConfiguration", "", name, born),
        "webhooks": [{"name": "ipam-claims.k8s.cni.cncf.io", "clientConfig": {"caBundle": "Q0E="}}],
    }


def namespace(name: str, born: str) -> Obj:
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"labels": {"kubernetes.io/metadata.name": name}} | _meta("Namespace", "", name, born),
        "spec": {"finalizers": ["kubernetes"]},
        "status": {"phase": "Active"},
    }


def node(name: str, born: str, ready: str) -> Obj:
    capacity = {"cpu": "64", "memory": "512Gi", "pods": "250", "devices.kubevirt.io/kvm": "1k"}
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubevirt.io/schedulable": "true",
        "node-role.kubernetes.io/worker": "",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"labels": labels} | _meta("Node", "", name, born),
        "spec": {"podCIDR": f"10.244.{int(name[-2:])}.0/24"},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "addresses": [{"type": "InternalIP", "address": f"10.0.0.{int(name[-2:])}"}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "lastTransitionTime": ready}],
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.33.2", "operatingSystem": "linux"},
        },
    }


def attachment(network: Network, born: str) -> Obj:
    config = {
        "cniVersion": "1.0.0",
        "name": network.name,
        "type": "ovn-k8s-cni-overlay",
        "netAttachDefName": network.key,
        "topology": "layer2",
        "role": "secondary",
        "subnets": ",".join(network.subnets),
        "mtu": 1400,
        "allowPersistentIPs": True,
    }
    annotations = {"k8s.ovn.org/network-name": network.name, "k8s.ovn.org/network-id": str(network.number)}
    meta = _meta("NetworkAttachmentDefinition", network.namespace, network.nad, born)
    return {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"annotations": annotations, "generation": 1} | meta,
        "spec": {"config": json.dumps(config)},
    }


def user_defined(born: str) -> list[Obj]:
    """A network that a namespace defined for itself, one of the cluster's, and the NADs rendered of them."""
    own = Network("lab", "scratch", "lab_scratch", "scratch", ("10.61.0.0/24",), 11)
    shared = Network("shop", "partners", "cluster_udn_partners", "partners", ("10.60.0.0/20",), 12)
    conditions = [{"type": "NetworkCreated", "status": "True", "reason": "NetworkAttachmentDefinitionCreated"}]
    layer2 = {"role": "Secondary", "ipam": {"mode": "Enabled", "lifecycle": "Persistent"}}
    udn = {
        "apiVersion": "k8s.ovn.org/v1",
        "kind": "UserDefinedNetwork",
        "metadata": _meta("UserDefinedNetwork", own.namespace, own.nad, born),
        "spec": {"topology": "Layer2", "layer2": layer2 | {"subnets": list(own.subnets)}},
        "status": {"conditions": conditions},
    }
    network = {"topology": "Layer2", "layer2": layer2 | {"subnets": list(shared.subnets)}}
    cudn = {
        "apiVersion": "k8s.ovn.org/v1",
        "kind": "ClusterUserDefinedNetwork",
        "metadata": _meta("ClusterUserDefinedNetwork", "", shared.nad, born),
        "spec": {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}, "network": network},
        "status": {"conditions": conditions},
    }
    return [udn, cudn, *(_rendered(attachment(each, born), by) for each, by in ((own, udn), (shared, cudn)))]


def _rendered(nad: Obj, by: Obj) -> Obj:
    owner = {"apiVersion": by["apiVersion"], "kind": by["kind"], "name": by["metadata"]["name"]}
    marks = {
        "labels": {"k8s.ovn.org/user-defined-network": ""},
        "finalizers": ["k8s.ovn.org/user-defined-network-protection"],
        "ownerReferences": [owner | {"uid": by["metadata"]["uid"], "controller": True, "blockOwnerDeletion": True}],
    }
    return nad | {"metadata": nad["metadata"] | marks}


def kubevirt(born: str) -> Obj:
    conditions = [("Available", "True"), ("Progressing", "False"), ("Degraded", "False"), ("Created", "True")]
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"generation": 3, "finalizers": ["kubevirt.io/foregroundDeleteKubeVirt"]}
        | _meta("KubeVirt", "kubevirt", "kubevirt", born),
        "spec": {
            "configuration": {
                "developerConfiguration": {"featureGates": ["DownwardMetrics"]},
                "evictionStrategy": "LiveMigrate",
            },
            "workloadUpdateStrategy": {"workloadUpdateMethods": ["LiveMigrate"]},
        },
        "status": {
            "phase": "Deployed",
            "operatorVersion": "v1.7.0",
            "targetKubeVirtVersion": "v1.7.0",
            "observedKubeVirtVersion": "v1.7.0",
            "observedGeneration": 3,
            "defaultArchitecture": "amd64",
            "conditions": [{"type": kind, "status": status, "lastTransitionTime": born} for kind, status in conditions],
        },
    }


def endpoints(service: str, born: str) -> Obj:
    """Two that are ready, on the first two nodes."""
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"labels": {"kubernetes.io/service-name": service}}
        | _meta("EndpointSlice", "kubevirt", f"{service}-x7k2p", born),
        "addressType": "IPv4",
        "endpoints": [{"addresses": [f"10.244.{i}.5"], "conditions": {"ready": True}} for i in (1, 2)],
        "ports": [{"port": 8443, "protocol": "TCP"}],
    }


def deployment(name: str, born: str) -> Obj:
    counts = {"replicas": 2, "readyReplicas": 2, "availableReplicas": 2, "updatedReplicas": 2}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"labels": {"kubevirt.io": name}, "generation": 1} | _meta("Deployment", "kubevirt", name, born),
        "spec": {"replicas": 2, "selector": {"matchLabels": {"kubevirt.io": name}}},
        "status": counts | {"observedGeneration": 1},
    }


def _meta(kind: str, namespace_: str, name: str, born: str) -> Obj:
    uid = str(uuid.uuid5(_UIDS, f"{kind}/{namespace_}/{name}"))
    meta: Obj = {"name": name, "uid": uid, "creationTimestamp": born}
    return meta | ({"namespace": namespace_} if namespace_ else {})
