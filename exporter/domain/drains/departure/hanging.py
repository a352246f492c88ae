"""A migration that hangs after its target pod was made: it waits for somebody who does not act, and nothing ends it.

What KubeVirt ends by itself, from 1.5 to 1.9 (kubevirt/kubevirt):
- a target pod that is Pending and not being deleted: after 300 seconds where no node takes it, else after 900; one in
  another phase never (`handlePendingPodTimeout` in pkg/virt-controller/watch/migration/migration.go);
- a migration whose target pod has ended or is gone (`updateStatus` there);
- a copy that makes no progress or takes too long, by `progressTimeout` and `completionTimeoutPerGiB` of its settings, 0
  being never; not in post-copy, which would lose the guest (pkg/virt-launcher/virtwrap/live-migration-source.go).

Every other step waits without an end (`processMigrationPhase` in migration.go): Pending for the pods of plugged
volumes, Scheduling for the containers of the target pod, Scheduled for virt-controller, PreparingTarget for
virt-handler at the target, which publishes where it listens (`updateStatus` in pkg/virt-handler/migration-target.go, up
to 1.5 in vm.go), TargetReady for virt-handler of the source, which starts it (migration-source.go beside it). While it
runs, only the source reports that it failed (`setMigrationProgressStatus`), and only the target that the guest has come
(`ackMigrationCompletion`). A migration that is deleted ends at once where
it was not handed over yet (`isMigrationHandedOff`); else it is aborted once it runs, and not before.

The wait for a pod is counted from when it runs: before, the migration may have waited for its turn, and the pod for its
images. While a backup runs (from 1.8 on) a migration stays Pending though its target pod runs; that is no hanging one.

Not seen here: a copy without progress where both time-outs are 0, or in post-copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from ....facts.naming import named
from ....facts.placement import ANYWHERE
from ....facts.times import UNKNOWN, Since, Time
from ....store.indexes.drains import TARGET
from ....store.kinds.node import Node
from ....store.kinds.pod import DrainRole, Pod
from ....store.kinds.pod_parts import INITIALIZES
from ....store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ...features.node_sets import CPU_FEATURE, CPU_TO_MIGRATE
from .context import Departure, DrainState
from .vmi import VMIContext, of

_POST_COPY = "PostCopy"
_BEFORE = ("Pending", "Scheduling")  # the phases before its target pod is ready
_DELETED = {
    "PreparingTarget": "which takes effect once it runs",
    "TargetReady": "which takes effect once it runs",
    "Running": "but has not been aborted",
}
_NOT_ENDED = "but virt-controller has not ended it"  # what it does at once with one that was not handed over


@dataclass(frozen=True)
class _Wait:
    """What the migration waits for. `since` is given where that is not when it came into its phase."""

    cause: str
    whom: str
    since: Time | None = None
    case: str = ""  # of the remedies, where that is not the cause
    evidence: Mapping[str, object] = field(default_factory=dict)


def hanging(own: VMIContext) -> Departure | None:
    """Of a VMI whose open migration is in a step that nothing ends. Whether it takes too long is for who knows the
    time: each migration goes through these steps, within seconds.
    """
    migration = own.open
    waits = _waits(own, migration) if migration is not None else None
    if migration is None or waits is None:
        return None
    pod, node = own.target, _target_node(own)
    counts = _DELETED.get(migration.phase, _NOT_ENDED)
    deleted = "" if migration.deleting is None else f". The migration was deleted, {counts}"
    made = of(
        own,
        DrainState.MIGRATING,
        "MigrationHanging",
        f"migration {migration.name} is in phase {migration.phase} and waits for {waits.whom}{deleted}",
        waits.case or waits.cause,
        since=waits.since or _began(migration, pod),
        to=node,
        values={"TARGETNODE": node, "TARGETPOD": pod.name if pod is not None else ""},
        migration=migration.name,
        phase=migration.phase,
        cause=waits.cause,
        targetPod=pod.name if pod is not None else "",
        targetNode=node,
    )
    related = (migration.ref, *((pod.ref,) if pod is not None else ()))
    return replace(made, evidence=dict(made.evidence) | dict(waits.evidence), related=related)


def _began(migration: VirtualMachineInstanceMigration, pod: Pod | None) -> Time:
    if migration.phase_since is not None:
        times: list[Time] = [(migration.phase_since, Since.PHASE)]
        if migration.phase in _BEFORE and pod is not None:
            # Before that it may have waited for its turn, and its target pod for images.
            times += [(pod.created, Since.CREATION), (pod.started, Since.START)]
        return max(times, key=lambda each: each[0] or 0.0)
    return (pod.created if pod is not None else migration.created), Since.FIRST_SEEN


def _waits(own: VMIContext, migration: VirtualMachineInstanceMigration) -> _Wait | None:
    phase, pod = migration.phase, own.target
    if phase == "Running":
        return _while_it_runs(own, migration)
    if phase == "TargetReady":
        return _virt_handler(own, own.node.name, "SourceHandler", "to start it")
    if phase == "PreparingTarget":
        return _virt_handler(own, _handed_to(own), "TargetHandler", "to prepare the target")
    if phase in (*_BEFORE, "Scheduled") and pod is not None and pod.deleting is not None:
        return _Wait("TargetEnding", f"target pod {pod.name}, which is being deleted, to end")
    if phase == "Scheduled" and own.node.node is not None and not own.node.node.ready:
        return _virt_handler(own, own.node.name, "SourceHandler", "to hand the guest over")
    if phase == "Scheduled":
        return _Wait("Unhandled", "virt-controller to hand it over to the target")
    if phase == "Pending" and own.holding:
        return None
    if phase in _BEFORE and pod is not None and pod.phase == "Running":
        return _for_its_target_pod(own, pod, phase)
    return None  # its target pod is not made yet, or KubeVirt gives it up


def _for_its_target_pod(own: VMIContext, pod: Pod, phase: str) -> _Wait:
    if own.vmi.plugged or own.plugged():
        return _Wait("Volumes", f"the pods of the hotplugged volumes on {pod.node}")
    if phase == "Pending" or pod.lagging == "":
        return _Wait("Unhandled", f"virt-controller, although target pod {pod.name} runs on {pod.node}")
    containers = f"container {pod.lagging}" if pod.lagging else "the containers"
    return _Wait("Containers", f"{containers} of target pod {pod.name} on {pod.node} to start")


def _while_it_runs(own: VMIContext, migration: VirtualMachineInstanceMigration) -> _Wait | None:
    last = own.vmi.migration
    if last is None or last.uid != migration.uid:
        return None
    if last.ended is not None:
        failed = "virt-controller to end it, although the status of the VMI says that it has failed"
        return _Wait("Unhandled", failed, (last.ended, Since.PHASE)) if last.failed else None
    if last.arrived is not None and last.mode != _POST_COPY:
        waits = _virt_handler(own, _handed_to(own), "TargetHandler", "to acknowledge that the guest has arrived")
        return replace(waits, since=(last.arrived, Since.PHASE))
    waits = _virt_handler(own, own.node.name, "SourceHandler", "to report its progress")
    # Since when it can't report is not known; while it can, the time-outs of KubeVirt hold. Where virt-handler of the
    # target is seen, that of the source would be too.
    missing = not _handlers(own, own.node.name) and _handlers(own, _handed_to(own))
    silent = waits.evidence.get("virtHandlerReady") is False or missing
    return replace(waits, since=(migration.phase_since, Since.FIRST_SEEN)) if silent else None


# -- the nodes


def _target_node(own: VMIContext) -> str:
    return _handed_to(own) or (own.target.node if own.target is not None else "")


def _handed_to(own: VMIContext) -> str:
    """The node whose virt-handler has it in hand, by the status of the VMI."""
    migration, last = own.open, own.vmi.migration
    return last.target if last is not None and migration is not None and last.uid == migration.uid else ""


def _virt_handler(own: VMIContext, name: str, cause: str, what: str) -> _Wait:
    """It waits for virt-handler of a node. A pod that is not seen proves nothing: a dump may lack its namespace."""
    if not name:
        return _Wait("Unhandled", "a target that the status of the VMI does not name")
    source = name == own.node.name
    node = own.node.node if source else own.node.drain.view.named(Node, "", name)
    pods = _handlers(own, name)
    evidence: dict[str, object] = {}
    if pods:
        ready = pods[0].ready
        evidence = {"virtHandler": f"{pods[0].namespace}/{pods[0].name}", "virtHandlerReady": ready}
        state = f"pod {pods[0].name} is {'' if ready else 'not '}Ready"
    else:
        state = "no pod of it is seen there"
    case = ""
    if node is None or not node.ready:
        cause = "SourceHandler" if source else "TargetNode"
        case = "SourceNode" if source else "TargetNode" if node is not None else "TargetGone"
        state = f"node {name} {'does not exist' if node is None else 'is not Ready'}"
        evidence["nodeReady"] = False
    return _Wait(cause, f"virt-handler on {name} {what} ({state})", case=case, evidence=evidence)


def _handlers(own: VMIContext, name: str) -> list[Pod]:
    """The pods of virt-handler that are seen on a node, those that are ready first."""
    there = own.node.drain.view.sharing(TARGET, name)
    pods = (each for each in there if isinstance(each, Pod) and _is_handler(own, each, name))
    return sorted(pods, key=lambda pod: (not pod.ready, pod.name))


def _is_handler(own: VMIContext, pod: Pod, node: str) -> bool:
    """KubeVirt's own: anybody may label a pod so."""
    kubevirt = own.node.kubevirt
    if pod.role is not DrainRole.HANDLER or pod.node != node:
        return False
    return kubevirt is None or pod.namespace == kubevirt.namespace


# What the scheduler says of a pod that finds no node, taken apart: how many nodes each condition rules out.
#
# The form is that of `FitError.Error` in pkg/scheduler/framework/types.go of kubernetes/kubernetes: `0/5 nodes are
# available: 3 Insufficient memory, 2 node(s) were unschedulable. preemption: …`. A node is counted under the first
# condition that rules it out, by more than one resource under each of them.

_AFTER = "nodes are available:"
_MOST = 10
_DIGITS = 7  # no cluster has more nodes

# By which word of a condition one knows what can be done about it.
_KINDS = (
    ("Volume", ("volume", "pvc", "csinode", "storage")),
    ("AntiAffinity", ("anti-affinity",)),
    ("PodAffinity", ("match pod affinity",)),
    ("Spread", ("topology spread",)),
    ("Selector", ("node affinity", "node selector")),
    ("Taint", ("taint",)),
    ("Cordoned", ("were unschedulable", "was unschedulable")),
)
_INSUFFICIENT = "Insufficient "
_PLAIN = ("cpu", "memory", "ephemeral-storage")


class RuledOut(NamedTuple):
    nodes: int
    condition: str

    @property
    def kind(self) -> str:
        """Device and Resource for what nodes lack; Other for what is not known."""
        if self.condition.startswith(_INSUFFICIENT):
            what = self.lacking
            return "Resource" if what in _PLAIN or what.startswith("hugepages-") else "Device"
        lower = self.condition.lower()
        return next((kind for kind, words in _KINDS if any(word in lower for word in words)), "Other")

    @property
    def lacking(self) -> str:
        """The resource that is short; empty for any other condition."""
        return self.condition.removeprefix(_INSUFFICIENT) if self.condition.startswith(_INSUFFICIENT) else ""


def ruled_out(message: str) -> tuple[RuledOut, ...]:
    """What rules out most nodes first; none where the message has another form."""
    _, _, rest = message.partition(_AFTER)
    found: list[RuledOut] = []
    for part in rest.partition("preemption:")[0].split(", "):
        count, _, condition = part.strip().partition(" ")
        if count.isdecimal() and len(count) <= _DIGITS and condition:
            found.append(RuledOut(int(count), condition.partition(". ")[0].rstrip(". ")))
        if len(found) == _MOST:
            break
    return tuple(sorted(found, key=lambda each: -each.nodes))


def hindrance(message: str) -> RuledOut | None:
    """What stands in the way of the target of a migration first: the node that it comes from does not count, which
    KubeVirt's own anti-affinity rules out, or the cordon of a drain before it.
    """
    found = list(ruled_out(message))
    for kind in ("AntiAffinity", "Cordoned"):
        at = next((at for at, each in enumerate(found) if each.kind == kind), None)
        if at is not None:
            found[at] = RuledOut(found[at].nodes - 1, found[at].condition)
            break
    return max((each for each in found if each.nodes > 0), key=lambda each: each.nodes, default=None)


# A target pod that does not start: no node takes it, or its containers wait for an image, a volume, the network.
#
# KubeVirt gives such a migration up, after 300 seconds where no node takes the pod and after 900 where one has it
# (`handlePendingPodTimeout` in pkg/virt-controller/watch/migration/migration.go), and makes the next one where the VMI
# still has to leave.

# By the reason of a container that waits (pkg/kubelet/images/types.go and pkg/kubelet/kuberuntime of
# kubernetes/kubernetes).
_CASES = {
    **dict.fromkeys(
        ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"), "Image"
    ),
    "CreateContainerConfigError": "Config",
    "CrashLoopBackOff": "Ends",
    INITIALIZES: "Init",
}
_CREATING = ("ContainerCreating", "PodInitializing")
_HOSTNAME = "kubernetes.io/hostname"
_LONGEST_LABELS = 28  # characters of a next step


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
    case = "HostModel" if case == "Selector" and _has_cpu_of_its_node(own, pod) else case
    avoided = _avoided(pod) if case == "AntiAffinity" else ""
    made = of(
        own,
        DrainState.BLOCKED,
        "TargetUnschedulable",
        f"no node can run the target pod of the VMI's migration: {', '.join(conditions) or pod.unschedulable}"
        + (f". No node, not even {own.vmi.node}, has labels for CPU features {named(stale)}" if stale else ""),
        "Apart" if avoided else case,
        since=began,
        values={"RESOURCE": first.lacking if first is not None else "", "AVOIDED": avoided},
        migration=migration.name,
        pod=pod.name,
        scheduler=pod.unschedulable,
        cause=case,
        staleFeatures=stale,
        ruledOut={each.condition: each.nodes for each in ruled_out(pod.unschedulable)} or None,
    )
    return replace(made, related=(migration.ref, pod.ref))


def _has_cpu_of_its_node(own: VMIContext, pod: Pod) -> bool:
    """Whether all that it asks of a node's labels is the CPU of the node that it leaves, and nothing is its VM's."""
    asked = own.vmi.demand
    fixed = any(each.key.startswith(CPU_TO_MIGRATE) for each in pod.placement.selector)
    return fixed and asked.model == "host-model" and asked.placement == ANYWHERE


def _avoided(pod: Pod) -> str:
    """The labels of the pods that its anti-affinity keeps off its node, without the one that all launcher pods have;
    empty if there are several such rules, or the labels are long.
    """
    terms = [each for each in pod.neighbours.terms if each.apart]
    alone = len(terms) == 1 and terms[0].topology == _HOSTNAME
    parts = terms[0].selector.requirements if alone else ()
    labels = ",".join(str(each) for each in parts if each.key != "kubevirt.io")
    return labels if len(labels) <= _LONGEST_LABELS else ""


def _stale(own: VMIContext, pod: Pod) -> list[str]:
    """The CPU features that it asks for and that not even the node has a label of on which the guest runs: KubeVirt
    copies them from pod to pod, and another release of libvirt reports others (kubevirt/kubevirt#17812).
    """
    labels = dict(own.node.node.label_pairs) if own.node.node is not None else {}
    if not any(key.startswith(CPU_FEATURE) for key in labels):
        return []
    asked = (each for each in pod.placement.selector if each.key.startswith(CPU_FEATURE) and not each.holds(labels))
    return sorted(each.key.removeprefix(CPU_FEATURE) for each in asked)


def _waiting(own: VMIContext, migration: VirtualMachineInstanceMigration, pod: Pod) -> Departure:
    container, case, said = waits_for(pod)
    what = "its volumes or its network are missing, and " if case == "Sandbox" else ""
    waits = "doesn't finish or get ready" if case == "Init" else f"waits ({said or 'Waiting'})"
    made = of(
        own,
        DrainState.MIGRATING,
        "TargetNotStarting",
        f"target pod {pod.name} on {pod.node} doesn't start: {what}container {container} {waits}",
        case,
        since=(pod.scheduled, Since.CONDITION),
        to=pod.node,
        values={"TARGETPOD": pod.name, "TARGETNODE": pod.node, "CONTAINER": container},
        migration=migration.name,
        targetPod=pod.name,
        targetNode=pod.node,
        container=container,
        waiting=said or ("Running" if case == "Init" else "Waiting"),
        cause=case,
    )
    return replace(made, related=(migration.ref, pod.ref))


def waits_for(pod: Pod) -> tuple[str, str, str]:
    """The container that keeps a pod from starting, a case of next steps, and what the kubelet says of it; empty where
    it says nothing.
    """
    container, reason, message = pod.waiting or ("", "", "")
    said = "" if reason == INITIALIZES else ": ".join(filter(None, (reason, message)))
    if reason in _CREATING or not reason:
        return container, "Sandbox" if reason and pod.sandboxed == "False" else "Creating" if reason else "", said
    return container, _CASES.get(reason, "Container"), said


def explained(own: VMIContext, made: Departure) -> Departure:
    """With what the target pod of its open migration waits for: KubeVirt does not say why it gave up those before."""
    waits = starting(own, own.open, UNKNOWN) if own.open is not None else None
    if waits is None or waits.evidence["cause"] == "Creating":
        return made
    why = f"{made.why} Now {waits.why[:1].lower()}{waits.why[1:]}"
    evidence = {**made.evidence, "waiting": waits.evidence.get("waiting", "")}
    return replace(made, why=why, remedy=waits.remedy, values={**made.values, **waits.values}, evidence=evidence)
