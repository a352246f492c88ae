"""What OVN-Kubernetes and ipam-extensions write on pods, and what KubeVirt asks for there."""

from __future__ import annotations

import json
from hashlib import sha256

from tests.manifests import Object

__all__ = ["CLAIM_OF_PRIMARY", "SELECTED", "given", "referred", "selection", "selections"]

SELECTED, GIVEN = "k8s.v1.cni.cncf.io/networks", "k8s.ovn.org/pod-networks"
CLAIM_OF_PRIMARY = "k8s.ovn.org/primary-udn-ipamclaim"


def selections(pod: Object) -> list[Object]:
    """What the pod asks for: a NAD each."""
    found: list[Object] = json.loads(pod["metadata"].get("annotations", {}).get(SELECTED, "[]"))
    return found


def referred(pod: Object) -> list[str]:
    """The claims that the pod refers to."""
    names = [each.get("ipam-claim-reference") for each in selections(pod)]
    names.append(pod["metadata"].get("annotations", {}).get(CLAIM_OF_PRIMARY))
    return [name for name in names if name]


def given(pod: Object) -> dict[str, list[str]]:
    """The addresses that OVN-Kubernetes gave the pod, by NAD."""
    found = json.loads(pod["metadata"].get("annotations", {}).get(GIVEN, "{}"))
    return {key: list(each.get("ip_addresses") or ()) for key, each in found.items()}


def selection(namespace: str, network: Object) -> Object:
    """As KubeVirt asks for an interface."""
    own, _, name = network["multus"]["networkName"].rpartition("/")
    return {
        "namespace": own or namespace,
        "name": name,
        "interface": f"pod{sha256(network['name'].encode()).hexdigest()[:11]}",
    }
