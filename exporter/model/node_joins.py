"""What belongs to a node, what budgets are of a namespace, and what an instance that has to leave waits for."""

from __future__ import annotations

from collections.abc import Iterable

from .firmware import identifying
from .index import Index, Lookup
from .joins import machine
from .kubevirt_machine import KubevirtMachine
from .node import Node
from .node_maintenance import NodeMaintenance
from .pod import Pod
from .pod_disruption_budget import PodDisruptionBudget
from .record import Record
from .virtual_machine_instance import VirtualMachineInstance
from .virtual_machine_instance_migration import VirtualMachineInstanceMigration

__all__ = ["BUDGET", "HANDLER", "MARKED", "NODE", "RUNNING", "SYSTEM_UUID"]


def _parts(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, Pod | VirtualMachineInstanceMigration):
        return [machine(record.namespace, name) for name in record.machines]
    return ()


def _nodes(record: Record, lookup: Lookup) -> Iterable[str]:
    if isinstance(record, Node):
        return (record.name,)
    if isinstance(record, VirtualMachineInstance):
        return (record.node,) if record.node and not record.final else ()
    if isinstance(record, NodeMaintenance):
        return (record.node,) if record.node else ()
    if not isinstance(record, Pod | VirtualMachineInstanceMigration):
        return ()
    found = {record.node} if isinstance(record, Pod) else set()
    for name in record.machines:
        vmi = lookup(VirtualMachineInstance, record.namespace, name)
        if isinstance(vmi, VirtualMachineInstance) and not vmi.final:
            found.add(vmi.node)
    return found - {""}


def _budgets(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, VirtualMachineInstance):
        # With these KubeVirt's webhook refuses, before any budget is asked.
        return () if record.strategy in ("LiveMigrate", "External") else (record.namespace,)
    return (record.namespace,) if isinstance(record, PodDisruptionBudget) else ()


def _marked(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, Node):
        return (record.name,)
    marked = isinstance(record, VirtualMachineInstance) and not record.final and record.evacuation
    return (marked,) if marked else ()


def _running(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, VirtualMachineInstanceMigration):
        return ("",) if record.running else ()
    return ("",) if isinstance(record, VirtualMachineInstance) and record.evacuation and not record.final else ()


def _handlers(record: Record, _: Lookup) -> Iterable[str]:
    if isinstance(record, KubevirtMachine):
        return (f"{record.namespace}/{record.name}",)
    return (record.handler,) if isinstance(record, VirtualMachineInstance) and record.handler else ()


def _system_uuids(record: Record, _: Lookup) -> Iterable[str]:
    key = identifying(record.system_uuid) if isinstance(record, Node) else ""
    return (key,) if key else ()


_PART = Index("part of an instance", _parts)
# A node with the instances on it, their pods and migrations wherever those are, all pods on it, and its maintenance.
NODE = Index("node", _nodes, through=(VirtualMachineInstance, _PART))
# The disruption budgets of a namespace; its instances that they may matter to only listen.
BUDGET = Index("disruption budget", _budgets, quiet=(VirtualMachineInstance,))
# The node that an instance is to leave, which need not be the one that it is on; such instances only listen.
MARKED = Index("node to be left", _marked, quiet=(VirtualMachineInstance,))
# The KubevirtMachine whose controller answers for an instance, which only listens.
HANDLER = Index("manager of an instance", _handlers, quiet=(VirtualMachineInstance,))
# The migrations that count against KubeVirt's limits, all under one key; instances that wait for theirs only listen.
RUNNING = Index("migration that runs", _running, quiet=(VirtualMachineInstance,))
SYSTEM_UUID = Index("system UUID", _system_uuids)
