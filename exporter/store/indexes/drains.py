"""What belongs to a node, what PDBs are of a namespace, and what a VMI that has to leave waits for."""

from __future__ import annotations

from collections.abc import Iterable

from ...facts.firmware import identifying
from ...facts.record import Record
from ..index import ByName, Index
from ..kinds.components import EndpointSlice
from ..kinds.kube_virt import KubeVirt
from ..kinds.kubevirt_machine import KubevirtMachine
from ..kinds.node import Node, NodeMaintenance
from ..kinds.pod import DrainRole, Pod
from ..kinds.pod_disruption_budget import PodDisruptionBudget
from ..kinds.storage import PersistentVolume
from ..kinds.virtual_machine import VirtualMachine
from ..kinds.virtual_machine_instance import VirtualMachineInstance
from ..kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from .networks import vm_key

__all__ = ["LEFT", "OUTDATED", "UNMOVABLE"]


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


# The objects by which KubeVirt's eviction webhook and its left PDBs are evaluated.

_ALL = "virt-api"


def _virt_api(record: Record, _: ByName) -> Iterable[str]:
    return (_ALL,) if isinstance(record, EndpointSlice | KubeVirt) else ()


def _launchers(record: Record, _: ByName) -> Iterable[str]:
    return (_ALL,) if isinstance(record, Pod) and record.role is DrainRole.LAUNCHER else ()


def _kubevirt_pdbs(record: Record, _: ByName) -> Iterable[str]:
    made = isinstance(record, PodDisruptionBudget) and record.made_by_kubevirt
    return (f"{record.namespace}/{record.name}",) if made else ()


# KubeVirt and the endpoints of its webhooks under one key; launcher pods, whose evictions need them, under the same.
VIRT_API = Index("virt-api", _virt_api, of=(EndpointSlice, KubeVirt))
LAUNCHERS = Index("launcher pod", _launchers, of=(Pod,))
# Each PDB that KubeVirt made.
KUBEVIRT_PDB = Index("PDB of KubeVirt", _kubevirt_pdbs, of=(PodDisruptionBudget,), namespaced=True)


# Which migrations have moved a VMI off a node.


def _evacuated(record: Record, _: ByName) -> Iterable[str]:
    moved = isinstance(record, VirtualMachineInstanceMigration) and record.phase == "Succeeded" and record.evacuates
    return (moved,) if moved else ()


# Those that succeeded, under the node that they were to empty.
EVACUATED = Index("evacuated node", _evacuated, of=(VirtualMachineInstanceMigration,))


# VMs whose starts fail.


def _failing(record: Record, _: ByName) -> Iterable[str]:
    failing = isinstance(record, VirtualMachine) and record.failed_starts > 0
    return (vm_key(record.namespace, record.name),) if failing else ()


FAILING_STARTS = Index("VM whose starts fail", _failing, of=(VirtualMachine,), namespaced=True)


# VMs that were stopped for the drain of a node, and the nodes by which they can be started again.

ANY_NODE = ""
"""The key under which all nodes are: where the one that was drained is gone, another one has to take VMs."""


def _stopped(record: Record, _: ByName) -> Iterable[str]:
    stopped = isinstance(record, VirtualMachine) and record.drain_stop is not None
    return (vm_key(record.namespace, record.name),) if stopped else ()


def _stopped_for(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, Node):
        return (record.name, ANY_NODE)
    if isinstance(record, NodeMaintenance):
        return (record.node,) if record.node else ()
    stop = record.drain_stop if isinstance(record, VirtualMachine) else None
    return (stop.node, ANY_NODE) if stop is not None else ()


STOPPED = Index("VM stopped for a drain", _stopped, of=(VirtualMachine,), namespaced=True)
# The node that VMs were stopped for, with its maintenances; these VMs only listen.
DRAINED_NODE = Index(
    "node that VMs were stopped for",
    _stopped_for,
    of=(Node, NodeMaintenance, VirtualMachine),
    dependents=(VirtualMachine,),
)


# VMIs that the settings of the KubeVirt object leave as they are.

OUTDATED, UNMOVABLE = "outdated", "unmovable"


def _left(record: Record, _: ByName) -> Iterable[str]:
    if isinstance(record, VirtualMachineInstanceMigration):
        return (OUTDATED,) if record.updates and not record.finished else ()
    if not isinstance(record, VirtualMachineInstance) or record.final or not record.node:
        return ()
    old = (OUTDATED,) if record.outdated else ()
    return (*old, UNMOVABLE) if record.migratable == "False" and not record.strategy else old


# Those in launchers of an earlier release, with the migrations by which KubeVirt replaces them; and those that can't be
# live-migrated, and whose eviction strategy is the cluster's default.
LEFT = Index("VMIs that are left as they are", _left, of=(VirtualMachineInstance, VirtualMachineInstanceMigration))


# PersistentVolumes by the PersistentVolumeClaims that are bound to them.


def _bound(record: Record, _: ByName) -> Iterable[str]:
    return (record.pvc,) if isinstance(record, PersistentVolume) else ()


BOUND = Index("PersistentVolumeClaim", _bound, of=(PersistentVolume,))
