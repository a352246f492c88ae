"""The networks of a namespace: NADs as a person writes them, and what OVN-Kubernetes renders of user-defined ones."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.cluster import fleet
from tests.cluster.client import Client
from tests.cluster.resources import CUDNS, NADS, UDNS
from tests.manifests import Object
from tests.networks.control_plane import ControlPlane
from tests.waiting import wait_until

__all__ = ["PATIENCE", "Networks"]

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
