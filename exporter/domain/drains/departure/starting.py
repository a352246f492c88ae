"""A target pod that does not start: no node takes it, or its containers wait for an image, a volume, the network.

KubeVirt gives such a migration up, after 300 seconds where no node takes the pod and after 900 where one has it
(`handlePendingPodTimeout` in pkg/virt-controller/watch/migration/migration.go), and makes the next one where the VMI
still has to leave.
"""

from __future__ import annotations

from dataclasses import replace

from ....store.kinds.pod import Pod
from ....store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ....store.text.naming import named
from ....store.text.since import UNKNOWN, Since, Time
from ..scheduling import hindrance, ruled_out
from .building import of
from .shape import Departure, DrainState
from .vmi import VMIContext

_IMAGE = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError")
_CPU_FEATURE = "cpu-feature.node.kubevirt.io/"
_CREATING = ("ContainerCreating", "PodInitializing")


def unschedulable(own: VMIContext) -> Pod | None:
    """The target pod of its open migration, where no node takes it."""
    pod = own.target
    return pod if pod is not None and pod.phase == "Pending" and pod.unschedulable else None


def starting(own: VMIContext, migration: VirtualMachineInstanceMigration, began: Time) -> Departure | None:
    """Of a VMI whose target pod does not start. Whether that takes too long is for who knows the time."""
    pod = own.target
    if pod is None or pod.phase != "Pending" or pod.deleting is not None:
        return None
    if pod.unschedulable:
        return _unplaced(own, migration, pod, began)
    return _waiting(own, migration, pod) if pod.node and pod.waiting else None


def _unplaced(own: VMIContext, migration: VirtualMachineInstanceMigration, pod: Pod, began: Time) -> Departure:
    first, stale = hindrance(pod.unschedulable), _stale(own, pod)
    # Without preemption, which never helps a pod without a priority of its own, and doubles the text.
    conditions = [f"{each.nodes} {each.condition}" for each in ruled_out(pod.unschedulable)]
    case = "Stale" if stale else first.kind if first is not None else ""
    made = of(
        own,
        DrainState.BLOCKED,
        "TargetUnschedulable",
        f"no node takes the target pod of the VMI's migration: {', '.join(conditions) or pod.unschedulable}"
        + (f"; it asks for CPU features that not even {own.vmi.node} has a label of: {named(stale)}" if stale else ""),
        case,
        since=began,
        values={"RESOURCE": first.lacking} if first is not None else {},
        migration=migration.name,
        pod=pod.name,
        scheduler=pod.unschedulable,
        cause=case,
        staleFeatures=stale,
        ruledOut={each.condition: each.nodes for each in ruled_out(pod.unschedulable)} or None,
    )
    return replace(made, related=(migration.ref, pod.ref))


def _stale(own: VMIContext, pod: Pod) -> list[str]:
    """The CPU features that it asks for and that not even the node has a label of on which the guest runs: KubeVirt
    copies them from pod to pod, and another release of libvirt reports others (kubevirt/kubevirt#17812).
    """
    labels = dict(own.node.node.label_pairs) if own.node.node is not None else {}
    if not any(key.startswith(_CPU_FEATURE) for key in labels):
        return []
    asked = (each for each in pod.placement.selector if each.key.startswith(_CPU_FEATURE) and not each.holds(labels))
    return sorted(each.key.removeprefix(_CPU_FEATURE) for each in asked)


def _waiting(own: VMIContext, migration: VirtualMachineInstanceMigration, pod: Pod) -> Departure:
    container, reason, message = pod.waiting
    case, what = _case(pod, reason)
    said = ": ".join(filter(None, (reason or "Waiting", message)))
    made = of(
        own,
        DrainState.MIGRATING,
        "TargetNotStarting",
        f"target pod {pod.name} on {pod.node} does not start: {what}container {container} waits ({said})",
        case,
        since=(pod.scheduled, Since.CONDITION),
        to=pod.node,
        values={"TARGETPOD": pod.name, "TARGETNODE": pod.node},
        migration=migration.name,
        targetPod=pod.name,
        targetNode=pod.node,
        container=container,
        waiting=said,
        cause=case,
    )
    return replace(made, related=(migration.ref, pod.ref))


def _case(pod: Pod, reason: str) -> tuple[str, str]:
    if reason in _IMAGE:
        return "Image", ""
    if reason in _CREATING and pod.sandboxed == "False":
        return "Sandbox", "its volumes or its network are not there, and "
    return ("Creating" if reason in _CREATING else "Container"), ""


def explained(own: VMIContext, made: Departure) -> Departure:
    """With what the target pod of its open migration waits for: KubeVirt does not say why it gave up those before."""
    waits = starting(own, own.open, UNKNOWN) if own.open is not None else None
    if waits is None or waits.evidence["cause"] == "Creating":
        return made
    why = f"{made.why.removesuffix('.')}; now {waits.why[:1].lower()}{waits.why[1:]}"
    evidence = {**made.evidence, "waiting": waits.evidence.get("waiting", "")}
    return replace(made, why=why, remedy=waits.remedy, values={**made.values, **waits.values}, evidence=evidence)
