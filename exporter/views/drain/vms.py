"""What becomes of each VM of one node: by what an eviction is answered with, and by how far its move is.

Whether another node could take it is not asked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ...model.cluster import Cluster
from ...model.evacuation import Stall, Stalled, stalled, underway
from ...model.eviction import Answer, Verdict, current_pod, evicted, strategy_of
from ...model.indexes.nodes import NODE, RUNNING
from ...model.kinds.kube_virt import KubeVirt
from ...model.kinds.node import Node
from ...model.kinds.pod import Pod, Role
from ...model.kinds.pod_disruption_budget import PodDisruptionBudget
from ...model.kinds.virtual_machine_instance import VirtualMachineInstance
from ...model.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...model.record import Record
from . import messages, remedies
from .report import Outcome, Reason

__all__ = ["Fate", "Scene", "fates"]

_NO_POD = "it runs, and no launcher pod of it is seen on the node: whether it would leave can't be reported"
_AT_ONCE = (1, 9)  # the first release that makes all migrations at once; before, as many as the limits let run


@dataclass(frozen=True)
class Scene:
    """What all nodes are evaluated by. `unseen` are the names of kinds that can't be seen."""

    cluster: Cluster
    kubevirt: KubeVirt | None
    unseen: frozenset[str]

    @property
    def running(self) -> int:
        """Migrations of the whole cluster that run now."""
        return sum(1 for _ in self.cluster.sharing(RUNNING, ""))


@dataclass(frozen=True)
class Fate:
    """What becomes of a VM. `moves` says that it is to migrate, and has no target yet; `pod` is what runs now."""

    subject: Record
    outcome: Outcome
    strategy: str = ""
    reason: Reason | None = None
    why: str = ""
    remedies: str = ""
    to: str = ""
    vmi: VirtualMachineInstance | None = None
    pod: Pod | None = None
    moves: bool = False


@dataclass
class _Node:
    """What stands in the bucket of a node, by what it is; pods and migrations by their VM."""

    node: Node
    scene: Scene
    vmis: list[VirtualMachineInstance] = field(default_factory=list)
    pods: dict[tuple[str, str], list[Pod]] = field(default_factory=dict)
    migrations: dict[tuple[str, str], list[VirtualMachineInstanceMigration]] = field(default_factory=dict)

    @property
    def tainted(self) -> bool:
        """Whether KubeVirt moves everything off it without being asked (B.4)."""
        key = self.scene.kubevirt.drain_taint if self.scene.kubevirt is not None else ""
        return any(taint.key == key and taint.effect == "NoSchedule" for taint in self.node.taints)

    @property
    def running(self) -> int:
        return sum(each.running for found in self.migrations.values() for each in found)


def fates(node: Node, scene: Scene) -> list[Fate]:
    """Of all VMs of the node, in the order of their names."""
    here = _Node(node, scene)
    for record in scene.cluster.sharing(NODE, node.name):
        if isinstance(record, VirtualMachineInstance):
            here.vmis.append(record)
        elif isinstance(record, Pod) and record.role is Role.LAUNCHER and record.domain:
            here.pods.setdefault((record.namespace, record.domain), []).append(record)
        elif isinstance(record, VirtualMachineInstanceMigration):
            here.migrations.setdefault((record.namespace, record.vmi), []).append(record)
    found = [_vmi(here, vmi, current_pod(vmi, _pods(here, vmi))) for vmi in here.vmis]
    found += _others(here)
    return sorted(found, key=lambda each: (each.subject.namespace, each.subject.name))


def _pods(here: _Node, vmi: VirtualMachineInstance) -> list[Pod]:
    return here.pods.get((vmi.namespace, vmi.name), [])


def _others(here: _Node) -> Iterator[Fate]:
    """Launcher pods on the node whose VMI is not on it."""
    own = {(vmi.namespace, vmi.name) for vmi in here.vmis}
    for key, pods in here.pods.items():
        if key in own:
            continue
        vmi = here.scene.cluster.get(VirtualMachineInstance, *key)
        for pod in (each for each in pods if each.node == here.node.name):
            yield _without_vmi(pod) if vmi is None else _elsewhere(here, vmi, pod)


def _without_vmi(pod: Pod) -> Fate:
    if pod.deleting is not None:
        return Fate(pod, Outcome.ENDS, why="its VMI is gone, and it is being deleted")
    why = f"no VirtualMachineInstance {pod.domain} is there, so the webhook refuses every eviction of its pod"
    return Fate(pod, Outcome.BLOCKS, reason=Reason.ORPHAN_LAUNCHER_POD, why=why, remedies=remedies.orphan(pod), pod=pod)


def _elsewhere(here: _Node, vmi: VirtualMachineInstance, pod: Pod) -> Fate:
    """Of a pod here, of a VMI that is on another node, on none yet, or over."""
    if vmi.final or pod.deleting is not None:
        return Fate(pod, Outcome.ENDS, why="its VM has ended" if vmi.final else "it is being deleted")
    if not vmi.node:
        return _vmi(here, vmi, pod)
    last = vmi.migration
    over = last is not None and last.uid == pod.migration and last.ended is not None
    if pod.migration and not over and (pod.phase == "Pending" or (last is not None and last.uid == pod.migration)):
        return Fate(vmi, Outcome.ARRIVES, vmi.strategy, why=f"it is migrating here from {vmi.node}", vmi=vmi)
    return Fate(pod, Outcome.ENDS, why=f"its VM runs on {vmi.node}; this pod is left over and ends")


def _vmi(here: _Node, vmi: VirtualMachineInstance, pod: Pod | None) -> Fate:
    scene = here.scene
    strategy = strategy_of(vmi, scene.kubevirt)
    fate = Fate(vmi, Outcome.UNKNOWN, strategy, vmi=vmi, pod=pod)
    if vmi.deleting is not None:
        return replace(fate, outcome=Outcome.ENDS, why="it is being deleted")
    if not vmi.strategy and KubeVirt.__name__ in scene.unseen:
        return replace(fate, strategy="", why="it has no evictionStrategy of its own, and KubeVirt can't be seen")
    pdbs = scene.cluster.within(PodDisruptionBudget, vmi.namespace)
    verdict = evicted(vmi, pod, strategy, pdbs)
    if verdict.answer is Answer.PASSES:
        return replace(fate, why=_NO_POD)
    if pod is not None and verdict.answer in (Answer.SHUTS_DOWN, Answer.PDB, Answer.PDBS):
        return _let_through(fate, vmi, pod, verdict, scene)
    migrations = here.migrations.get((vmi.namespace, vmi.name), [])
    moving = underway(migrations)
    if vmi.migrating or (moving is not None and moving.running):
        held = stalled(vmi, migrations, _pods(here, vmi), tainted=here.tainted)
        if held is None or held.stall is Stall.NAME_TOO_LONG:
            target = vmi.migration.target if vmi.migration is not None and vmi.migrating else ""
            why = f"its migration is {moving.phase or 'Pending'}" if moving is not None else "it is migrating"
            return replace(fate, outcome=Outcome.MIGRATING, to=target, why=why)
    return _protected(fate, vmi, verdict, here)


def _let_through(fate: Fate, vmi: VirtualMachineInstance, pod: Pod, verdict: Verdict, scene: Scene) -> Fate:
    """The webhook does not protect it: only PDBs can."""
    if PodDisruptionBudget.__name__ in scene.unseen:
        return replace(fate, why="PDBs decide whether it may be evicted, and they can't be seen")
    if verdict.answer is Answer.SHUTS_DOWN:
        why = messages.unprotected(vmi, fate.strategy)
        return replace(fate, outcome=Outcome.SHUTS_DOWN, why=why, remedies=remedies.of_shutdown(vmi))
    reason = Reason.USER_PDB if verdict.answer is Answer.PDB else Reason.MULTIPLE_PDB
    why = messages.budgeted(verdict, pod)
    return replace(fate, outcome=Outcome.BLOCKS, reason=reason, why=why, remedies=remedies.of_pdb(vmi, verdict))


def _protected(fate: Fate, vmi: VirtualMachineInstance, verdict: Verdict, here: _Node) -> Fate:
    """The webhook refuses, and somebody has to move it: KubeVirt, or who answers for it."""
    if verdict.answer is Answer.NOT_MIGRATABLE:
        why = messages.hindrance(vmi)
        return replace(
            fate, outcome=Outcome.BLOCKS, reason=Reason.NOT_MIGRATABLE, why=why, remedies=remedies.unblocked(vmi)
        )
    if verdict.answer is Answer.NOT_EVALUATED:
        why = "whether it can migrate is not known yet (no condition LiveMigratable), and until then it is refused"
        return replace(
            fate, outcome=Outcome.BLOCKS, reason=Reason.NOT_EVALUATED, why=why, remedies=remedies.evaluated(vmi)
        )
    if VirtualMachineInstanceMigration.__name__ in here.scene.unseen:
        return replace(fate, why="how far its move is can't be seen without migrations")
    external = verdict.answer is Answer.EXTERNAL
    migrations = here.migrations.get((vmi.namespace, vmi.name), [])
    held = stalled(vmi, migrations, _pods(here, vmi), tainted=here.tainted and not external)
    if external:
        return _external(fate, vmi, held, here.scene)
    if held is not None and not (held.stall is Stall.NOT_STARTED and _full(here)):
        return replace(_stalled(fate, vmi, held, here.scene), moves=held.stall is not Stall.NAME_TOO_LONG)
    if not here.node.ready:
        return replace(fate, why="its node is not Ready: whether it can be moved off it can't be reported")
    if fate.pod is None:
        return replace(fate, why=_NO_POD)
    why = messages.turn(vmi, underway(migrations), migrations, tainted=here.tainted)
    return replace(fate, outcome=Outcome.MIGRATES, why=why, moves=True)


def _full(here: _Node) -> bool:
    """Whether it is normal that no migration is made yet: a release before 1.9 makes none beyond the limits (B.4)."""
    kubevirt = here.scene.kubevirt
    if kubevirt is None or kubevirt.release >= _AT_ONCE:
        return False
    return here.running >= kubevirt.per_node or here.scene.running >= kubevirt.per_cluster


def _external(fate: Fate, vmi: VirtualMachineInstance, held: Stalled | None, scene: Scene) -> Fate:
    if held is not None and held.stall is Stall.STALE_REQUEST:
        return _stalled(fate, vmi, held, scene)
    to = f"KubevirtMachine {vmi.handler}" if vmi.handler else vmi.owner
    if not to:
        why = "its strategy is External, and no label or owner says who answers for it"
        return replace(
            fate, outcome=Outcome.BLOCKS, reason=Reason.EXTERNAL_NO_HANDLER, why=why, remedies=remedies.handled(vmi)
        )
    why = "its controller was asked to move or end it" if vmi.evacuation else "its controller will be asked"
    return replace(fate, outcome=Outcome.LEFT_TO, to=to, why=why)


def _stalled(fate: Fate, vmi: VirtualMachineInstance, held: Stalled, scene: Scene) -> Fate:
    rejections = held.migration.rejections if held.migration is not None else ()
    exists = scene.cluster.get(Node, "", vmi.evacuation) is not None
    what = {
        Stall.NAME_TOO_LONG: lambda: remedies.shortened(vmi),
        Stall.STALE_REQUEST: lambda: remedies.cancelled(vmi, node_exists=exists, kubevirt=scene.kubevirt),
        Stall.TARGET_UNSCHEDULABLE: lambda: remedies.made_room(vmi),
        Stall.REJECTED: lambda: remedies.succeeded(vmi, rejections),
        Stall.FAILING: lambda: remedies.succeeded(vmi, ()),
        Stall.SEVERAL_PODS: lambda: remedies.started(vmi, several=True),
        Stall.NOT_STARTED: lambda: remedies.started(vmi, several=False),
    }
    why = messages.stalled(vmi, held)
    return replace(fate, outcome=Outcome.BLOCKS, reason=Reason(held.stall.value), why=why, remedies=what[held.stall]())
