"""A node with all that is on it, sorted once; and whether somebody empties it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property

from ...findings import Since
from ...model.eviction import drain_taints, emptied, left_to_drain
from ...model.indexes.nodes import NODE, RUNNING
from ...model.kinds.kube_virt import DRAIN_TAINT, KubeVirt
from ...model.kinds.node import CORDON, Node
from ...model.kinds.node_maintenance import NodeMaintenance
from ...model.kinds.pod import Pod, Role
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ...model.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..base import View

__all__ = ["Site", "site_of"]

Time = tuple[float | None, Since]
UNKNOWN: Time = (None, Since.FIRST_SEEN)


@dataclass
class Site:
    view: View
    name: str
    kubevirt: KubeVirt | None
    node: Node | None = None
    vmis: list[VirtualMachineInstance] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    launchers: list[Pod] = field(default_factory=list)  # of its VMIs, wherever they are, and all that are on it
    migrations: list[VirtualMachineInstanceMigration] = field(default_factory=list)
    maintenances: list[NodeMaintenance] = field(default_factory=list)

    @cached_property
    def cordoned(self) -> bool:
        return self.node is not None and emptied(self.node)

    @cached_property
    def taints(self) -> tuple[str, ...]:
        return drain_taints(self.node, self.kubevirt) if self.node is not None else ()

    @property
    def closed(self) -> bool:
        """Whether somebody has set about to empty it: otherwise a mark has no reason that is seen."""
        return self.cordoned or bool(self.taints)

    @property
    def kubevirt_taint(self) -> str:
        """KubeVirt's own taint for a drain, where it is on the node."""
        key = self.kubevirt.drain_taint if self.kubevirt is not None else DRAIN_TAINT
        return key if key in self.taints else ""

    @cached_property
    def signals(self) -> tuple[str, ...]:
        """What says that it is drained. A cordon alone does not (firmware-eviction B.8)."""
        found = [f"taint {key}" for key in self.taints]
        if self.cordoned:
            found += [f"{each.ref}" for each in self.maintenances if each.deleting is None]
            if any(vmi.evacuation == self.name and not vmi.descheduled for vmi in self.vmis):
                found.append("VMIs are marked to leave it")
            if not left_to_drain(pod for pod in self.pods if pod.node == self.name):
                found.append("no other pod is left on it")
        return tuple(sorted(found))

    @property
    def draining(self) -> bool:
        return bool(self.signals)

    @cached_property
    def since(self) -> Time:
        """Since when it is being emptied, by the best that tells (B.10)."""
        maintained = [each.created for each in self.maintenances if each.created is not None]
        if maintained:
            return min(maintained), Since.CREATION
        taints = self.node.taints if self.node is not None else ()
        added = [each.added for each in taints if each.added is not None and each.key in (CORDON, *self.taints)]
        if added:
            return min(added), Since.TAINT
        requested = [
            vmi.evacuation_since
            for vmi in self.vmis
            if vmi.evacuation_since is not None and vmi.evacuation == self.name
        ]
        return (min(requested), Since.CONDITION) if requested else UNKNOWN

    @cached_property
    def launchers_of(self) -> dict[str, list[Pod]]:
        """The launcher pods by the uid of their VMI, in order."""
        found: dict[str, list[Pod]] = defaultdict(list)
        for each in sorted(self.launchers, key=lambda pod: pod.ref):
            found[each.vmi_uid].append(each)
        return found

    @cached_property
    def migrations_of(self) -> dict[tuple[str, str], list[VirtualMachineInstanceMigration]]:
        """The migrations by namespace and name of their VMI, newest first."""
        found: dict[tuple[str, str], list[VirtualMachineInstanceMigration]] = defaultdict(list)
        for each in sorted(self.migrations, key=lambda each: (-(each.created or 0.0), each.name)):
            found[each.namespace, each.vmi].append(each)
        return found

    @cached_property
    def plugged(self) -> dict[tuple[str, str], list[str]]:
        """The pods that hold plugged volumes by namespace and name of the launcher pod, in order."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for each in self.pods:
            if each.role is Role.HOTPLUG:
                found[each.namespace, each.owner].append(each.name)
        return {key: sorted(names) for key, names in found.items()}

    @cached_property
    def outbound(self) -> int:
        """How many migrations of its VMIs run."""
        return sum(each.running for each in self.migrations)

    @cached_property
    def running(self) -> int:
        """How many migrations run in the whole cluster."""
        return sum(1 for _ in self.view.sharing(RUNNING, ""))

    @property
    def busy(self) -> bool:
        """Whether any migration runs that others may wait for."""
        return self.running > 0

    @property
    def full(self) -> bool:
        """Whether a limit of migrations at once is reached (firmware-eviction B.5)."""
        limits = self.kubevirt
        return limits is not None and (self.outbound >= limits.per_node or self.running >= limits.per_cluster)


def site_of(view: View) -> Site:
    kubevirts = sorted(view.all(KubeVirt), key=lambda each: each.ref)
    site = Site(view, view.partition, kubevirts[0] if kubevirts else None)
    for record in view.sharing(NODE, view.partition):
        if isinstance(record, Pod):
            site.pods.append(record)
            if record.role is Role.LAUNCHER:
                site.launchers.append(record)
        elif isinstance(record, VirtualMachineInstance):
            site.vmis.append(record)
        elif isinstance(record, VirtualMachineInstanceMigration):
            site.migrations.append(record)
        elif isinstance(record, NodeMaintenance):
            site.maintenances.append(record)
        elif isinstance(record, Node):
            site.node = record
    return site
