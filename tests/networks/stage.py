"""A namespace of VMs on networks with persistent IPs: what KubeVirt writes of them is written here, and nothing else.

A VM that is started gets its VMI and its launcher pod; the pod runs once OVN-Kubernetes has given it an address on each
of its networks, as a kubelet would have it. Claims, references, addresses and their end are the controllers' own.

A network is the cluster's, so each stage has one of its own name.
"""

from __future__ import annotations

import contextlib
import json
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from exporter.demo import objects, pods
from tests.cluster import fleet
from tests.cluster.client import ApiError, Client
from tests.cluster.resources import (
    CUDNS,
    EVENTS,
    IPAM_CLAIMS,
    NADS,
    NAMESPACES,
    PODS,
    UDNS,
    VMIS,
    VMS,
    Resource,
)
from tests.manifests import Object
from tests.networks.control_plane import NODES, ControlPlane
from tests.waiting import wait_until

__all__ = ["FINALIZER", "GIVEN", "Stage", "given"]

FINALIZER = objects.IPAM_FINALIZER
SELECTED, GIVEN = "k8s.v1.cni.cncf.io/networks", "k8s.ovn.org/pod-networks"
CLAIM_OF_PRIMARY = "k8s.ovn.org/primary-udn-ipamclaim"
ACCEPTED = "k8s.ovn.org/network-id"
PATIENCE = 40.0  # seconds: OVN-Kubernetes tries again after 30


class Stage:
    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.namespace = plane, namespace
        self.client: Client = plane.admin
        self.primary = "main"  # the NAD of a primary network, where there is one

    @property
    def network(self) -> str:
        return f"net-{self.namespace}"

    # Networks

    def nad(self, name: str = "blue", network: str = "", *, accepted: bool = True, **config: Any) -> Object:
        """A NAD of a layer-2 network that keeps addresses, with `config` over it; what is None is left out.

        Returns when OVN-Kubernetes has accepted it, unless that is not to be waited for.
        """
        made = fleet.nad(self.namespace, name, network or self.network)
        settings = {**json.loads(made["spec"]["config"]), **config}
        made["spec"]["config"] = json.dumps({key: value for key, value in settings.items() if value is not None})
        self.client.create(made)
        if accepted:
            wait_until(lambda: self.accepted(name), PATIENCE, f"NAD {name} is accepted")
        return made

    def nad_of_text(self, name: str, text: str) -> None:
        """One whose configuration is this text."""
        made = fleet.nad(self.namespace, name, self.network)
        self.client.create({**made, "spec": {"config": text}})

    def accepted(self, name: str) -> bool:
        return ACCEPTED in (self.client.get(NADS, self.namespace, name)["metadata"].get("annotations") or {})

    def configure(self, name: str, **config: Any) -> None:
        """Writes other settings into a NAD, as a person does; what is None is taken out."""
        settings = json.loads(self.client.get(NADS, self.namespace, name)["spec"]["config"]) | config
        text = json.dumps({key: value for key, value in settings.items() if value is not None})
        self.client.patch(NADS, self.namespace, name, {"spec": {"config": text}})

    def udn(self, name: str, subnets: list[str], *, role: str = "Secondary", rendered: bool = True) -> None:
        """A layer-2 UDN that keeps addresses; returns when its NAD is accepted, unless it is not to be rendered."""
        kind = {"apiVersion": UDNS.api_version, "kind": "UserDefinedNetwork"}
        meta = {"namespace": self.namespace, "name": name}
        self.client.create({**kind, "metadata": meta, "spec": _layer2(subnets, role)})
        if rendered:
            self._wait_rendered(name)

    def cudn(self, name: str, labels: Mapping[str, str], subnets: list[str], *, role: str = "Secondary") -> None:
        """The same for all namespaces with these labels."""
        kind = {"apiVersion": CUDNS.api_version, "kind": "ClusterUserDefinedNetwork"}
        spec = {"namespaceSelector": {"matchLabels": dict(labels)}, "network": _layer2(subnets, role)}
        self.client.create({**kind, "metadata": {"name": name}, "spec": spec})
        self._wait_rendered(name)

    def _wait_rendered(self, name: str) -> None:
        def there() -> bool:
            return self.client.find(NADS, self.namespace, name) is not None and self.accepted(name)

        wait_until(there, PATIENCE, f"NAD {name} is rendered and accepted")

    # VMs

    def vm(self, name: str, networks: Mapping[str, str] | None = None, **template: Any) -> Object:
        """A stopped VM; `networks` are its interfaces with the NADs that they are on, or `pod`."""
        made = fleet.vm(self.namespace, name, networks or {"blue": "blue"})
        made["metadata"]["finalizers"] = list(objects.FINALIZERS["VirtualMachine"])
        if template:
            made["spec"]["template"]["metadata"] = template
        return self.client.create(made)

    def begin(self, name: str) -> Object:
        """Its VMI, and its launcher pod on a node: it is not known yet whether the pod gets its addresses."""
        self.vmi(name)
        return self.pod(name)

    def vmi(self, name: str) -> Object:
        vm = self.client.get(VMS, self.namespace, name)
        template = vm["spec"]["template"]
        owners, held = [objects.owner_of(vm)], objects.FINALIZERS["VirtualMachineInstance"]
        notes = (template.get("metadata") or {}).get("annotations")
        return self.client.make(
            objects.vmi(
                self.namespace,
                name,
                template["spec"],
                phase="Scheduling",
                owners=owners,
                finalizers=held,
                annotations=notes,
            )
        )

    def pod(self, name: str, node: str = NODES[0], **annotations: str) -> Object:
        """A launcher pod of the VMI. Raises ApiError where the webhook rejects it."""
        vmi = self.client.get(VMIS, self.namespace, name)
        asked = [_selection(self.namespace, each) for each in vmi["spec"].get("networks", ()) if "multus" in each]
        notes = ({SELECTED: json.dumps(asked)} if asked else {}) | annotations
        made = self._pod(
            pods.launcher(
                self.namespace,
                f"virt-launcher-{name}-{secrets.token_hex(3)}",
                name,
                phase="Pending",
                vmi_uid=vmi["metadata"]["uid"],
                owners=[objects.owner_of(vmi)],
                annotations=notes,
            )
        )
        # Scheduling takes longer than ipam-extensions does. What OVN-Kubernetes finds without its claim it tries again,
        # half a minute later.
        with contextlib.suppress(TimeoutError):
            wait_until(lambda: all(map(self.claim, referred(made))), 2, "the claims are there")
        return self._bind(made, node)

    def _bind(self, pod: Object, node: str) -> Object:
        name = pod["metadata"]["name"]
        target = {"apiVersion": "v1", "kind": "Node", "name": node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
        self.client.connection.request("POST", PODS.path(self.namespace, name, "binding"), body)
        return self.client.get(PODS, self.namespace, name)

    def plain_pod(self, name: str, nad: str = "blue", **selection: Any) -> Object:
        """One that is no VM's, on a NAD; `selection` goes into its entry of the NAD."""
        asked = {SELECTED: json.dumps([{"namespace": self.namespace, "name": nad, **selection}])}
        return self._pod(pods.pod(self.namespace, name, node=NODES[1], phase="Pending", annotations=asked))

    def _pod(self, pod: Object) -> Object:
        made = self.client.create(pod)
        self._status(PODS, made["metadata"]["name"], pod["status"])
        return made

    def runs_plain(self, name: str, nad: str = "blue", **selection: Any) -> Object:
        """Such a pod, once it runs."""
        pod = self.wait_given(self.plain_pod(name, nad, **selection))
        self._status(PODS, pod["metadata"]["name"], {"phase": "Running"})
        return pod

    def again(self, pod: Object) -> Object:
        """The pod as it is now."""
        return self.client.get(PODS, self.namespace, pod["metadata"]["name"])

    def start(self, name: str) -> Object:
        """Returns with its launcher pod when that runs, with an address on each of its networks."""
        return self.runs(name, self.begin(name))

    def runs(self, name: str, pod: Object) -> Object:
        """Waits for its addresses; then it runs."""
        pod = self.wait_given(pod)
        self._status(PODS, pod["metadata"]["name"], {"phase": "Running"})
        there = {"phase": "Running", "nodeName": pod["spec"]["nodeName"]}
        there["activePods"] = {pod["metadata"]["uid"]: pod["spec"]["nodeName"]}
        self.client.patch(VMIS, self.namespace, name, {"status": there})
        if self.client.find(VMS, self.namespace, name) is not None:
            self._status(VMS, name, {"conditions": [{"type": "Ready", "status": "True"}]})
        return self.client.get(PODS, self.namespace, pod["metadata"]["name"])

    def run(self, name: str, networks: Mapping[str, str] | None = None) -> Object:
        """A new VM that runs."""
        self.vm(name, networks)
        return self.start(name)

    def migrate(self, name: str) -> Object:
        """As a live migration ends: another pod has it, the one of before is completed, and goes."""
        (source,) = self.pods(name)
        target = self.pod(name, next(node for node in NODES if node != source["spec"]["nodeName"]))
        target = self.runs(name, target)
        self.end(source)
        return target

    def pods(self, name: str) -> list[Object]:
        """Its launcher pods that are not completed."""
        found = self.client.list(PODS, self.namespace)["items"]
        return [
            each
            for each in found
            if each["metadata"].get("annotations", {}).get("kubevirt.io/domain") == name
            and each["status"]["phase"] not in ("Succeeded", "Failed")
        ]

    def end(self, pod: Object, phase: str = "Succeeded") -> None:
        """A pod completes, and is deleted."""
        self._status(PODS, pod["metadata"]["name"], {"phase": phase})
        self.client.remove(PODS, self.namespace, pod["metadata"]["name"])

    def stop(self, name: str) -> None:
        for pod in self.pods(name):
            self.end(pod)
        if self.client.find(VMIS, self.namespace, name) is not None:
            self.client.delete(VMIS, self.namespace, name)
            self.unhold(VMIS, name)
            self.wait_gone(VMIS, name)
        self._stopped(name)

    def restart(self, name: str) -> Object:
        self.stop(name)
        return self.start(name)

    def delete(self, name: str, policy: str = "Background") -> None:
        """As KubeVirt deletes a VM: its VMI first. It may still wait for its claims: `wait_gone` waits for it."""
        self.client.delete(VMS, self.namespace, name, propagationPolicy=policy)
        self.stop(name)
        self.unhold(VMS, name, objects.FINALIZERS["VirtualMachine"][0])

    def forget(self, claim: str) -> None:
        """As the runbooks replace a claim of a stopped VM: it is deleted, and released."""
        self.client.delete(IPAM_CLAIMS, self.namespace, claim)
        self.release(claim)

    def release(self, claim: str) -> None:
        """Takes the finalizer off a claim in deletion, whoever uses it."""
        self.unhold(IPAM_CLAIMS, claim)
        self.wait_gone(IPAM_CLAIMS, claim)

    def write_ips(self, claim: str, ips: list[str]) -> None:
        """As a person writes another status."""
        self._status(IPAM_CLAIMS, claim, {"ips": ips})

    def touch(self, resource: Resource, name: str) -> None:
        """An event of the object, for those who act on events alone; OVN-Kubernetes tries pods again by itself too."""
        note = {"example.com/touched": secrets.token_hex(4)}
        self.client.patch(resource, self.namespace, name, {"metadata": {"annotations": note}})

    def takes(self, pod: str, ips: list[str], nad: str = "blue") -> None:
        """Waits until a pod that waited has these addresses."""
        self.touch(PODS, pod)
        waited = self.wait_given(self.client.get(PODS, self.namespace, pod))
        assert given(waited)[f"{self.namespace}/{nad}"] == ips

    # What the controllers do

    def claim(self, name: str) -> Object | None:
        return self.client.find(IPAM_CLAIMS, self.namespace, name)

    def ips(self, claim: str) -> list[str]:
        found = self.claim(claim)
        return list((found or {}).get("status", {}).get("ips") or ())

    def wait_ips(self, claim: str) -> list[str]:
        return wait_until(lambda: self.ips(claim), PATIENCE, f"claim {claim} has an address")

    def wait_given(self, pod: Object, seconds: float = PATIENCE) -> Object:
        """The pod, once OVN-Kubernetes has given it an address on each of its networks."""
        name = pod["metadata"]["name"]
        wanted = {f"{each['namespace']}/{each['name']}" for each in selections(pod)}
        if CLAIM_OF_PRIMARY in pod["metadata"]["annotations"]:
            wanted.add(f"{self.namespace}/{self.primary}")

        def there() -> Object | None:
            now = self.client.get(PODS, self.namespace, name)
            return now if wanted <= set(given(now)) else None

        return wait_until(there, seconds, f"{name} has addresses on {', '.join(sorted(wanted)) or 'its network'}")

    def wait_gone(self, resource: Resource, name: str) -> None:
        wait_until(lambda: self.client.find(resource, self.namespace, name) is None, PATIENCE, f"{name} is gone")

    def events(self, reason: str) -> list[str]:
        """What the events of a reason say."""
        found = self.client.list(EVENTS, self.namespace)["items"]
        return [str(each["message"]) for each in found if each["reason"] == reason]

    # The end

    def clear(self) -> None:
        """Takes away all, so that no network of this stage is left to fail over."""
        for resource in (VMS, VMIS, IPAM_CLAIMS):
            for each in self.client.list(resource, self.namespace)["items"]:
                name = each["metadata"]["name"]
                with contextlib.suppress(ApiError):  # one that meanwhile went with its owner
                    self.client.delete(resource, self.namespace, name)
                self.unhold(resource, name)
        for each in self.client.list(PODS, self.namespace)["items"]:
            self.client.remove(PODS, self.namespace, each["metadata"]["name"])
        for each in self.client.list(NADS, self.namespace)["items"]:
            if not each["metadata"].get("finalizers"):  # those of UDNs OVN-Kubernetes removes
                self.client.delete(NADS, self.namespace, each["metadata"]["name"])
        self.plane.heal()
        for each in self.client.list(CUDNS)["items"]:
            if self.namespace in each["metadata"]["name"]:
                self.client.delete(CUDNS, None, each["metadata"]["name"])
        self.client.delete(NAMESPACES, None, self.namespace)
        wait_until(lambda: self.client.find(NAMESPACES, None, self.namespace) is None, 60, f"{self.namespace} is gone")

    def _status(self, resource: Resource, name: str, status: Object) -> None:
        """Whoever else writes meanwhile is not in the way."""
        self.client.patch(resource, self.namespace, f"{name}/status", {"status": status})

    def _stopped(self, name: str) -> None:
        """What KubeVirt says of a VM without a VMI."""
        if self.client.find(VMS, self.namespace, name) is not None:
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            condition = {"type": "Ready", "status": "False", "reason": "VMINotExists", "lastTransitionTime": now}
            self._status(VMS, name, {"conditions": [condition]})

    def unhold(self, resource: Resource, name: str, finalizer: str = "") -> None:
        """Takes one finalizer off it, or all; whoever else writes meanwhile is not undone."""

        def done() -> bool:
            found = self.client.find(resource, self.namespace, name)
            if found is None:
                return True
            kept = [each for each in found["metadata"].get("finalizers", ()) if finalizer not in ("", each)]
            try:
                self.client.update({**found, "metadata": {**found["metadata"], "finalizers": kept}})
            except ApiError as error:
                if error.code not in (404, 409):
                    raise
                return error.code == 404
            return True

        wait_until(done, PATIENCE, f"{name} is held no longer")


def _layer2(subnets: list[str], role: str) -> Object:
    settings = {"role": role, "subnets": subnets, "ipam": {"mode": "Enabled", "lifecycle": "Persistent"}}
    return {"topology": "Layer2", "layer2": settings}


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


def _selection(namespace: str, network: Object) -> Object:
    """As KubeVirt asks for an interface."""
    own, _, name = network["multus"]["networkName"].rpartition("/")
    return {
        "namespace": own or namespace,
        "name": name,
        "interface": f"pod{sha256(network['name'].encode()).hexdigest()[:11]}",
    }
