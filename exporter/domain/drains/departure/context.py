"""What departures are evaluated by: the cluster as its reader shows it, and one node with all that is on it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from ....facts.naming import filled
from ....facts.record import Record, Ref
from ....facts.times import UNKNOWN, Since, Time
from ....store.indexes.drains import HANDLER, NODE, PDB, RUNNING, TARGET
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.node import CORDON, Node, NodeMaintenance
from ....store.kinds.pod import DrainRole, Pod
from ....store.kinds.pod_disruption_budget import PodDisruptionBudget
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ....store.reader import ClusterView
from ..eviction import EvictionAnswer, Selecting, cordoned, drain_taints, kubevirt_taint
from .remedies import NOTHING, Remedy
from .signs import proofs, signs, standing

INDEXES = (NODE, PDB, RUNNING, HANDLER, TARGET)  # a reader has to know them


@dataclass(frozen=True)
class DrainContext:
    """What all nodes share. `unseen` are the names of the kinds that can't be seen."""

    view: ClusterView
    kubevirt: KubeVirt | None
    unseen: frozenset[str] = frozenset()
    _selecting: dict[str, Selecting] = field(default_factory=dict, compare=False)  # by namespace

    def pdbs_of(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """Those that select a pod, by name; some where there are very many."""
        selecting = self._selecting.get(pod.namespace)
        if selecting is None:
            found = self.view.sharing(PDB, pod.namespace)
            selecting = Selecting(each for each in found if isinstance(each, PodDisruptionBudget))
            self._selecting[pod.namespace] = selecting
        return selecting.of(pod)

    @cached_property
    def running(self) -> int:
        """How many migrations run in the whole cluster."""
        return sum(1 for _ in self.view.sharing(RUNNING, ""))

    def seen(self, kind: type[Record]) -> bool:
        return kind.__name__ not in self.unseen


def drain_context(view: ClusterView, unseen: frozenset[str] = frozenset()) -> DrainContext:
    return DrainContext(view, min(view.all(KubeVirt), key=lambda each: each.ref, default=None), unseen)


@dataclass
class NodeContext:
    drain: DrainContext
    name: str
    node: Node | None = None
    vmis: list[VirtualMachineInstance] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)  # all on it, and those of its VMIs wherever they are
    migrations: list[VirtualMachineInstanceMigration] = field(default_factory=list)
    maintenances: list[NodeMaintenance] = field(default_factory=list)

    @property
    def kubevirt(self) -> KubeVirt | None:
        return self.drain.kubevirt

    @property
    def launchers(self) -> Iterable[Pod]:
        return (each for each in self.pods if each.role is DrainRole.LAUNCHER)

    @cached_property
    def cordoned(self) -> bool:
        return self.node is not None and cordoned(self.node)

    @cached_property
    def taints(self) -> tuple[str, ...]:
        return drain_taints(self.node, self.drain.kubevirt) if self.node is not None else ()

    @property
    def closed(self) -> bool:
        """Whether it is cordoned or tainted to be drained: otherwise nobody is seen to want its VMIs to leave."""
        return self.cordoned or bool(self.taints)

    @cached_property
    def kubevirt_taint(self) -> str:
        """The key of KubeVirt's own drain taint, where it is on the node: KubeVirt then migrates without a request."""
        return kubevirt_taint(self.node, self.drain.kubevirt) if self.node is not None else ""

    @property
    def tainted(self) -> float | None:
        """Since when KubeVirt's own drain taint is on it, where the taint tells."""
        taints = self.node.taints if self.node is not None and self.kubevirt_taint else ()
        own = (each.added for each in taints if each.key == self.kubevirt_taint and each.effect == "NoSchedule")
        return next(own, None)

    @cached_property
    def signals(self) -> tuple[str, ...]:
        """What shows that it is being drained. A cordon alone does not."""
        return signs(self)

    @property
    def draining(self) -> bool:
        """For what is reported."""
        return bool(self.signals)

    @property
    def proven(self) -> bool:
        """For what is written: by nothing that a user with permissions in namespaces alone can bring about."""
        return bool(proofs(self))

    @cached_property
    def since(self) -> Time:
        """Since when it is drained, by the best source there is."""
        maintained = [each.created for each in standing(self.maintenances) if each.created is not None]
        if maintained:
            return min(maintained), Since.CREATION
        taints = self.node.taints if self.node is not None else ()
        keep_off = (each for each in taints if each.key in (CORDON, *self.taints) and each.effect != "PreferNoSchedule")
        added = [each.added for each in keep_off if each.added is not None]
        if added:
            return min(added), Since.TAINT
        here = (vmi.asked for vmi in self.vmis if vmi.evacuation == self.name)
        return min((each for each in here if each[0] is not None), default=UNKNOWN, key=lambda each: each[0] or 0.0)

    @cached_property
    def launchers_of(self) -> dict[str, list[Pod]]:
        """The launcher pods by the uid of their VMI, in order."""
        found: dict[str, list[Pod]] = defaultdict(list)
        for each in sorted(self.launchers, key=lambda pod: (pod.namespace, pod.name)):
            found[each.vmi_uid].append(each)
        return found

    @cached_property
    def migrations_of(self) -> dict[tuple[str, str], list[VirtualMachineInstanceMigration]]:
        """The migrations by namespace and name of their VMI, newest first."""
        found: dict[tuple[str, str], list[VirtualMachineInstanceMigration]] = defaultdict(list)
        for each in sorted(self.migrations, key=lambda each: (each.created or 0.0, each.name), reverse=True):
            found[each.namespace, each.vmi].append(each)
        return found

    @cached_property
    def plugged(self) -> dict[tuple[str, str], list[str]]:
        """The hotplug pods by namespace and name of their launcher pod, in order."""
        found: dict[tuple[str, str], list[str]] = defaultdict(list)
        for each in sorted(self.pods, key=lambda pod: pod.name):
            if each.role is DrainRole.HOTPLUG:
                found[each.namespace, each.owner].append(each.name)
        return found

    @cached_property
    def outbound(self) -> int:
        """How many migrations of its VMIs run."""
        return sum(each.running for each in self.migrations)

    @property
    def full(self) -> bool:
        """Whether a limit of migrations at once is reached."""
        limits = self.drain.kubevirt
        return limits is not None and (self.outbound >= limits.per_node or self.drain.running >= limits.per_cluster)


def node_context(drain: DrainContext, name: str) -> NodeContext:
    context = NodeContext(drain, name)
    for record in drain.view.sharing(NODE, name):
        if isinstance(record, Pod):
            context.pods.append(record)
        elif isinstance(record, VirtualMachineInstance):
            context.vmis.append(record)
        elif isinstance(record, VirtualMachineInstanceMigration):
            context.migrations.append(record)
        elif isinstance(record, NodeMaintenance):
            context.maintenances.append(record)
        elif isinstance(record, Node):
            context.node = record
    return context


# The answer to "will this VMI leave its node, and what is in the way".


class DrainState(StrEnum):
    """What a drain of the node does to a VMI; in the order in which they are shown."""

    BLOCKED = "blocked"  # it stays, and the node with it, while nothing changes
    UNKNOWN = "unknown"  # what decides can't be seen
    SHUTS_DOWN = "shuts_down"  # an eviction ends the guest
    EXTERNAL = "external"  # strategy External: a controller other than KubeVirt's has to act
    MAY_MIGRATE = "may_migrate"  # KubeVirt would migrate it, and what it last came to or is not known may be in the way
    MIGRATING = "migrating"
    WAITING = "waiting"  # KubeVirt migrates it when it is evicted, or in its turn
    ARRIVING = "arriving"  # it migrates to the node, and will have to leave again
    TERMINATING = "terminating"  # it is being deleted, or has ended


@dataclass(frozen=True)
class Departure:
    """`subject` is a VMI, or the launcher pod of one that is not on the node; `pod` is what an eviction asks for.

    `reason` is one of the check `evictions`, or of what a drain says beforehand; empty where nothing is in the way.
    `due` says that somebody wants it to leave by now. `also` are departures that are true beside this one. `answer`
    is what an eviction is answered with, where that was asked, and `to` the node or the controller that it goes to.
    """

    subject: Record
    state: DrainState
    reason: str = ""
    why: str = ""
    remedy: Remedy = NOTHING
    values: Mapping[str, str] = field(default_factory=dict)
    since: Time = UNKNOWN
    evidence: Mapping[str, object] = field(default_factory=dict)
    related: tuple[Ref, ...] = ()
    due: bool = False
    also: tuple[Departure, ...] = ()
    strategy: str = ""
    answer: EvictionAnswer | None = None
    to: str = ""
    vmi: VirtualMachineInstance | None = None
    pod: Pod | None = None

    @property
    def commands(self) -> tuple[str, ...]:
        return tuple(filled(each, self.values) for each in self.remedy.commands)
