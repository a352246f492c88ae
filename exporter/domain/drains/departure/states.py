"""The departure of one VMI: the most specific reason only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ....facts.naming import NAMED, named
from ....facts.times import UNKNOWN, Since, Time
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.node import Node
from ....store.kinds.pod import Pod
from ....store.kinds.pod_disruption_budget import PodDisruptionBudget
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.kinds.virtual_machine_instance_migration import VirtualMachineInstanceMigration
from ..eviction import ENOUGH, EvictionAnswer, Refusal
from .context import Departure, DrainState, NodeContext
from .hanging import hanging
from .migrations import migrated
from .remedies import REMEDIES
from .vmi import VMIContext, of, text

# What ends a stale request, by whether it can be cancelled, and whether the VMI can be migrated.
_CLEARS = {(True, True): "Either", (True, False): "Cancel", (False, True): "Migrate", (False, False): "Kept"}
_WHY_REFUSED = {
    Refusal.SYNC_FAILED: "uses maxUnavailable or a percentage, which Kubernetes can't compute for VMs",
    Refusal.MIN_AVAILABLE_TOO_HIGH: "requires as many pods as there are",
    Refusal.INSUFFICIENT_PODS: "has too few ready pods to allow a disruption",
    Refusal.BEHIND: "was changed, and its controller has not observed the change",
}


def departure(vmi: VirtualMachineInstance, node: NodeContext) -> Departure:
    """Of a VMI on this node, or of one that is to start in a pod on it."""
    own = VMIContext(node, vmi)
    if vmi.deleting is not None:
        return _terminating(own)
    if not vmi.strategy and not node.drain.seen(KubeVirt):
        why = "it has no eviction strategy of its own, and the cluster's default can't be seen"
        return replace(of(own, DrainState.UNKNOWN, "", why), strategy="")
    return replace(_leaving(own), answer=own.verdict.answer)


def _leaving(own: VMIContext) -> Departure:
    answer = own.verdict.answer
    if answer in (EvictionAnswer.SHUTS_DOWN, EvictionAnswer.PDB, EvictionAnswer.PDBS, EvictionAnswer.PASSES):
        return _let_through(own)
    if answer in (EvictionAnswer.MIGRATES, EvictionAnswer.EXTERNAL) and not own.node.drain.seen(
        VirtualMachineInstanceMigration
    ):
        return of(own, DrainState.UNKNOWN, "", "its migrations can't be seen")
    if _stale(own):
        return _stale_request(own)
    if answer is EvictionAnswer.EXTERNAL:
        return _external(own)
    return migrated(own) if answer is EvictionAnswer.MIGRATES else _refused(own)


def _terminating(own: VMIContext) -> Departure:
    """Whether it takes too long is for who knows the time."""
    seconds = own.vmi.termination
    until = (own.vmi.deleting or 0.0) + seconds
    return of(
        own,
        DrainState.TERMINATING,
        "StuckTerminating",
        f"it was deleted at {text(own.vmi.deleting)}, and its guest has {seconds} seconds to shut down, until "
        f"{text(until)}",
        due=own.node.closed,
        since=(until, Since.DELETION),
        pods=[pod.name for pod in own.pods],
    )


# -- what the webhook lets pass


def _let_through(own: VMIContext) -> Departure:
    vmi, node, verdict = own.vmi, own.node, own.verdict
    if not node.drain.seen(PodDisruptionBudget):
        return of(own, DrainState.UNKNOWN, "", "PDBs decide whether the VMI can be evicted, and they can't be seen")
    if verdict.answer in (EvictionAnswer.PDB, EvictionAnswer.PDBS):
        return _pdbs(own)
    default = "" if vmi.strategy else " (KubeVirt's default)"
    because = f"its eviction strategy is {own.strategy}{default}"
    because += "" if own.strategy == "None" else f", and {_unable(own)}"
    if vmi.evacuation:
        if own.migrating:
            return hanging(own) or of(own, DrainState.MIGRATING, "", "it is migrating")
        return of(
            own,
            DrainState.SHUTS_DOWN,
            "RequestWithUnmanagedStrategy",
            f"it has an evacuation request for node {vmi.evacuation}, but {because}. KubeVirt doesn't migrate it, and"
            " its next eviction shuts it down",
            "" if own.cancels else "Kept",
            hindrance=vmi.hindrance,
        )
    if node.kubevirt_taint:
        return _taint_ignored(own)
    if verdict.answer is EvictionAnswer.PASSES:
        return of(own, DrainState.UNKNOWN, "", "its launcher pod is not seen on the node")
    why = f"an eviction of the VMI's pod shuts its guest down, because {because}"
    case = "Migratable" if vmi.migratable == "True" else ""
    return of(own, DrainState.SHUTS_DOWN, "WillShutDown", why, case)


def _pdbs(own: VMIContext) -> Departure:
    found, refusal = own.verdict.pdbs, own.verdict.refusal
    names = [pdb.name for pdb in found]
    related = tuple(pdb.ref for pdb in found[:NAMED])
    migratable = "Migratable" if own.vmi.migratable == "True" and not own.vmi.paused else ""
    values = {"PDB": names[-1]}
    if refusal is None:
        which = named(names) if len(found) <= ENOUGH else f"{', '.join(names[:5])} and at least {ENOUGH - 5} more"
        why = f"PDBs {which} all select the VMI's pod. An eviction fails with an error, and a drain gives up"
        made = of(
            own,
            DrainState.BLOCKED,
            "MultiplePDB",
            why,
            migratable,
            since=own.node.since,
            values=values,
            pdb=values["PDB"],
            pdbs=names[:NAMED],
            pdbsInAll=f"at least {ENOUGH}" if len(names) > ENOUGH else len(names) if len(names) > NAMED else "",
        )
        return replace(made, related=related)
    (pdb,) = found
    paused = own.vmi.paused and refusal is Refusal.INSUFFICIENT_PODS
    counts = f" ({pdb.healthy} of {pdb.expected} pods ready, {pdb.desired} required)" if pdb.expected else ""
    why = f"PDB {pdb.name} rejects the eviction of the VMI's pod. The PDB {_WHY_REFUSED[refusal]}{counts}"
    made = of(
        own,
        DrainState.BLOCKED,
        "UserPDB",
        why + (". The VMI is paused, so its pod is not ready" if paused else ""),
        refusal.value if refusal is Refusal.BEHIND else migratable or ("Paused" if paused else refusal.value),
        since=_later(own.node.since, (pdb.since, Since.CONDITION)),
        values=values,
        cause=refusal.value,
        pdb=pdb.name,
    )
    return replace(made, related=related)


def _later(one: Time, other: Time) -> Time:
    """The later of two times that are known: a PDB is in the way from when the node is drained."""
    if one[0] is None or other[0] is None:
        return UNKNOWN
    return max(one, other, key=lambda each: each[0] or 0.0)


def _taint_ignored(own: VMIContext) -> Departure:
    taint = own.node.kubevirt_taint
    what = f"a VMI with eviction strategy {own.strategy}"
    if own.strategy not in ("None", "External"):
        what += f" that can't be live-migrated ({_hindrance(own)})"
    why = f"node {own.node.name} has taint {taint}, which never moves {what}"
    case = "External" if own.strategy == "External" else "ShutsDown"
    return of(own, DrainState.BLOCKED, "LegacyTaintIgnored", why, case, since=own.node.since, taint=taint)


# -- what the webhook denies


def _stale(own: VMIContext) -> bool:
    """KubeVirt's own drain taint makes it migrate whatever node the request names, and a migration clears that."""
    vmi = own.vmi
    if vmi.evacuation in ("", own.node.name) or own.migrating or own.open is not None:
        return False
    return not (own.node.kubevirt_taint and own.verdict.answer is EvictionAnswer.MIGRATES)


def _stale_request(own: VMIContext) -> Departure:
    vmi = own.vmi
    gone = own.node.drain.view.named(Node, "", vmi.evacuation) is None
    times: list[Time] = [own.since]
    if vmi.migration is not None:
        times.append(own.unended or (vmi.migration.ended, Since.PHASE))
    known = [each for each in times if each[0] is not None]
    asked = f"node {vmi.evacuation}{', which does not exist' if gone else ''}"
    what = f"it runs on {vmi.node}, but its evacuation request is for {asked}"
    return of(
        own,
        DrainState.BLOCKED,
        "StaleEvacuationRequest",
        f"{what}. KubeVirt doesn't migrate it, and rejects evictions of its pod",
        _CLEARS[own.cancels, vmi.migratable == "True"],
        since=max(known, default=own.since, key=lambda each: each[0] or 0.0),
        nodeGone=gone or None,
    )


def _external(own: VMIContext) -> Departure:
    vmi, handler, hangs = own.vmi, own.vmi.handler, hanging(own)
    if hangs is not None or own.migrating:
        return hangs or of(own, DrainState.MIGRATING, "", "it is migrating", to=_target(own))
    to = f"KubevirtMachine {handler}" if handler else vmi.owner
    state = DrainState.EXTERNAL if to else DrainState.BLOCKED
    if own.open is not None:
        return of(own, DrainState.EXTERNAL, "", f"its migration {own.open.name} is {own.open.phase or 'new'}", to=to)
    if vmi.evacuation:
        return _awaiting(own, state, to)
    if own.node.kubevirt_taint:
        return _taint_ignored(own)
    if to:
        return of(own, DrainState.EXTERNAL, "", "its controller has to move or shut it down when it is evicted", to=to)
    why = "its eviction strategy is External, and no label or owner names the controller that moves it"
    return of(own, DrainState.BLOCKED, "ExternalNoHandler", why, due=False)


def _awaiting(own: VMIContext, state: DrainState, to: str) -> Departure:
    vmi, handler, deadline = own.vmi, own.vmi.handler, text(own.deadline)
    who = to or "its controller"
    until = f" (deadline {deadline})" if deadline else ""  # whether that has passed is not known here
    able = ". With strategy LiveMigrate, KubeVirt would migrate it" if vmi.migratable == "True" else ""
    made = of(
        own,
        state,
        "ExternalAwaiting",
        f"it has an evacuation request for {vmi.node}. {who[:1].upper()}{who[1:]} has not moved it{until}{able}",
        since=own.taken_up,
        to=to,
        handler=handler,
        deadline=deadline,
        schedulable=not own.node.closed or None,
    )
    if handler:
        return made
    why = "its eviction strategy is External, and no label names the controller that moves it"
    return replace(made, also=(of(own, state, "ExternalNoHandler", why, owner=vmi.owner),))


def _refused(own: VMIContext) -> Departure:
    vmi, node = own.vmi, own.node
    if own.migrating:
        return hanging(own) or of(own, DrainState.MIGRATING, "", "it is migrating", to=_target(own))
    if own.verdict.answer is EvictionAnswer.NOT_EVALUATED:
        why = (
            "KubeVirt has not evaluated yet whether the VMI can be live-migrated, and rejects its evictions until then"
        )
        return of(own, DrainState.UNKNOWN, "NotEvaluated", why)
    hindrance = ": ".join(filter(None, (vmi.hindrance, vmi.hindered))) or "no reason given"
    case = f"{_CASES.get(vmi.hindrance, '')}{'Cordoned' if node.cordoned else ''}" if vmi.vm_uid else "Standalone"
    if vmi.evacuation:
        why = f"it has an evacuation request, but can no longer be live-migrated ({hindrance})"
        why += ". KubeVirt rejects its evictions"
        reason = "NotMigratableAfterRequest"
    else:
        what = "rejects its evictions, and the drain waits for it" if node.draining else "would reject its evictions"
        why = f"it can't be live-migrated ({hindrance}), and its strategy allows no shutdown. KubeVirt {what}"
        reason = "NotMigratable"
    due = bool(vmi.evacuation) or node.closed
    return of(own, DrainState.BLOCKED, reason, why, case, due=due, hindrance=vmi.hindrance)


# By the reason of condition LiveMigratable (pkg/virt-handler/vm.go of kubevirt/kubevirt).
_CASES = {
    "DisksNotLiveMigratable": "Disks",
    "InterfaceNotLiveMigratable": "Interface",
    "HostDeviceNotLiveMigratable": "Device",
}


def _target(own: VMIContext) -> str:
    return own.vmi.migration.target if own.vmi.migration is not None and own.vmi.migrating else ""


def _unable(own: VMIContext) -> str:
    return f"it can't be live-migrated ({_hindrance(own)})"


def _hindrance(own: VMIContext) -> str:
    return own.vmi.hindrance or "not evaluated yet"


# The departures of all that is on a node: of its VMIs, and of launcher pods whose VMI is not there.


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
            why = "The pod's VMI has finished." if vmi.final else "The pod is being deleted."
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
    made = Departure(pod, DrainState.TERMINATING, why="The pod's VMI no longer exists, and the pod is being deleted.")
    if pod.deleting is not None:
        return made
    if pod.phase != "Running":
        return replace(
            made, state=DrainState.UNKNOWN, why=f"The pod does not run yet, and its VMI {pod.domain} doesn't exist."
        )
    names = {"NAMESPACE": pod.namespace, "NAME": pod.name, "VMNAME": pod.domain, "UID": pod.uid}
    return replace(
        made,
        state=DrainState.BLOCKED,
        reason="OrphanLauncherPod",
        why=f"The pod runs, but its VMI {pod.domain} doesn't exist. KubeVirt rejects evictions of the pod.",
        remedy=REMEDIES["OrphanLauncherPod"],
        values=names | {"NODE": node.name},
        evidence={"vmi": pod.domain, "vmiUid": pod.vmi_uid},
        due=True,
        pod=pod,
    )
