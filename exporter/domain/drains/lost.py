"""What happens to VMIs whose node is not Ready any more, and when.

Kubernetes taints such a node, and deletes each pod once it does not tolerate the taint any longer, after five minutes
where the pod says nothing else (pkg/controller/tainteviction and plugin/pkg/admission/defaulttolerationseconds of
kubernetes/kubernetes). That is no eviction: KubeVirt's webhook is not asked, no PDB counts, and the eviction strategy
of a VMI makes no difference; nor is anything migrated without its source. The pod is gone once the kubelet has ended
it, or the node is deleted or tainted as out of service (pkg/controller/podgc). KubeVirt then sets the VMI to Failed
(pkg/virt-controller/watch/vmi/lifecycle.go of kubevirt/kubevirt), and its run strategy says whether it is started again
(pkg/virt-controller/watch/vm/vm.go).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ...store.kinds.node import Node
from ...store.kinds.pod import Pod
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance

_CONDITIONS = ("node.kubernetes.io/unreachable", "node.kubernetes.io/not-ready")
_STARTS = ("Always", "RerunOnFailure")
_REPLACED = "VirtualMachineInstanceReplicaSet "


class Deletion(NamedTuple):
    """`first` is when Kubernetes deletes the first of the pods, in seconds since 1970, None where that is not known;
    `never` is how many of them it leaves where they are.
    """

    first: float | None
    never: int


def deletion(node: Node, pods: Iterable[Pod]) -> Deletion:
    """Of pods that are not being deleted."""
    times = [_deleted_at(node, pod) for pod in pods]
    known = [each for each in times if each is not None]
    return Deletion(min((each for each in known if each != _NEVER), default=None), known.count(_NEVER))


_NEVER = float("inf")


def _deleted_at(node: Node, pod: Pod) -> float | None:
    """None where no taint with its time says so."""
    found = []
    for taint in node.taints:
        if taint.key not in _CONDITIONS or taint.effect != "NoExecute" or taint.added is None:
            continue
        tolerated = [each for each in pod.placement.tolerations if each.covers(taint)]
        ends = [each.seconds for each in tolerated if each.seconds is not None]
        lasts = max(min(ends), 0) if ends else _NEVER if tolerated else 0.0
        found.append(taint.added + lasts)
    return min(found, default=None)


def stays_down(vmi: VirtualMachineInstance, vm: VirtualMachine | None) -> str:
    """Why nobody starts it again once its pod is gone, in words; empty where somebody does."""
    if vm is None or not vmi.vm_uid:
        return "" if vmi.owner.startswith(_REPLACED) else "no VM"
    if vm.deleting is not None:
        return "its VM is being deleted"
    return "" if vm.run_strategy in _STARTS else f"run strategy {vm.run_strategy or 'unknown'}"
