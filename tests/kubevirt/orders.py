"""What the stand-in for nodes shall do otherwise than well, and what it sees of a cluster in one round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

from tests.manifests import Object

__all__ = ["Key", "Orders", "World", "condition", "key", "launched", "now", "true"]

Key = tuple[str, str]  # namespace and name


@dataclass
class Orders:
    """Sets to add to and to take from, in effect within one round; but for nodes, what is in them is a VMI."""

    holds: set[Key] = field(default_factory=set)  # its migrations start and never end
    fails: set[Key] = field(default_factory=set)  # its migrations end in failure
    mismatches: set[Key] = field(default_factory=set)  # the same, of the CPU that it was started with
    fixed: set[Key] = field(default_factory=set)  # it is not live-migratable
    unplaced: set[Key] = field(default_factory=set)  # no node has room for the target of its migration
    powers_off: set[Key] = field(default_factory=set)  # its guest shuts itself down
    crashes: set[Key] = field(default_factory=set)  # its guest ends in failure, at once
    stay_requested: set[Key] = field(default_factory=set)  # its eviction is requested again just as its migration ends
    unready: set[Key] = field(default_factory=set)  # the target pod of its migration runs and never gets ready
    unpulled: set[Key] = field(default_factory=set)  # the image of the target pod of its migration is not there
    lingers: set[Key] = field(default_factory=set)  # the pod that it has left by a migration goes on
    dead: set[str] = field(default_factory=set)  # nodes that do nothing and report nothing
    silent: set[str] = field(default_factory=set)  # nodes whose virt-handler does nothing, and is not ready

    def forget(self, namespace: str) -> None:
        """Takes away the orders on VMIs of a namespace."""
        for each in fields(self):
            orders = getattr(self, each.name)
            orders -= {order for order in set(orders) if isinstance(order, tuple) and order[0] == namespace}


@dataclass(frozen=True)
class World:
    """One look at the cluster: all nodes, pods and VMIs, with the orders."""

    nodes: tuple[Object, ...]
    pods: tuple[Object, ...]
    vmis: tuple[Object, ...]
    orders: Orders

    @property
    def alive(self) -> dict[str, Object]:
        return {name: node for node in self.nodes if (name := node["metadata"]["name"]) not in self.orders.dead}

    @property
    def handled(self) -> set[str]:
        """The nodes whose virt-handler acts."""
        return self.alive.keys() - self.orders.silent

    def vmi_of(self, pod: Object) -> Object | None:
        """The VMI that a launcher pod was made for."""
        uid = pod["metadata"].get("labels", {}).get("kubevirt.io/created-by")
        return next((vmi for vmi in self.vmis if vmi["metadata"]["uid"] == uid), None)

    def pods_of(self, vmi: Object) -> Iterator[Object]:
        """Its launcher pods."""
        uid = vmi["metadata"]["uid"]
        return (pod for pod in self.pods if pod["metadata"].get("labels", {}).get("kubevirt.io/created-by") == uid)


def key(obj: Object) -> Key:
    return obj["metadata"]["namespace"], obj["metadata"]["name"]


def launched(pod: Object) -> Key:
    """The VMI that a launcher pod is named for."""
    meta = pod["metadata"]
    return meta["namespace"], meta.get("annotations", {}).get("kubevirt.io/domain", "")


def now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def condition(type_: str, status: str = "True", **more: Any) -> Object:
    return {"type": type_, "status": status, "lastProbeTime": None, "lastTransitionTime": now(), **more}


def true(obj: Object, type_: str) -> bool:
    """Whether it has this condition, and that is True."""
    rows = obj.get("status", {}).get("conditions", [])
    return any((row["type"], row["status"]) == (type_, "True") for row in rows)
