"""A namespace of VMs on networks with persistent IPs: what KubeVirt writes of them is written here, and nothing else.

A VM that is started gets its VMI and its launcher pod; the pod runs once OVN-Kubernetes has given it an address on each
of its networks, as a kubelet would have it. Claims, references, addresses and their end are the controllers' own. VMs
have run strategy Manual: what starts and stops them is written nowhere.

A network is the cluster's, so each stage has one of its own name.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import secrets
from collections.abc import Mapping
from typing import Any

from demo.fleet import objects, pods
from tests.cluster import fleet
from tests.cluster.client import ApiError
from tests.cluster.resources import CUDNS, IPAM_CLAIMS, NADS, NAMESPACES, PODS, VMIMS, VMIS, VMS
from tests.kubevirt.pod_states import completed, running
from tests.manifests import Object
from tests.networks import kubevirt
from tests.networks.annotations import CLAIM_OF_PRIMARY, SELECTED, given, referred, selection, selections
from tests.networks.nads import PATIENCE
from tests.networks.nodes import NODES
from tests.waiting import wait_until

from .nads import Claims

__all__ = ["FINALIZER", "Stage"]

FINALIZER = objects.IPAM_FINALIZER
_NUMBERS = itertools.count(256)


class Stage(Claims):
    # VMs

    def vm(self, name: str, networks: Mapping[str, str] | None = None, **template: Any) -> Object:
        """A stopped VM; `networks` are its interfaces with the NADs that they are on, or `pod`."""
        made = fleet.vm(self.namespace, name, networks or {"blue": "blue"})
        made["metadata"]["finalizers"] = list(objects.FINALIZERS["VirtualMachine"])
        made["spec"]["runStrategy"] = "Manual"
        if template:
            made["spec"]["template"]["metadata"] = template
        return self.client.make(made | {"status": kubevirt.stopped()})

    def begin(self, name: str) -> Object:
        """Its VMI, and its launcher pod on a node: it is not known yet whether the pod gets its addresses."""
        self.vmi(name)
        return self.pod(name)

    def vmi(self, name: str) -> Object:
        vm = self.client.get(VMS, self.namespace, name)
        template = vm["spec"]["template"]
        owners, held = [objects.owner_of(vm)], objects.FINALIZERS["VirtualMachineInstance"]
        notes = (template.get("metadata") or {}).get("annotations")
        made = self.client.make(
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
        self._status(VMS, name, kubevirt.starting())
        return made

    def pod(self, name: str, node: str = NODES[0], migration: Object | None = None) -> Object:
        """A launcher pod of the VMI, to start in or to migrate to. Raises ApiError where the webhook rejects it."""
        vmi = self.client.get(VMIS, self.namespace, name)
        asked = [selection(self.namespace, each) for each in vmi["spec"].get("networks", ()) if "multus" in each]
        made = self.client.create(
            pods.launcher(
                self.namespace,
                f"virt-launcher-{name}-{secrets.token_hex(3)}",
                name,
                phase="Pending",
                vmi_uid=vmi["metadata"]["uid"],
                migration_uid=migration["metadata"]["uid"] if migration else None,
                labels={"vm.kubevirt.io/name": name[:63]},
                owners=[objects.owner_of(vmi)],
                annotations={SELECTED: json.dumps(asked)} if asked else {},
                spec={"restartPolicy": "Never"},
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
        made = self.client.create(pods.pod(self.namespace, name, phase="Pending", annotations=asked))
        return self._bind(made, NODES[1])

    def runs_plain(self, name: str, nad: str = "blue", **selection: Any) -> Object:
        """Such a pod, once it runs."""
        return self._up(self.wait_given(self.plain_pod(name, nad, **selection)))

    def _up(self, pod: Object) -> Object:
        """The pod, which runs from now on."""
        high, low = divmod(next(_NUMBERS), 256)
        self._status(PODS, pod["metadata"]["name"], running(pod, f"10.244.{high % 255}.{low}"))
        return self.again(pod)

    def again(self, pod: Object) -> Object:
        """The pod as it is now."""
        return self.client.get(PODS, self.namespace, pod["metadata"]["name"])

    def start(self, name: str) -> Object:
        """Returns with its launcher pod when that runs, with an address on each of its networks."""
        return self.runs(name, self.begin(name))

    def runs(self, name: str, pod: Object) -> Object:
        """Waits for its addresses; then it runs."""
        pod = self._up(self.wait_given(pod))
        self._guest_is_in(name, pod, kubevirt.runs(pod))
        return pod

    def _guest_is_in(self, name: str, pod: Object, status: Object) -> None:
        labels = {"kubevirt.io/nodeName": pod["spec"]["nodeName"]}
        self.client.patch(VMIS, self.namespace, name, {"metadata": {"labels": labels}, "status": status})
        if self.client.find(VMS, self.namespace, name) is not None:
            self._status(VMS, name, kubevirt.vm_runs())

    def run(self, name: str, networks: Mapping[str, str] | None = None) -> Object:
        """A new VM that runs."""
        self.vm(name, networks)
        return self.start(name)

    def migrate(self, name: str) -> Object:
        """As a live migration ends: another pod has it, the one of before is completed, and goes."""
        (source,) = self.pods(name)
        made = objects.migration(self.namespace, f"{name}-{secrets.token_hex(3)}", name, phase="Scheduling")
        migration = self.client.make(made)
        there = next(node for node in NODES if node != source["spec"]["nodeName"])
        target = self._up(self.wait_given(self.pod(name, there, migration)))
        self._guest_is_in(name, target, kubevirt.migrated(migration, source, target))
        self._status(VMIMS, migration["metadata"]["name"], {"phase": "Succeeded"})
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
        self._status(PODS, pod["metadata"]["name"], completed(pod, phase))
        self.client.remove(PODS, self.namespace, pod["metadata"]["name"])

    def stop(self, name: str) -> None:
        """Its VMI is deleted, its guest is shut down, its pods go, and the VMI after them."""
        there = self.client.find(VMIS, self.namespace, name) is not None
        if there:
            self.client.delete(VMIS, self.namespace, name)
            self.client.patch(VMIS, self.namespace, name, {"status": kubevirt.ended()})
        for pod in self.pods(name):
            self.end(pod)
        if there:
            self.unhold(VMIS, name)
            self.wait_gone(VMIS, name)
        if self.client.find(VMS, self.namespace, name) is not None:
            self._status(VMS, name, kubevirt.stopped())

    def restart(self, name: str) -> Object:
        self.stop(name)
        return self.start(name)

    def delete(self, name: str, policy: str = "Background") -> None:
        """As KubeVirt deletes a VM: its VMI first. It may still wait for its claims: `wait_gone` waits for it."""
        self.client.delete(VMS, self.namespace, name, propagationPolicy=policy)
        self.stop(name)
        self.unhold(VMS, name, objects.FINALIZERS["VirtualMachine"][0])

    def takes(self, pod: str, ips: list[str], nad: str = "blue") -> None:
        """Waits until a pod that waited has these addresses."""
        self.touch(PODS, pod)
        waited = self.wait_given(self.client.get(PODS, self.namespace, pod))
        assert given(waited)[f"{self.namespace}/{nad}"] == ips

    # What the controllers do

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

    # The end

    def clear(self) -> None:
        """Takes away all, so that no network of this stage is left to fail over."""
        for resource in (VMS, VMIS, VMIMS, IPAM_CLAIMS):
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

        def gone() -> bool:
            for each in self.client.list(IPAM_CLAIMS, self.namespace)["items"]:  # one that was made for a VM that went
                self.unhold(IPAM_CLAIMS, each["metadata"]["name"])
            return self.client.find(NAMESPACES, None, self.namespace) is None

        wait_until(gone, 120, f"{self.namespace} is gone")
