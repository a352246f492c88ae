"""Nodes and running VMs, written to a real API server by the test.

There is no scheduler, kubelet or KubeVirt: what those would say is written too.
"""

from __future__ import annotations

from dataclasses import dataclass

from demo.fleet import objects
from demo.fleet import surroundings as around
from demo.fleet.pods import launcher
from tests.cluster.client import Client
from tests.cluster.resources import NODES
from tests.manifests import Object

__all__ = ["Guest", "join", "kubevirt", "migration", "pdb", "write"]

_NAMESPACE = "default"
_SCHEDULABLE = {"kubevirt.io/schedulable": "true"}


def join(client: Client, name: str, memory: str) -> None:
    """Makes a node that takes pods: the API server taints a new one, until its controller sees that it is ready."""
    client.make(around.node(name, room={"cpu": "16", "memory": memory, "pods": "110"}, labels=_SCHEDULABLE))
    client.patch(NODES, None, name, {"spec": {"taints": None}})


def kubevirt() -> Object:
    return around.kubevirt(
        _NAMESPACE,
        "kubevirt",
        "v1.9.0",
        configuration={"migrations": {"parallelOutboundMigrationsPerNode": 3}},
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
                spec={"nodeSelector": _SCHEDULABLE},
            )
        )


def migration(of: str, evacuates: str) -> Object:
    """One that runs."""
    return objects.migration(_NAMESPACE, f"kubevirt-evacuation-{of}", of, evacuates=evacuates)


def pdb(app: str) -> Object:
    """One that lets none of the pods with the label go, as its controller leaves it."""
    return around.pdb(_NAMESPACE, app, {"matchLabels": {"app": app}}, min_available=1)
