"""Nodes and running VMs, written to a real API server by the test.

There is no scheduler, kubelet or KubeVirt: what those would say is written too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from demo.fleet import objects
from demo.fleet import surroundings as around
from demo.fleet.pods import launcher
from tests.cluster.client import Client
from tests.cluster.resources import NODES
from tests.manifests import Object

__all__ = ["SCHEDULABLE", "Guest", "join", "kubevirt", "migration", "node", "pdb", "write"]

_NAMESPACE = "default"
SCHEDULABLE = {"kubevirt.io/schedulable": "true"}
_ROOM = {"cpu": "16", "memory": "64Gi", "pods": "110"}


def join(client: Client, name: str, memory: str) -> None:
    """Makes a node that takes pods, and VMs."""
    node(client, name, room={**_ROOM, "memory": memory}, labels=SCHEDULABLE)


def node(
    client: Client,
    name: str,
    *,
    silent: str = "",
    cordoned: bool = False,
    taints: tuple[Object, ...] = (),
    room: Mapping[str, str] = _ROOM,
    labels: Mapping[str, str] | None = None,
    **info: str,
) -> Object:
    """Makes a node as its kubelet reports it, with this `info`; Ready, but where it is `silent` since then.

    The API server taints a new one, until its controller, which does not run here, sees that it is Ready: so it has
    just the taints that are given.
    """
    made = around.node(name, room=room, labels=labels, status={"nodeInfo": info})
    if silent:
        unknown = objects.condition("Ready", False, silent, reason="NodeStatusUnknown") | {"status": "Unknown"}
        made["status"]["conditions"] = [unknown]
    client.make(made)
    return client.patch(NODES, None, name, {"spec": {"unschedulable": cordoned or None, "taints": list(taints)}})


def kubevirt() -> Object:
    return around.kubevirt(
        _NAMESPACE, "kubevirt", "v1.9.0", configuration={"migrations": {"parallelOutboundMigrationsPerNode": 3}}
    )


@dataclass(frozen=True)
class Guest:
    """A running VMI; one with a `hindrance` can't be migrated."""

    name: str
    node: str = "node01"
    strategy: str = "LiveMigrate"
    memory: str = "1Gi"
    hindrance: str = ""
    evacuation: str | None = None


def write(client: Client, *guests: Guest) -> None:
    """Makes the VMIs and their launcher pods."""
    for guest in guests:
        spec = objects.vmi_spec(evictionStrategy=guest.strategy)
        able = objects.migratable(guest.hindrance or True)
        vmi = objects.vmi(_NAMESPACE, guest.name, spec, node=guest.node, evacuation=guest.evacuation, conditions=[able])
        made = client.make(vmi)
        client.make(
            launcher(
                _NAMESPACE,
                f"virt-launcher-{guest.name}",
                guest.name,
                vmi_uid=made["metadata"]["uid"],
                node=guest.node,
                requests={"memory": guest.memory, "cpu": "1"},
                labels={"app": guest.name},
                spec={"nodeSelector": SCHEDULABLE},
            )
        )


def migration(of: str, evacuates: str) -> Object:
    """One that runs."""
    return objects.migration(_NAMESPACE, f"kubevirt-evacuation-{of}", of, evacuates=evacuates)


def pdb(app: str) -> Object:
    """One that lets none of the pods with the label go, as its controller leaves it."""
    return around.pdb(_NAMESPACE, app, {"matchLabels": {"app": app}}, min_available=1)
