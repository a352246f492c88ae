"""What a story of a runbook is reported with: a fault on a real API server, and what the mitigation does about it.

A VM `db` has an interface `blue` on NAD `blue`, and the claim `db.blue`. The network is this story's own:
networks are the cluster's, and so would be a clash of addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.cluster import fleet
from tests.cluster.client import Client
from tests.cluster.resources import (
    DEPLOYMENTS,
    IPAM_CLAIMS,
    MUTATING_WEBHOOKS,
    NODES,
    PODS,
    STORAGE_CLASSES,
    VMIS,
    Resource,
)
from tests.manifests import Object

__all__ = ["FOREIGN", "NETWORKS", "Seed", "Stage", "Story", "nothing", "touched"]

FOREIGN = "example.com/other"
NETWORKS = {"blue": "blue"}

Seed = Callable[["Stage"], Mapping[str, str] | None]


@dataclass(frozen=True)
class Stage:
    """Where a story plays."""

    client: Client
    namespace: str

    @property
    def network(self) -> str:
        return f"net-{self.namespace}"

    def vm(self, **networks: str) -> Object:
        return self.client.create(fleet.vm(self.namespace, "db", networks or NETWORKS))

    def nad(self, name: str = "blue", namespace: str = "", **config: Any) -> Object:
        settings = {"network": self.network, **config}
        return self.client.create(fleet.nad(namespace or self.namespace, name, **settings))

    def claim(self, owner: Object, ip: str | None = "10.0.0.5/24", **meta: Any) -> Object:
        """The VM's claim, with other metadata; what is None is left out."""
        made = fleet.claim(owner, self.network, ip)
        made["metadata"] = {key: value for key, value in {**made["metadata"], **meta}.items() if value is not None}
        return self.client.make(made)

    def running(self, owner: Object) -> Object:
        return self.client.make(fleet.vmi(owner))

    def pod(
        self, claim: str = "db.blue", ip: str = "10.0.0.5/24", domain: str = "db", phase: str = "Running"
    ) -> Object:
        attached = {f"{self.namespace}/blue": claim}
        return self.client.make(fleet.launcher_pod(self.namespace, domain, attached, (ip,) if ip else (), phase))

    def delete_claim(self) -> None:
        self.client.delete(IPAM_CLAIMS, self.namespace, "db.blue")

    def stop(self) -> None:
        """As `virtctl stop` ends: no VMI, no pod."""
        self.client.remove(VMIS, self.namespace, "db")
        self.client.remove(PODS, self.namespace, "virt-launcher-db")

    def clear(self) -> None:
        """Takes away what counts for the whole cluster."""
        for each in self.client.list(DEPLOYMENTS, self.namespace)["items"]:
            self.client.remove(DEPLOYMENTS, self.namespace, each["metadata"]["name"])
        self.client.remove(MUTATING_WEBHOOKS, None, self.namespace)
        for name in (self.namespace, f"{self.namespace}-other", f"{self.namespace}-third"):
            self.client.remove(NODES, None, name)
        self.client.remove(STORAGE_CLASSES, None, self.namespace)


@dataclass(frozen=True)
class Story:
    """One fault of an alert.

    `acts` are parts of the blocks that the mitigation consists of, in order; `stops` says that the VM is stopped
    before. The finding then is gone, but where `leaves` says what else has come about: what waits for a component that
    is not there can't end it. `files` are what the person writes, `edits` what they change in what they saved.
    """

    alert: str
    reason: str
    seed: Seed
    acts: tuple[str, ...] = ()
    stops: bool = False
    leaves: Callable[[Stage, Mapping[str, str]], bool] | None = None
    files: Callable[[Stage], Mapping[str, Object]] = lambda _: {}
    edits: tuple[str, str] = ("", "")
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.alert}-{self.reason}"


def touched(resource: Resource, name: str) -> Callable[[Stage, Mapping[str, str]], bool]:
    def there(stage: Stage, _: Mapping[str, str]) -> bool:
        meta = stage.client.get(resource, stage.namespace, name)["metadata"]
        return "steward.kubevirt-steward.io/nudged-at" in meta["annotations"]

    return there


def nothing(_: Stage, __: Mapping[str, str]) -> bool:
    return True
