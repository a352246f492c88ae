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

from ....store.indexes.nodes import TARGET
from ....store.kinds.node import Node
from ....store.kinds.pod import DrainRole, Pod
from ....store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ....store.text.since import Since, Time
from .building import of
from .shape import Departure, DrainState
from .vmi import VMIContext

_POST_COPY = "PostCopy"
_BEFORE = ("Pending", "Scheduling")  # the phases before its target pod is ready
_DELETED = {
    "PreparingTarget": "which counts once it runs",
    "TargetReady": "which counts once it runs",
    "Running": "and has not been aborted",
}
_NOT_ENDED = "and virt-controller has not ended it"  # what it does at once with one that was not handed over


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
    deleted = "" if migration.deleting is None else f"; it was deleted, {counts}"
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
        return _Wait("TargetEnding", f"the target pod {pod.name} to end, which is being deleted")
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
        return _Wait("Volumes", f"the pods of the plugged volumes on {pod.node}")
    if phase == "Pending" or pod.lagging == "":
        return _Wait("Unhandled", f"virt-controller, though the target pod {pod.name} runs on {pod.node}")
    containers = f"container {pod.lagging}" if pod.lagging else "the containers"
    return _Wait("Containers", f"{containers} of the target pod {pod.name} on {pod.node} to start")


def _while_it_runs(own: VMIContext, migration: VirtualMachineInstanceMigration) -> _Wait | None:
    last = own.vmi.migration
    if last is None or last.uid != migration.uid:
        return None
    if last.ended is not None:
        failed = "virt-controller to end it: by the status of the VMI it has failed"
        return _Wait("Unhandled", failed, (last.ended, Since.PHASE)) if last.failed else None
    if last.arrived is not None and last.mode != _POST_COPY:
        waits = _virt_handler(own, _handed_to(own), "TargetHandler", "to acknowledge that the guest has come")
        return replace(waits, since=(last.arrived, Since.PHASE))
    waits = _virt_handler(own, own.node.name, "SourceHandler", "to report how it goes")
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
