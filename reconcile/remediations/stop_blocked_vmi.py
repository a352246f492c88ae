"""Stops a VM that keeps its node from being drained: its VMI may only be migrated, and can't be.

Its owner has to agree beforehand, by the annotation `steward.kubevirt-steward.io/stop-allowed: "true"` on the VM. What
is written is what KubeVirt's own subresource stop writes (StopVMRequestHandler in pkg/virt-api/rest/lifecycle.go of
kubevirt/kubevirt), which knows no preconditions: run strategies Always and Once are set to Halted; with Manual and
RerunOnFailure the VM's status requests that this VMI is stopped, and no later one. The guest has the time to shut down
that its spec gives it, and nothing starts it again by itself. KubeVirt accepts a stop that it does not carry out where
the VM's instancetype or preference can't be found; there is none then.

Undo: the VM has to be started. A run strategy that was set to Halted is put back, and the VM starts; with Manual and
RerunOnFailure it is started by `virtctl start`. What its disks did not keep is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from exporter.findings import Finding
from exporter.model.departure.vmi import VMIContext
from exporter.model.instancetypes.matching import ROLES, Role
from exporter.model.instancetypes.resolving import Failure, resolve, undecodable
from exporter.model.kinds import controller_revision
from exporter.model.kinds.kube_virt import KubeVirt
from exporter.model.kinds.virtual_machine import VirtualMachine
from exporter.model.record import Ref

from ..effects import REQUESTS
from ..plan import Add, Patch, Plan, Refused, Replace, Risk, Test
from ..remediation import Remediation, Scene, Write
from ._grounds import NO_SNAPSHOT_OR_RESTORE, SAVERS, under_way
from ._leaving import INDEXES, ONE_KUBEVIRT, READS, leaving, unfinished
from ._owning import lost_disks, owning_vm
from ._sources import KINDS

__all__ = ["REMEDIATION"]

_ALLOWED = "steward.kubevirt-steward.io/stop-allowed"
_HALTED = ("Always", "Once")  # the stop sets these to Halted
_REQUESTED = ("Manual", "RerunOnFailure")  # these are kept, and the stop is a request in the VM's status
_KEEPS_RERUN = (1, 2)  # before, RerunOnFailure was set to Halted too (pkg/virt-api/rest/subresource.go)
_NOT_FOUND = ("FailedFindInstancetype", "FailedFindPreference")


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
    kubevirt = own.node.drain.kubevirt
    refused = (
        _unwanted(own, whole)
        or under_way(scene, vm.namespace, (vm.name,))
        or _stays(own, vm)
        or _not_done(vm, whole, scene, kubevirt)
    )
    if refused:
        return refused
    return REMEDIATION.planned(
        finding,
        _step(own, vm, whole),
        vm=vm.name,
        effect=_effect(own, vm, whole),
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
    if not own.node.draining:
        return Refused("node_drained", f"nothing shows that node {vmi.node} is being drained")
    if (running := unfinished(own)) or vmi.migrating:
        return Refused("no_migration", running or f"by its status {vmi.ref} is migrating")
    return None


def _stays(own: VMIContext, vm: VirtualMachine) -> Refused | None:
    """Why KubeVirt would refuse the stop, or what it does is not known."""
    if vm.invalid or vm.run_strategy not in (*_HALTED, *_REQUESTED):
        why = vm.invalid or f"its run strategy is {vm.run_strategy or 'missing'}"
        return Refused("stops", f"KubeVirt does not stop VM {vm.name} on request: {why}")
    kubevirt = own.node.drain.kubevirt
    if vm.run_strategy == "RerunOnFailure" and (kubevirt is None or kubevirt.release < _KEEPS_RERUN):
        version = (kubevirt.upstream if kubevirt is not None else "") or "of unknown version"
        return Refused("stops", f"a stop may change run strategy RerunOnFailure of VM {vm.name} in KubeVirt {version}")
    return None


def _not_done(vm: VirtualMachine, whole: Mapping[str, Any], scene: Scene, kubevirt: KubeVirt | None) -> Refused | None:
    """Why KubeVirt would accept the stop and not carry it out, or something else would be dropped for it."""
    if (whole.get("status") or {}).get("stateChangeRequests"):
        return Refused("no_request", f"VM {vm.name} has a request to start or stop that is not done yet")
    for role in ROLES:
        if why := _lost(vm, role, scene, kubevirt):
            return Refused("resolvable", f"{why}: {_LATER}")
    if vm.failure in _NOT_FOUND:
        return Refused("resolvable", f"VM {vm.name} has the condition {vm.failure}: {_LATER}")
    return None


def _lost(vm: VirtualMachine, role: Role, scene: Scene, kubevirt: KubeVirt | None) -> str:
    """Why KubeVirt can't get the VM's instancetype or preference; empty where it can. The VM's condition is not enough:
    KubeVirt sets it only when something else changes in the VM.
    """
    found = resolve(vm, role, scene.named, kubevirt)
    if found is None:
        return ""
    what = f"{role.value} {found.reference.name} of VM {vm.name}"
    if found.failure is Failure.REVISION:
        return f"ControllerRevision {found.revision_name} of VM {vm.name} does not exist"
    if found.failure is Failure.KIND:
        return f"{what} is of kind {found.reference.kind}, which KubeVirt does not know"
    if found.failure is Failure.OBJECT:
        return f"{what} does not exist"
    release = kubevirt.release if kubevirt is not None else (0, 0)
    why = undecodable(found.revision, role, release) if found.revision is not None else ""
    return f"ControllerRevision {found.revision_name} of VM {vm.name} can't be decoded: {why}" if why else ""


_LATER = "KubeVirt would accept the stop, and do it whenever that is repaired"


def _step(own: VMIContext, vm: VirtualMachine, whole: Mapping[str, Any]) -> Patch:
    target = Ref("VirtualMachine", vm.namespace, vm.name, vm.uid)
    if vm.run_strategy in _REQUESTED:
        kept = Test("/spec/runStrategy", vm.run_strategy)
        asked = Add(REQUESTS, [{"action": "Stop", "uid": own.vmi.uid}])
        return Patch(target=target, ops=(kept, asked), subresource="status")
    field, now, before = _field(whole)
    return Patch(target=target, ops=(Test(f"/spec/{field}", before), Replace(f"/spec/{field}", now)))


def _field(whole: Mapping[str, Any]) -> tuple[str, str | bool, str | bool]:
    """The field that the stop changes, with what it is set to and what it was."""
    strategy = (whole.get("spec") or {}).get("runStrategy")
    return ("runStrategy", "Halted", strategy) if strategy else ("running", False, True)


def _effect(own: VMIContext, vm: VirtualMachine, whole: Mapping[str, Any]) -> str:
    shut = f"KubeVirt shuts the guest down, which has {own.vmi.termination} seconds for that"
    if vm.run_strategy in _REQUESTED:
        return f"{shut}; run strategy {vm.run_strategy} is kept, and nothing starts the VM again by itself."
    field, now, before = _field(whole)
    change = f"changes spec.{field} of the VM from {json.dumps(before)} to {json.dumps(now)}"
    return f"{shut}, and {change}: nothing starts it again by itself."


def _undo(vm: VirtualMachine, whole: Mapping[str, Any]) -> str:
    if vm.run_strategy in _REQUESTED:
        return f"none by a write; start it by virtctl start -n {vm.namespace} {vm.name}, its spec is as it was"
    field, now, before = _field(whole)
    test = f'{{"op":"test","path":"/spec/{field}","value":{json.dumps(now)}}}'
    back = f'{{"op":"replace","path":"/spec/{field}","value":{json.dumps(before)}}}'
    patch = f"kubectl patch virtualmachines.kubevirt.io -n {vm.namespace} {vm.name} --type=json -p '[{test},{back}]'"
    return f"{patch}, which starts it"


REMEDIATION = Remediation(
    id="stop_blocked_vmi",
    title="Stop a VM that blocks a drain, with its owner's consent",
    answers={"evictions": ("NotMigratable", "NotMigratableAfterRequest")},
    reads=(*READS, *KINDS, *SAVERS, controller_revision.KIND),
    indexes=INDEXES,
    writes=(
        Write("kubevirt.io", "virtualmachines", ("patch",)),
        Write("kubevirt.io", "virtualmachines/status", ("patch",)),
    ),
    plan=_plan,
    preconditions=ONE_KUBEVIRT
    | NO_SNAPSHOT_OR_RESTORE
    | {
        "owned_by_vm": "the VMI belongs to a VM, which can be stopped",
        "same_vm": "its VM is there, with the UID that the VMI names",
        "opted_in": f'the VM has the annotation {_ALLOWED}: "true"',
        "not_managed": "no KubevirtMachine of Cluster API stands for the VMI: its guest would not be drained",
        "node_drained": "something shows that the node is being drained",
        "no_migration": "no migration of the VMI is unfinished",
        "stops": "its run strategy is Always, Once or Manual, or RerunOnFailure, which KubeVirt keeps since v1.2",
        "no_request": "the VM has no request to start or stop that is not done yet",
        "resolvable": "its instancetype and preference can be found: else the stop is accepted and not carried out",
    },
    risk=Risk.DOWNTIME,
    undo="the run strategy that the stop changed is put back, which starts the VM; otherwise virtctl start",
    opt_in=_ALLOWED,
)
