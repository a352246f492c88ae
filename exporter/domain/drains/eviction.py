"""What an eviction of a VM's pod would be answered with, and whether a node is being drained.

The order of the answers is that of the API server: KubeVirt's webhook first, PDBs after it, and only
for what the webhook lets pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain, islice

from ...facts.selector import Selector
from ...store.kinds.components import EndpointSlice
from ...store.kinds.kube_virt import DRAIN_TAINT, KubeVirt
from ...store.kinds.node import CORDON, Node
from ...store.kinds.pod import DrainRole, Pod
from ...store.kinds.pod_disruption_budget import PodDisruptionBudget
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance


class EvictionAnswer(StrEnum):
    MIGRATES = "Migrates"  # it is asked to leave, and KubeVirt migrates it
    EXTERNAL = "External"  # it is asked to leave, and the controller that manages it has to act
    SHUTS_DOWN = "ShutsDown"  # its pod goes, and the guest with it
    NOT_MIGRATABLE = "NotMigratable"  # refused: it has to migrate, and can't
    NOT_EVALUATED = "NotEvaluated"  # refused: it has to migrate, and whether it can is not known yet
    PDB = "PDB"  # refused by a PDB
    PDBS = "PDBs"  # an error: the API server takes no more than one PDB for a pod
    PASSES = "Passes"  # there is no pod that an eviction would ask for


class Refusal(StrEnum):
    """Why a PDB lets no pod go."""

    SYNC_FAILED = "SyncFailed"  # it can't be computed: a percentage, or maxUnavailable, of pods nobody scales
    MIN_AVAILABLE_TOO_HIGH = "MinAvailableTooHigh"  # it asks for as many pods as there are
    INSUFFICIENT_PODS = "InsufficientPods"  # too few of its pods are ready now
    BEHIND = "Behind"  # its controller has not seen its last change


@dataclass(frozen=True)
class EvictionVerdict:
    """`pdbs` are those that select the pod, in order; `refusal` says why the only one refuses."""

    answer: EvictionAnswer
    pdbs: tuple[PodDisruptionBudget, ...] = ()
    refusal: Refusal | None = None


def strategy_of(vmi: VirtualMachineInstance, kubevirt: KubeVirt | None) -> str:
    """Its own evictionStrategy, else KubeVirt's default, else None, as text."""
    return vmi.strategy or (kubevirt.strategy if kubevirt is not None else "") or "None"


def current_pod(vmi: VirtualMachineInstance, pods: Iterable[Pod]) -> Pod | None:
    """The launcher pod that the guest runs in: the newest of its own on its node."""
    own = [pod for pod in pods if pod.role is DrainRole.LAUNCHER and pod.vmi_uid == vmi.uid and pod.node == vmi.node]
    return max(own, key=lambda pod: (pod.created or 0.0, pod.name), default=None)


def evicted(
    vmi: VirtualMachineInstance, pod: Pod | None, strategy: str, pdbs: Callable[[Pod], tuple[PodDisruptionBudget, ...]]
) -> EvictionVerdict:
    """What an eviction of its current pod is answered with now; `pdbs` gives those that select a pod, by name."""
    if strategy == "External":
        return EvictionVerdict(EvictionAnswer.EXTERNAL)
    able = vmi.migratable == "True"
    if strategy in ("LiveMigrate", "LiveMigrateIfPossible") and able:
        return EvictionVerdict(EvictionAnswer.MIGRATES)
    if strategy == "LiveMigrate":
        known = bool(vmi.migratable) and vmi.phase == "Running"  # Unknown is refused as False is
        return EvictionVerdict(EvictionAnswer.NOT_MIGRATABLE if known else EvictionAnswer.NOT_EVALUATED)
    if pod is None:
        return EvictionVerdict(EvictionAnswer.PASSES)
    # PDBs do not count for a pod that does not run yet, or that is being deleted.
    return _by_pdbs(pod, () if pod.phase == "Pending" or pod.deleting is not None else pdbs(pod))


def _by_pdbs(pod: Pod, selecting: tuple[PodDisruptionBudget, ...]) -> EvictionVerdict:
    if len(selecting) > 1:
        return EvictionVerdict(EvictionAnswer.PDBS, selecting)
    refusal = refused_by(selecting[0], pod) if selecting else None
    return EvictionVerdict(EvictionAnswer.PDB if refusal else EvictionAnswer.SHUTS_DOWN, selecting, refusal)


def refused_by(pdb: PodDisruptionBudget, pod: Pod) -> Refusal | None:
    """Why a PDB that selects the pod does not let it go; None where it does."""
    healthy = 0 < pdb.desired <= pdb.healthy
    if not pod.ready and (pdb.always_unhealthy or healthy):
        return None
    if pdb.refused == "SyncFailed":
        return Refusal.SYNC_FAILED
    if pdb.behind:
        return Refusal.BEHIND
    if pdb.allowed > 0:
        return None
    asks_for_all = pdb.expected > 0 and pdb.desired >= pdb.expected
    return Refusal.MIN_AVAILABLE_TOO_HIGH if asks_for_all else Refusal.INSUFFICIENT_PODS


_MANDATORY_WEBHOOK = (1, 5)  # since then an eviction fails where the webhook does not answer


def webhook_down(slices: Iterable[EndpointSlice], kubevirt: KubeVirt | None) -> bool:
    """Whether every eviction of a launcher pod fails, since virt-api has no ready endpoint; unknown without slices."""
    found = list(slices)
    before = kubevirt is not None and (0, 0) < kubevirt.release < _MANDATORY_WEBHOOK
    return bool(found) and not before and not any(each.ready for each in found)


# Taints by which others than KubeVirt's own key signal a drain, and the effects with which they keep pods off.
_DRAIN_TAINTS = ("medik8s.io/drain", "karpenter.sh/disrupted", "ToBeDeletedByClusterAutoscaler")
_KEEPS_OFF = ("NoSchedule", "NoExecute")


def cordoned(node: Node) -> bool:
    """Whether it is cordoned, by its spec or by the taint for that."""
    return node.unschedulable or any(taint.key == CORDON and taint.effect == "NoSchedule" for taint in node.taints)


def kubevirt_taint(node: Node, kubevirt: KubeVirt | None) -> str:
    """The key of KubeVirt's own drain taint, where it is on the node with the only effect that KubeVirt looks for."""
    key = kubevirt.drain_taint if kubevirt is not None else DRAIN_TAINT
    return key if any(taint.key == key and taint.effect == "NoSchedule" for taint in node.taints) else ""


def drain_taints(node: Node, kubevirt: KubeVirt | None) -> tuple[str, ...]:
    """The keys of its taints that show that it is being drained, each once."""
    others = (taint.key for taint in node.taints if taint.key in _DRAIN_TAINTS and taint.effect in _KEEPS_OFF)
    return tuple(dict.fromkeys(filter(None, (kubevirt_taint(node, kubevirt), *others))))


def left_to_drain(pods: Iterable[Pod]) -> list[Pod]:
    """The pods that a drain would evict and that are no VM's: neither a DaemonSet's nor the kubelet's own."""
    return [pod for pod in pods if pod.role is DrainRole.OTHER and pod.node and pod.deleting is None]


# Which PDBs select a pod: asked for each VM of a namespace, where there may be thousands of both.

ENOUGH = 100  # PDBs of one pod that are looked for: from two on no eviction passes


class Selecting:
    """Files each selector under a label that it requires, the rarest one, so that hardly any other is tried on a pod.

    Pods whose labels don't differ in what the selectors look at share one answer.
    """

    def __init__(self, pdbs: Iterable[PodDisruptionBudget]) -> None:
        self._pdbs: dict[Selector, list[PodDisruptionBudget]] = {}
        for pdb in sorted(pdbs, key=lambda each: each.name):
            if pdb.selector is not None:
                self._pdbs.setdefault(pdb.selector, []).append(pdb)
        required = {selector: _required(selector) for selector in self._pdbs}
        numbers = Counter(pair for each in required.values() for pairs in each for pair in pairs)
        self._keys = {each.key for selector in self._pdbs for each in selector.requirements}
        self._filed: dict[tuple[str, str], list[Selector]] = {}
        self._others: list[Selector] = []
        for selector, each in required.items():
            if not each:
                self._others.append(selector)
                continue
            rarest = each[0] if len(each) == 1 else min(each, key=lambda pairs: sum(numbers[pair] for pair in pairs))
            for pair in rarest:
                self._filed.setdefault(pair, []).append(selector)
        self._known: dict[tuple[tuple[str, str], ...], tuple[PodDisruptionBudget, ...]] = {}

    def of(self, pod: Pod) -> tuple[PodDisruptionBudget, ...]:
        """By name. Of more than ENOUGH, one more than that."""
        labels = pod.labels
        looked_at = tuple((key, value) for key, value in labels.items() if key in self._keys)
        found = self._known.get(looked_at)
        if found is None:
            filed = (self._filed.get(pair, ()) for pair in looked_at)
            selectors = (each for each in chain(self._others, *filed) if each.matches(labels))
            pdbs = islice(chain.from_iterable(map(self._pdbs.__getitem__, selectors)), ENOUGH + 1)
            found = self._known[looked_at] = tuple(sorted(pdbs, key=lambda each: each.name))
        return found


def _required(selector: Selector) -> list[tuple[tuple[str, str], ...]]:
    """For each label of which it requires certain values, these."""
    return [
        tuple((each.key, value) for value in dict.fromkeys(each.values))
        for each in selector.requirements
        if each.operator == "In"
    ]
