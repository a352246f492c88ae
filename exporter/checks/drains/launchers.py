"""VMIs whose launcher pod is not there, does not start or does not end, guests that stand still for an IO error, and
nodes whose virt-handler gives no sign, all on nodes that are Ready.

KubeVirt waits in all of these without an end. A VMI stays Running though its pod is gone where virt-handler can't reach
what the pod left (kubevirt/kubevirt#6685). A pod that is being deleted ends once the kubelet has stopped its containers
and taken its volumes apart; until then nothing is started in its place (kubernetes/kubernetes#122960 is one that stayed
after a power cycle). virt-handler labels its node `kubevirt.io/schedulable=true` once a minute; where it does not,
virt-controller labels it `false`: no VM starts there, and nobody looks after those that run on it.

PausedByIOError: QEMU stops a guest whose disk fails, and it goes on when somebody resumes it. One cause is a drain that
evicts the pod of a plugged volume before the guest has left (kubevirt/kubevirt#13523): that disk is gone for the guest.

NodeUnheard is only of nodes with VMIs: KubeVirt may have been taken off the others on purpose. Of nodes that are not
Ready NodeLost says more (`evictions`), of VMIs that were deleted on nodes that are drained StuckTerminating.

Not seen here: a virt-handler that labels its node and does nothing else; pods that a dump of single namespaces lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...domain.drains.departure.hanging import waits_for
from ...domain.drains.eviction import drain_taints
from ...domain.drains.health import unheard
from ...domain.features.node_sets import SCHEDULABLE, UNSCHEDULABLE, closed
from ...facts.naming import NAMED, counted
from ...facts.times import Since
from ...findings.advice import with_commands
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, command, reasons_of
from ...findings.severity import Severity
from ...store.indexes.drains import NODE
from ...store.kinds.node import Node
from ...store.kinds.pod import DrainRole, Pod
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ._remedies import remedied

_WARNING = Severity.WARNING
_TEXTS = Texts("launchers")
_OWN_STEPS = ("Image", "Config", "Ends", "Init")
_LOGGED = ("Ends", "Init")
_LOOKS = (command("show_pod"), command("log_of_container"))


def find(view: View) -> Iterator[Finding | None]:
    node = view.named(Node, "", view.partition)
    if node is None or not node.ready or node.deleting is not None:
        return
    vmis = [each for each in view.members(NODE, node.name, VirtualMachineInstance) if not each.final]
    here = sorted((each for each in vmis if each.deleting is None), key=lambda vmi: vmi.ref)
    if here and _unheard(node):
        yield _silent(node, here)
    yield from _stopped(here)
    pods = [each for each in view.members(NODE, node.name, Pod) if each.role is DrainRole.LAUNCHER]
    yield from _missing(here, {each.vmi_uid for each in pods})
    yield from _ending(node, {each.uid: each for each in vmis}, pods)
    yield from _starting(view, pods)


def _unheard(node: Node) -> bool:
    return unheard(node) and closed(node) == UNSCHEDULABLE and not drain_taints(node, None)


def _silent(node: Node, here: list[VirtualMachineInstance]) -> Finding:
    return Finding(
        reason="NodeUnheard",
        severity=_WARNING,
        subject=node.ref,
        message=_TEXTS.message("NodeUnheard", label=SCHEDULABLE, vmis=counted(len(here), "VMI")),
        node=node.name,
        evidence={"vmis": len(here), "named": [f"{vmi.namespace}/{vmi.name}" for vmi in here[:NAMED]]},
    )


def _stopped(here: Iterable[VirtualMachineInstance]) -> Iterator[Finding]:
    for vmi in here:
        if vmi.io_error is not None:
            yield Finding(
                reason="PausedByIOError",
                severity=_WARNING,
                subject=vmi.ref,
                message=_TEXTS.message("PausedByIOError", "plugged" if vmi.plugged else ""),
                node=vmi.node,
                since=vmi.io_error or None,
                since_source=Since.CONDITION if vmi.io_error else Since.FIRST_SEEN,
                evidence={"plugged": vmi.plugged},
            )


def _missing(here: Iterable[VirtualMachineInstance], owners: set[str]) -> Iterator[Finding | None]:
    for vmi in here:
        if vmi.phase == "Running" and vmi.uid not in owners:
            yield Finding(
                reason="PodMissing",
                severity=_WARNING,
                subject=vmi.ref,
                message=_TEXTS.message("PodMissing", node=vmi.node),
                node=vmi.node,
            )
        yield None


def _starting(view: View, pods: Iterable[Pod]) -> Iterator[Finding | None]:
    """The target of a migration is none of them: what it waits for is said of the migration."""
    for pod in pods:
        if pod.phase != "Pending" or pod.node != view.partition or pod.migration or pod.deleting is not None:
            continue
        vmi = view.named(VirtualMachineInstance, pod.namespace, pod.domain)
        if vmi is None or vmi.uid != pod.vmi_uid or vmi.final or vmi.deleting is not None:
            continue
        container, case, said = waits_for(pod)
        found = Finding(
            reason="PodNotStarting",
            severity=_WARNING,
            subject=pod.ref,
            related=(vmi.ref,),
            vm=vmi.name,
            message=_TEXTS.message(
                "PodNotStarting",
                "init" if case == "Init" else "said" if container and said else "container" if container else "",
                node=pod.node,
                container=container,
                said=said,
            ),
            next=_TEXTS.next("PodNotStarting", case, container=container, node=pod.node) if case in _OWN_STEPS else "",
            node=pod.node,
            since=pod.scheduled,
            since_source=Since.CONDITION if pod.scheduled is not None else Since.FIRST_SEEN,
            evidence={"container": container, "waiting": said},
        )
        yield with_commands(found, _LOOKS) if case in _LOGGED else found
        yield None


def _ending(node: Node, vmis: dict[str, VirtualMachineInstance], pods: Iterable[Pod]) -> Iterator[Finding | None]:
    for pod in pods:
        vmi = vmis.get(pod.vmi_uid)
        if pod.node != node.name or pod.deleting is None or vmi is None or vmi.deleting is not None:
            continue
        yield Finding(
            reason="PodNotEnding",
            severity=_WARNING,
            subject=pod.ref,
            related=(vmi.ref,),
            vm=vmi.name,
            message=_TEXTS.message("PodNotEnding", vmi=vmi.name),
            node=node.name,
            since=pod.deleting,
            since_source=Since.DELETION,
        )
        yield None


CHECK = Check(
    id="launchers",
    title="Launcher pods that are missing, do not start or do not end; guests stopped by IO errors; silent nodes",
    reads=(VirtualMachineInstance.KIND, Pod.KIND, Node.KIND),
    scope=Scope("one node", NODE),
    reasons=remedied(reasons_of("launchers")),
    find=find,
    fields_read=(VirtualMachineInstance.KIND, Pod.KIND, Node.KIND),
    requires=(VirtualMachineInstance.KIND,),
)
