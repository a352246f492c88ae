"""What belongs to a node, what PDBs are of a namespace, and what a VMI that has to leave waits for."""

from __future__ import annotations

from collections.abc import Iterable

from ...domain.identity.firmware import identifying
from ..index import ByName, Index
from ..kinds.kubevirt_machine import KubevirtMachine
from ..kinds.node import Node
from ..kinds.node_maintenance import NodeMaintenance
from ..kinds.pod import DrainRole, Pod
from ..kinds.pod_disruption_budget import PodDisruptionBudget
from ..kinds.virtual_machine_instance import VirtualMachineInstance
from ..kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..record import Record
from .networks import vm_key


def _parts(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, Pod | VirtualMachineInstanceMigration):
        return [vm_key(record.namespace, name) for name in record.vms]
    return ()


def _nodes(record: Record, lookup: ByName) -> Iterable[str]:
    if isinstance(record, Node):
        return (record.name,)
    if isinstance(record, VirtualMachineInstance):
        return (record.node,) if record.node and not record.final else ()
    if isinstance(record, NodeMaintenance):
        return (record.node,) if record.node else ()
    if not isinstance(record, Pod | VirtualMachineInstanceMigration):
        return ()
    found = {record.node} if isinstance(record, Pod) else set()
    for name in record.vms:
        vmi = lookup(VirtualMachineInstance, record.namespace, name)
        if isinstance(vmi, VirtualMachineInstance) and not vmi.final:
            found.add(vmi.node)
    return found - {""}


def _pdbs(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineInstance):
        # With these KubeVirt's webhook refuses, before any PDB is asked.
        return () if record.strategy in ("LiveMigrate", "External") else (record.namespace,)
    return (record.namespace,) if isinstance(record, PodDisruptionBudget) else ()


def _requested(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, Node):
        return (record.name,)
    requested = isinstance(record, VirtualMachineInstance) and not record.final and record.evacuation
    return (requested,) if requested else ()


def _running(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineInstanceMigration):
        return ("",) if record.running else ()
    if isinstance(record, Node):
        # With KubeVirt's drain taint, which may have any key, its VMIs wait without a request.
        taints = (each for each in record.taints if each.effect == "NoSchedule")
        return ("",) if any(not each.key.partition("/")[0].endswith("kubernetes.io") for each in taints) else ()
    return ("",) if isinstance(record, VirtualMachineInstance) and record.evacuation and not record.final else ()


def _migrated(record: Record, _: ByName) -> Iterable[str]:
    moved = record.migration if isinstance(record, Pod) else isinstance(record, VirtualMachineInstanceMigration)
    return [vm_key(record.namespace, name) for name in record.vms] if moved else ()


def _targets(record: Record, lookup: ByName) -> Iterable[str]:
    if isinstance(record, Node):
        return (record.name,)
    if isinstance(record, Pod):
        return (record.node,) if record.role is DrainRole.HANDLER and record.node else ()
    if isinstance(record, VirtualMachineInstanceMigration) and record.phase != "Succeeded":
        vmi = lookup(VirtualMachineInstance, record.namespace, record.vmi)
        if isinstance(vmi, VirtualMachineInstance) and not vmi.final:
            return {vmi.node, *_targets(vmi, lookup)} - {""}
    if isinstance(record, VirtualMachineInstance) and record.migration is not None and not record.final:
        last = record.migration
        return (last.target,) if last.target and last.ended is None else ()
    return ()


def _handlers(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, KubevirtMachine):
        return (f"{record.namespace}/{record.name}",)
    return (record.handler,) if isinstance(record, VirtualMachineInstance) and record.handler else ()


def _system_uuids(record: Record, _: ByName) -> Iterable[str]:
    key = identifying(record.system_uuid) if isinstance(record, Node) else ""
    return (key,) if key else ()


PART = Index("part of a VMI", _parts, of=(Pod, VirtualMachineInstanceMigration), namespaced=True)
# A node with the VMIs on it, their pods and migrations wherever those are, all pods on it, and its maintenance.
NODE = Index(
    "node",
    _nodes,
    of=(Node, NodeMaintenance, Pod, VirtualMachineInstance, VirtualMachineInstanceMigration),
    through=((VirtualMachineInstance, PART),),
)
# A VMI that was ever migrated: its migrations, and the pods that were made for one. It is read through the VMI.
MIGRATED = Index(
    "migrated VMI",
    _migrated,
    of=(Pod, VirtualMachineInstanceMigration),
    through=((VirtualMachineInstance, PART),),
    namespaced=True,
)
# The PDBs of a namespace; its VMIs that they may matter to only listen.
PDB = Index(
    "PDB",
    _pdbs,
    of=(PodDisruptionBudget, VirtualMachineInstance),
    dependents=(VirtualMachineInstance,),
    namespaced=True,
)
# The node that a VMI is to leave, which need not be the one that it is on; such VMIs only listen.
REQUESTED = Index(
    "node to be left", _requested, of=(Node, VirtualMachineInstance), dependents=(VirtualMachineInstance,)
)
# The KubevirtMachine whose controller answers for a VMI, which only listens.
HANDLER = Index(
    "manager of a VMI", _handlers, of=(KubevirtMachine, VirtualMachineInstance), dependents=(VirtualMachineInstance,)
)
# The migrations that count against KubeVirt's limits, all under one key; VMIs, and nodes with VMIs, that wait for
# theirs only listen.
RUNNING = Index(
    "migration that runs",
    _running,
    of=(Node, VirtualMachineInstance, VirtualMachineInstanceMigration),
    dependents=(VirtualMachineInstance, Node),
)
# A node with its virt-handler; VMIs that migrate to it, and migrations from and to it, only listen.
TARGET = Index(
    "target of a migration",
    _targets,
    of=(Node, Pod, VirtualMachineInstance, VirtualMachineInstanceMigration),
    through=((VirtualMachineInstance, PART),),
    dependents=(VirtualMachineInstance, VirtualMachineInstanceMigration),
)
SYSTEM_UUID = Index("system UUID", _system_uuids, of=(Node,))
