"""The networks of a namespace: NADs as a person writes them, and what OVN-Kubernetes renders of user-defined ones."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from ..cluster import fleet
from ..cluster.client import ApiError, Client
from ..cluster.resources import CUDNS, EVENTS, IPAM_CLAIMS, NADS, UDNS, Resource
from ..manifests import Object
from ..waiting import wait_until
from .control_plane import ControlPlane

__all__ = ["PATIENCE", "Claims", "Networks"]

ACCEPTED = "k8s.ovn.org/network-id"
PATIENCE = 40.0  # seconds: OVN-Kubernetes tries again after 30


class Networks:
    def __init__(self, plane: ControlPlane, namespace: str) -> None:
        self.plane, self.namespace = plane, namespace
        self.client: Client = plane.admin
        self.primary = "main"  # the NAD of a primary network, where there is one

    @property
    def network(self) -> str:
        return f"net-{self.namespace}"

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


def _layer2(subnets: list[str], role: str) -> Object:
    settings = {"role": role, "subnets": subnets, "ipam": {"mode": "Enabled", "lifecycle": "Persistent"}}
    return {"topology": "Layer2", "layer2": settings}


# The claims of a namespace, as the controllers leave them and as a person writes to them.


class Claims(Networks):
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

    def claim(self, name: str) -> Object | None:
        return self.client.find(IPAM_CLAIMS, self.namespace, name)

    def ips(self, claim: str) -> list[str]:
        found = self.claim(claim)
        return list((found or {}).get("status", {}).get("ips") or ())

    def wait_ips(self, claim: str) -> list[str]:
        return wait_until(lambda: self.ips(claim), PATIENCE, f"claim {claim} has an address")

    def wait_gone(self, resource: Resource, name: str) -> None:
        wait_until(lambda: self.client.find(resource, self.namespace, name) is None, PATIENCE, f"{name} is gone")

    def events(self, reason: str) -> list[str]:
        """What the events of a reason say."""
        found = self.client.list(EVENTS, self.namespace)["items"]
        return [str(each["message"]) for each in found if each["reason"] == reason]

    def _status(self, resource: Resource, name: str, status: Object) -> None:
        """Whoever else writes meanwhile is not in the way."""
        self.client.patch(resource, self.namespace, f"{name}/status", {"status": status})

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
