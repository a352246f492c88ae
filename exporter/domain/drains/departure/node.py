"""The departures of all that is on a node: of its VMIs, and of launcher pods whose VMI is not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from .context import NodeContext
from .remedies import REMEDIES
from .shape import Departure, DrainState
from .states import departure


def departures(node: NodeContext) -> list[Departure]:
    """Each VMI once, by namespace and name, and the launcher pods that belong to none of them."""
    return in_order(each_departure(node))


def each_departure(node: NodeContext) -> Iterator[Departure]:
    """The same one by one, in no order: on a node there may be thousands."""
    yield from (departure(vmi, node) for vmi in node.vmis)
    yield from _others(node)


def in_order(found: Iterable[Departure]) -> list[Departure]:
    return sorted(found, key=lambda each: (each.subject.namespace, each.subject.name))


def _others(node: NodeContext) -> Iterator[Departure]:
    """Of launcher pods on the node whose VMI is not on it: it is on another one, on none yet, over, or gone."""
    once: set[str] = set()
    for pod, vmi in _strays(node):
        if vmi is None:
            yield _orphan(pod, node)
        elif vmi.final or pod.deleting is not None:
            why = "The pod's VMI has ended." if vmi.final else "The pod is being deleted."
            yield Departure(pod, DrainState.TERMINATING, why=why)
        elif not vmi.node or _arrives(pod, vmi):
            if vmi.uid not in once:
                why = f"The VMI is migrating here from {vmi.node}."
                arriving = Departure(vmi, DrainState.ARRIVING, why=why, strategy=vmi.strategy, vmi=vmi)
                yield arriving if vmi.node else departure(vmi, node)
            once.add(vmi.uid)
        else:
            yield Departure(
                pod, DrainState.TERMINATING, why=f"The pod's VMI runs on {vmi.node}; this pod is left over."
            )


def _strays(node: NodeContext) -> Iterator[tuple[Pod, VirtualMachineInstance | None]]:
    here = {(vmi.namespace, vmi.name) for vmi in node.vmis}
    for pod in node.launchers:
        if pod.node == node.name and pod.domain and (pod.namespace, pod.domain) not in here:
            yield pod, node.drain.view.named(VirtualMachineInstance, pod.namespace, pod.domain)


def _arrives(pod: Pod, vmi: VirtualMachineInstance) -> bool:
    last = vmi.migration
    if not pod.migration or (last is not None and last.uid == pod.migration and last.ended is not None):
        return False
    return pod.phase == "Pending" or (last is not None and last.uid == pod.migration)


def orphans(node: NodeContext) -> Iterator[Departure]:
    """Of launcher pods on the node whose VMI does not exist: KubeVirt's webhook refuses each eviction of them."""
    return (_orphan(pod, node) for pod, vmi in _strays(node) if vmi is None)


def _orphan(pod: Pod, node: NodeContext) -> Departure:
    made = Departure(pod, DrainState.TERMINATING, why="The pod's VMI is gone, and the pod is being deleted.")
    if pod.deleting is not None:
        return made
    if pod.phase != "Running":
        return replace(
            made, state=DrainState.UNKNOWN, why=f"The pod does not run yet, and its VMI {pod.domain} is not there."
        )
    names = {"NAMESPACE": pod.namespace, "NAME": pod.name, "VMNAME": pod.domain, "UID": pod.uid}
    return replace(
        made,
        state=DrainState.BLOCKED,
        reason="OrphanLauncherPod",
        why=f"The pod runs, and its VMI {pod.domain} does not exist: evictions of it are refused.",
        remedy=REMEDIES["OrphanLauncherPod"],
        values=names | {"NODE": node.name},
        evidence={"vmi": pod.domain, "vmiUid": pod.vmi_uid},
        due=True,
        pod=pod,
    )
