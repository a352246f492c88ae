"""Stops a VM that keeps its node from being drained: its VMI may only be migrated, and can't be.

Its owner has to agree beforehand, by the annotation `steward.kubevirt-steward.io/stop-allowed: "true"` on the VM. A
cordon is no drain: there has to be a taint of a drain, a NodeMaintenance, or, known to be of since the cordon, an
evacuation request of a VMI on the node or the eviction of a pod on it. A request counts by the time of its condition
EvictionRequested, which KubeVirt writes since 1.7; an earlier one proves nothing here.

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
from exporter.domain.drains.drain_stop import STOPPED_FOR_DRAIN, DrainStop, text_of
from exporter.domain.instancetypes.kinds import INSTANCETYPES
from exporter.findings.finding import Finding
from exporter.store.kinds import controller_revision
from exporter.store.kinds.virtual_machine import VirtualMachine

from ...effects import annotation
from ...patterns import PRESENT, Is, Like
from ...plan import Patch, Plan, Refused, Replace, Risk, Test
from ...remediation import Remediation, Scene
from ...requests import MANAGER
from ...writes import Field, Patched, Write
from .._grounds import NO_SNAPSHOT_OR_RESTORE, SAVERS, under_way
from .._owning import lost_disks, owning_vm
from ..instancetypes._resolvable import RESOLVABLE, unresolved
from ._leaving import INDEXES, ONE_KUBEVIRT, READS, leaving, unfinished

__all__ = ["REMEDIATION"]

_ALLOWED = "steward.kubevirt-steward.io/stop-allowed"
_STOPPED = ("Always", "Once", "Manual", "RerunOnFailure")  # run strategies with which something may run


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
        risk=Risk.DOWNTIME,
        undo=_undo(vm, whole),
        loses=lost_disks(own.vmi, scene),
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
    if not own.node.proven:
        return Refused("node_drained", f"nothing proves that node {vmi.node} is being drained: {_UNPROVEN}")
    if (running := unfinished(own)) or vmi.migrating:
        return Refused("no_migration", running or f"by its status {vmi.ref} is migrating")
    return None


def _stays(vm: VirtualMachine, whole: Mapping[str, Any]) -> Refused | None:
    """Why KubeVirt would refuse the stop, or something else would be dropped for it."""
    if vm.invalid or vm.run_strategy not in _STOPPED:
        why = vm.invalid or f"its run strategy is {vm.run_strategy or 'missing'}"
        return Refused("stops", f"KubeVirt does not stop VM {vm.name} on request: {why}")
    if (whole.get("status") or {}).get("stateChangeRequests"):
        return Refused("no_request", f"VM {vm.name} has a request to start or stop that is not done yet")
    return None


_UNPROVEN = (
    "there is no taint of a drain, no NodeMaintenance, and nothing known to be of since the cordon: no evacuation "
    "request of a VMI on it, and no eviction of a pod on it"
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
    answers={"evictions": ("NotMigratable", "NotMigratableAfterRequest")},
    reads=(*READS, *INSTANCETYPES, *SAVERS, controller_revision.KIND),
    indexes=INDEXES,
    writes=(Write("kubevirt.io", "virtualmachines", ("patch",), (_TO_HALTED,)),),
    plan=_plan,
    preconditions=ONE_KUBEVIRT
    | NO_SNAPSHOT_OR_RESTORE
    | RESOLVABLE
    | {
        "owned_by_vm": "the VMI belongs to a VM, which can be stopped",
        "same_vm": "its VM is there, with the UID that the VMI names",
        "opted_in": f'the VM has the annotation {_ALLOWED}: "true"',
        "not_managed": "no KubevirtMachine of Cluster API stands for the VMI: its guest would not be drained",
        "node_drained": "something proves that the node is being drained: a taint of a drain, a NodeMaintenance, or, "
        "known to be of since its cordon, an evacuation request of a VMI or the eviction of a pod that ends",
        "no_migration": "no migration of the VMI is unfinished",
        "stops": "its run strategy is Always, Once, Manual or RerunOnFailure",
        "no_request": "the VM has no request to start or stop that is not done yet",
    },
    risk=Risk.DOWNTIME,
    undo="the run strategy that the stop changed is put back, which starts the VM; with Manual also virtctl start",
    opt_in=_ALLOWED,
)
