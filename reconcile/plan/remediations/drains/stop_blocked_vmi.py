"""Stops a VM that keeps its node from being drained: its VMI may only be migrated, and can't be.

Its owner has to agree beforehand, by the annotation `steward.kubevirt-steward.io/stop-allowed: "true"` on the VM. And
the drain has to be proven by what needs permissions for nodes or cluster-wide objects: a taint of a drain, or, on a
node that is cordoned, a NodeMaintenance, what the MachineConfig operator or kured notes on the Node, or the annotation
`steward.kubevirt-steward.io/draining` there. The eviction of a pod and the evacuation request of a VMI prove nothing:
whoever may evict one pod in one namespace makes them, and so do a descheduler or an autoscaler of pods.

No VM on a node that is not Ready is stopped: that ends no pod there, and keeps the VM from starting on another node
once this one is gone.

A plain `kubectl drain` leaves nothing else. Where the node is only cordoned, the plan is a proposal with the command
that sets the annotation, for whoever drains the node. Its text may be the reason, such as `draining=firmware-update`;
an empty one and `false` say nothing. It counts only while the node is cordoned, and nothing takes it off: who leaves it
there has said that each later cordon is a drain too. So take it off with the cordon, by `kubectl annotate node NAME
steward.kubevirt-steward.io/draining-`.

The run strategy is set to Halted, whichever it is, and the same patch notes on the VM by the annotation
`steward.kubevirt-steward.io/stopped-for-drain` what it was, for which node the VM was stopped, and by whom: there is
never one without the other. That is what KubeVirt's own subresource stop writes for Always and Once; for Manual and
RerunOnFailure that would keep the run strategy and ask for the stop in the VM's status, and no patch writes both the
status and an annotation. The guest has the time to shut down that its spec gives it, and nothing starts it again but
`start_stopped_vm`, once the drain is over, or a person. KubeVirt accepts a stop that it does not carry out where the
VM's instancetype or preference can't be found; there is none then.

Undo: the run strategy is put back and the annotation removed, which starts the VM; one with Manual has to be started by
`virtctl start`. What its disks did not keep is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from exporter.domain.drains.departure.vmi import VMIContext
from exporter.facts.drain_stop import STOPPED_FOR_DRAIN, DrainStop, text_of
from exporter.findings.advice import filled
from exporter.findings.finding import Finding
from exporter.store.kinds.node import DRAINING
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...effects import annotation
from ...guards import guard
from ...patterns import PRESENT, Is, Like
from ...plan import Patch, Plan, Proposal, Refused, Replace, Risk, Test
from ...remediation import Remediation, Scene
from ...requests import MANAGER
from ...undo import Undo, UndoEffect, UndoRequest
from ...writes import Field, Patched, Write
from .._grounds import lost_disks, owning_vm, table, under_way
from ..instancetypes._instancetypes import unresolved
from ._leaving import ails, leaving, put_back, unfinished

_ALLOWED = "steward.kubevirt-steward.io/stop-allowed"
_STOPPED = ("Always", "Once", "Manual", "RerunOnFailure")  # run strategies with which something may run


@guard(
    leaving,
    under_way,
    unresolved,
    {"owned_by_vm": "the VMI belongs to a VM, which can be stopped"},
    owning_vm,
    {
        "opted_in": f'the VM has the annotation {_ALLOWED}: "true"',
        "not_managed": "no KubevirtMachine of Cluster API stands for the VMI: its guest would not be drained",
        "node_drained": "the node is cordoned, or has a taint of a drain; the plan is a proposal while nothing that "
        "needs permissions for nodes proves the drain",
        "node_ready": "the node is Ready: a VM that is stopped on a lost one does not start on another",
        "no_migration": "no migration of the VMI is unfinished",
        "stops": "its run strategy is Always, Once, Manual or RerunOnFailure",
        "no_request": "the VM has no pending request to start or stop",
    },
    lost_disks,
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    own = leaving(finding, scene)
    if isinstance(own, Refused):
        return own
    if not own.vmi.vm_uid:
        return Refused("owned_by_vm", f"{own.vmi.ref} belongs to {own.vmi.owner or 'no VM'}: only a VM can be stopped")
    whole = owning_vm(own.vmi, scene)
    if isinstance(whole, Refused):
        return whole
    vm = scene.named(VirtualMachine, own.vmi.namespace, own.vmi.name)
    if vm is None:
        return Refused("same_vm", f"VirtualMachine {own.vmi.namespace}/{own.vmi.name} could not be decoded")
    refused = _unwanted(own, whole) or under_way(scene, vm.namespace, (vm.name,)) or _stays(vm, whole)
    refused = refused or unresolved(vm, scene, own.node.drain.kubevirt, "stop")
    if refused:
        return refused
    return REMEDIATION.planned(
        finding,
        _step(own, vm, whole),
        vm=vm.name,
        effect=_effect(own, whole),
        undo=_undo(vm, whole),
        loses=lost_disks(own.vmi, scene),
        proposal=None if own.node.proven else _say_so(own.vmi.node),
    )


def _unwanted(own: VMIContext, vm: Mapping[str, Any]) -> Refused | None:
    """Why it should not be stopped, or not by us."""
    vmi, annotations = own.vmi, (vm.get("metadata") or {}).get("annotations") or {}
    if annotations.get(_ALLOWED) != "true":
        return Refused("opted_in", f'VM {vmi.name} does not have the annotation {_ALLOWED}: "true"')
    if vmi.handler:
        return Refused(
            "not_managed", f"{vmi.ref} is a node of another cluster, managed by KubevirtMachine {vmi.handler}"
        )
    if not own.node.proven and not own.node.cordoned:
        return Refused("node_drained", f"node {vmi.node} isn't cordoned and has no taint of a current drain")
    if own.node.node is not None and not own.node.node.ready:
        return Refused("node_ready", ails(own))
    if (running := unfinished(own)) or vmi.migrating:
        return Refused("no_migration", running or f"by its status {vmi.ref} is migrating")
    return None


def _stays(vm: VirtualMachine, whole: Mapping[str, Any]) -> Refused | None:
    """Why KubeVirt would refuse the stop, or something else would be dropped for it."""
    if vm.invalid or vm.run_strategy not in _STOPPED:
        why = vm.invalid or f"its run strategy is {vm.run_strategy or 'missing'}"
        return Refused("stops", f"KubeVirt does not stop VM {vm.name} on request: {why}")
    if (whole.get("status") or {}).get("stateChangeRequests"):
        return Refused("no_request", f"VM {vm.name} has a pending request to start or stop")
    return None


def _say_so(node: str) -> Proposal:
    """The annotation needs permissions for nodes, which is what makes it a proof."""
    says = filled(f"kubectl annotate nodes NODE {DRAINING}=maintenance", {"NODE": node})
    ends = filled(f"kubectl annotate nodes NODE {DRAINING}-", {"NODE": node})
    return Proposal(
        owner="the administrator who drains the node",
        where=f"Node {node} is cordoned, and nothing on it proves that it is being drained. If it is, say so on the"
        f" Node by {says}, and take that back when it is uncordoned: {ends}",
        patch=says,
        precondition="node_drained",
    )


def _step(own: VMIContext, vm: VirtualMachine, whole: Mapping[str, Any]) -> Patch:
    """No time is in the annotation: it would make it another plan at each look. The write is in managedFields."""
    field, now, before = _field(whole)
    stop = DrainStop(vm.uid, own.vmi.uid, own.vmi.node, vm.run_strategy, MANAGER, field)
    note = annotation(whole, STOPPED_FOR_DRAIN, text_of(stop))
    return Patch(target=vm.ref, ops=(Test(f"/spec/{field}", before), Replace(f"/spec/{field}", now), note))


def _field(whole: Mapping[str, Any]) -> tuple[str, str | bool, str | bool]:
    """The field that the stop changes, with what it is set to and what it was."""
    strategy = (whole.get("spec") or {}).get("runStrategy")
    return ("runStrategy", "Halted", strategy) if strategy else ("running", False, True)


def _effect(own: VMIContext, whole: Mapping[str, Any]) -> str:
    field, now, before = _field(whole)
    change = f"changes spec.{field} of the VM from {json.dumps(before)} to {json.dumps(now)}"
    shut = f"KubeVirt shuts the guest down, which has {own.vmi.termination} seconds for that"
    later = f"Annotation {STOPPED_FOR_DRAIN} says how start_stopped_vm starts it after the drain."
    return f"{shut}, and {change}: nothing starts it again by itself. {later}"


def _undo(vm: VirtualMachine, whole: Mapping[str, Any]) -> str:
    field, now, before = _field(whole)
    note = STOPPED_FOR_DRAIN.replace("/", "~1")
    ops = [
        {"op": "test", "path": f"/spec/{field}", "value": now},
        {"op": "replace", "path": f"/spec/{field}", "value": before},
        {"op": "remove", "path": f"/metadata/annotations/{note}"},
    ]
    text = json.dumps(ops, separators=(",", ":"))
    patch = f"kubectl patch virtualmachines.kubevirt.io -n {vm.namespace} {vm.name} --type=json -p '{text}'"
    if before == "Manual":
        return f"{patch}, and then virtctl start -n {vm.namespace} {vm.name}"
    return f"{patch}, which starts it"


_OPTED_IN = Like(metadata=Like(annotations=Like(**{_ALLOWED: "true"})))
_NOTED = Like(metadata=Like(annotations=Like(**{STOPPED_FOR_DRAIN: PRESENT})))
_TO_HALTED = Patched(
    Field("/spec/runStrategy", was=Is(*_STOPPED), to=Is("Halted")),
    Field("/spec/running", was=Is(True), to=Is(False)),
    Field(f"/metadata/annotations/{STOPPED_FOR_DRAIN.replace('/', '~1')}", to=PRESENT),
    old=_OPTED_IN,
    new=_NOTED,
)
REMEDIATION = Remediation(
    id="stop_blocked_vmi",
    title="Stop a VM that blocks a drain, with its owner's consent",
    writes=(Write("kubevirt.io", "virtualmachines", ("patch",), (_TO_HALTED,)),),
    plan=_plan,
    risk=Risk.DOWNTIME,
    undo="restore the run strategy that the stop changed, which starts the VM; with Manual also virtctl start",
    opt_in=_ALLOWED,
    note="Without proof of a drain, such as a drain taint, the plan is a proposal.",
)


# A VM that was stopped starts as soon as its run strategy is what it was, if that starts it.


@guard(put_back, reads=(VirtualMachineInstance.KIND,))
def _weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
    ref = taken.plan.target
    if refused := put_back(scene, ref):
        return refused
    if table(taken.before.get("spec")).get("runStrategy") == "Manual":
        start = f"virtctl start -n {ref.namespace} {ref.name}"
        return UndoEffect(
            effect=f"The run strategy of {ref} is Manual again, which does not start it; to start it: {start}"
        )
    vmi = scene.named(VirtualMachineInstance, ref.namespace, ref.name)
    if vmi is not None and not vmi.final:
        return UndoEffect(effect=f"{ref} starts again once its guest, which is still there, has shut down.")
    return UndoEffect(effect=f"{ref} starts, on a node that takes it; while none does, it waits for one.")


UNDO = Undo(id="stop_blocked_vmi", weigh=_weigh)
