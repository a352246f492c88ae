"""The sample fleet's ground: namespaces, nodes, networks, KubeVirt itself."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_network
from typing import Any

from ..apiserver.registry import timestamp
from ..apiserver.resources import Obj
from . import surroundings as around
from .objects import FINALIZERS, condition, new, owner_of
from .trouble import Trouble

_UIDS = uuid.UUID("0b9f7b1e-2f53-4b7c-8d1c-5f3a9c1e7d20")
NODES = ("node01", "node02", "node03", "node04")


@dataclass(frozen=True, slots=True)
class SampleNetwork:
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


SHOP = SampleNetwork("shop", "blue", "shop-blue", "blue", ("192.168.10.0/24",), 1)
BILLING = SampleNetwork("billing", "ledger", "billing-ledger", "ledger", ("192.168.20.0/24",), 2)
LAB = SampleNetwork("lab", "bench", "lab-bench", "bench", ("192.168.30.0/24",), 3)
TELECOM = SampleNetwork("telecom", "signalling", "telecom-signalling", "sig", ("10.40.0.0/24", "fd40::/64"), 4)
LEGACY = SampleNetwork("legacy", "old", "legacy-old", "net1", ("192.168.90.0/24",), 5)
NETWORKS = (SHOP, BILLING, LAB, TELECOM, LEGACY)

NAMESPACES = ("default", "kubevirt", "shop", "billing", "lab", "telecom", "windows-desktops", "legacy")
PARTS = ("virt-operator", "virt-api", "virt-controller", "kubevirt-ipam-controller-manager", "ovnkube-control-plane")

GATES = ("DownwardMetrics", "HostDevices", "VSock")
MISSPELT = Trouble("KubeVirt", "kubevirt", "kubevirt", "lists unknown feature gate VSock: the gate is called VSOCK")


def addresses(network: SampleNetwork, host: int) -> tuple[str, ...]:
    """The same host of each subnet, with the subnet's prefix."""
    subnets = [ip_network(subnet) for subnet in network.subnets]
    return tuple(f"{subnet[host]}/{subnet.prefixlen}" for subnet in subnets)


def ground(now: datetime) -> list[Obj]:
    """Everything but the VMs."""
    born = timestamp(now - timedelta(days=200))
    webhook = "kubevirt-ipam-controller-mutating-webhook-configuration"
    return [
        *(namespace(name, born) for name in ("kube-system", *NAMESPACES)),
        *(node(name, born, timestamp(now - timedelta(days=12))) for name in NODES),
        *(nad(network, born) for network in NETWORKS),
        *user_defined(born),
        kubevirt(born),
        *(
            around.deployment("kubevirt", name, replicas=2, ready=2, **_meta("Deployment", "kubevirt", name, born))
            for name in PARTS
        ),
        around.endpoints(
            "kubevirt", "virt-api-x7k2p", "virt-api", ready=2, **_meta("EndpointSlice", "kubevirt", "virt-api", born)
        ),
        around.webhook(
            webhook, "ipam-claims.k8s.cni.cncf.io", "Q0E=", **_meta("MutatingWebhookConfiguration", "", webhook, born)
        ),
    ]


def namespace(name: str, born: str) -> Obj:
    meta = _meta("Namespace", "", name, born) | {"labels": {"kubernetes.io/metadata.name": name}}
    return new("Namespace", "", name, spec={"finalizers": ["kubernetes"]}, status={"phase": "Active"}, **meta)


def node(name: str, born: str, ready: str, cordoned: str | None = None) -> Obj:
    number = int(name[-2:])
    return around.node(
        name,
        room={"cpu": "64", "memory": "512Gi", "pods": "250", "devices.kubevirt.io/kvm": "1k"},
        cordoned=cordoned,
        since=ready,
        labels={"kubernetes.io/arch": "amd64", "kubevirt.io/schedulable": "true", "node-role.kubernetes.io/worker": ""},
        spec={"podCIDR": f"10.244.{number}.0/24"},
        status={
            "addresses": [{"type": "InternalIP", "address": f"10.0.0.{number}"}],
            "nodeInfo": {"architecture": "amd64", "kubeletVersion": "v1.33.2", "operatingSystem": "linux"},
        },
        **_meta("Node", "", name, born),
    )


def nad(network: SampleNetwork, born: str, **more: Any) -> Obj:
    return around.nad(
        network.namespace,
        network.nad,
        network.name,
        subnets=",".join(network.subnets),
        number=network.number,
        config={"role": "secondary", "mtu": 1400},
        generation=1,
        **_meta("NetworkAttachmentDefinition", network.namespace, network.nad, born),
        **more,
    )


def user_defined(born: str) -> list[Obj]:
    """A network that a namespace has for itself, one of the cluster's, and the NADs rendered of them."""
    own = SampleNetwork("lab", "scratch", "lab_scratch", "scratch", ("10.61.0.0/24",), 11)
    shared = SampleNetwork("shop", "partners", "cluster_udn_partners", "partners", ("10.60.0.0/20",), 12)
    shop = {"kubernetes.io/metadata.name": "shop"}
    udn = around.user_defined(
        own.namespace, own.nad, own.subnets, **_meta("UserDefinedNetwork", own.namespace, own.nad, born)
    )
    cudn = around.user_defined(
        "", shared.nad, shared.subnets, selects=shop, **_meta("ClusterUserDefinedNetwork", "", shared.nad, born)
    )
    rendered = [
        nad(
            network,
            born,
            labels={"k8s.ovn.org/user-defined-network": ""},
            finalizers=["k8s.ovn.org/user-defined-network-protection"],
            owners=[owner_of(by)],
        )
        for network, by in ((own, udn), (shared, cudn))
    ]
    return [udn, cudn, *rendered]


def kubevirt(born: str) -> Obj:
    states = {"Available": True, "Progressing": False, "Degraded": False, "Created": True}
    return around.kubevirt(
        "kubevirt",
        "kubevirt",
        "v1.7.0",
        configuration={
            "developerConfiguration": {"featureGates": list(GATES)},
            "evictionStrategy": "LiveMigrate",
            "permittedHostDevices": {
                "pciHostDevices": [{"pciVendorSelector": "10de:2236", "resourceName": "example.com/A10"}]
            },
        },
        spec={"workloadUpdateStrategy": {"workloadUpdateMethods": ["LiveMigrate"]}},
        status={
            "operatorVersion": "v1.7.0",
            "observedGeneration": 3,
            "defaultArchitecture": "amd64",
            "conditions": [condition(kind, holds, born) for kind, holds in states.items()],
        },
        generation=3,
        finalizers=FINALIZERS["KubeVirt"],
        **_meta("KubeVirt", "kubevirt", "kubevirt", born),
    )


def _meta(kind: str, namespace_: str, name: str, born: str) -> Obj:
    return {"uid": str(uuid.uuid5(_UIDS, f"{kind}/{namespace_}/{name}")), "created": born}
