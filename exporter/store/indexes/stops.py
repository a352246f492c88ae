"""VMs that were stopped for the drain of a node, and the nodes by which they can be started again."""

from __future__ import annotations

from collections.abc import Iterable

from ..index import ByName, Index
from ..kinds.node import Node
from ..kinds.node_maintenance import NodeMaintenance
from ..kinds.virtual_machine import VirtualMachine
from ..record import Record
from .networks import vm_key

ANY_NODE = ""
"""The key under which all nodes are: where the one that was drained is gone, another one has to take VMs."""


def _stopped(record: Record, _: ByName) -> Iterable[str]:
    stopped = isinstance(record, VirtualMachine) and record.drain_stop is not None
    return (vm_key(record.namespace, record.name),) if stopped else ()


def _nodes(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, Node):
        return (record.name, ANY_NODE)
    if isinstance(record, NodeMaintenance):
        return (record.node,) if record.node else ()
    stop = record.drain_stop if isinstance(record, VirtualMachine) else None
    return (stop.node, ANY_NODE) if stop is not None else ()


STOPPED = Index("VM stopped for a drain", _stopped, of=(VirtualMachine,), namespaced=True)
# The node that VMs were stopped for, with its maintenances; these VMs only listen.
DRAINED_NODE = Index(
    "node that VMs were stopped for", _nodes, of=(Node, NodeMaintenance, VirtualMachine), dependents=(VirtualMachine,)
)
