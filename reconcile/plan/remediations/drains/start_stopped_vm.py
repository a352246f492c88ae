"""Starts a VM again that was stopped for the drain of a node, once that drain is over.

It is only for VMs that `stop_blocked_vmi` stopped, by what that noted on them in the annotation
`steward.kubevirt-steward.io/stopped-for-drain`. The run strategy is put back and the annotation removed, in one patch:
KubeVirt starts a VM whose run strategy becomes Always, Once or RerunOnFailure. With Manual it takes two plans: the run
strategy is put back and the annotation says so, which starts nothing; then the start is asked for in the VM's status,
as `virtctl start` does. The annotation stays on that one, and says nothing from then on: the VM has run since.

The annotation starts nothing that somebody else has decided about: it counts for the VM of its UID alone, while the VM
is as the stop left it, and while `metadata.managedFields` show that nobody has set the run strategy since. Where they
are not there, nothing is written.

Undo: the run strategy is set to Halted again and the annotation put back, which stops the VM. A start that was asked
for in the status is taken back by `virtctl stop`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from exporter.facts.drain_stop import STOPPED_FOR_DRAIN, DrainStop, text_of
from exporter.findings.finding import Finding
from exporter.store.indexes.networks import VM, vm_key
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.pod import DrainRole, Pod
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance

from ...effects import REQUESTS
from ...guards import guard
from ...lost import Lost
from ...patterns import EMPTY, PRESENT, Each, Exactly, Is, Like
from ...plan import Add, Op, Patch, Plan, Refused, Remove, Replace, Risk, Test
from ...remediation import Remediation, Scene
from ...undo import Loss, Undo, UndoEffect, UndoRequest
from ...writes import Field, Patched, Write
from .._grounds import controller, ending, table, tables, under_way
from ..instancetypes._instancetypes import unresolved
from ._leaving import ONE_KUBEVIRT, put_back

_PATH = f"/metadata/annotations/{STOPPED_FOR_DRAIN.replace('/', '~1')}"
_BY_ITSELF = ("Once", "RerunOnFailure")  # start a VM when they replace another run strategy
_SINCE = (1, 2)  # KubeVirt's release that does so by the run strategy in the VM's status (pkg/virt-controller/watch/vm)


@guard(
    ONE_KUBEVIRT,
    ending,
    under_way,
    unresolved,
    {
        "no_controller": "no VirtualMachinePool or other controller owns the VM",
        "strategy_kept": "by managedFields, the run strategy is as the stop set it, and no other client has set it",
        "no_request": "the VM has no pending request to start or stop",
        "no_pod_left": "no launcher pod of the VM is left",
        "starts": "KubeVirt starts the VM with its earlier run strategy",
        "stopped_since": "with Manual: the VM has the time of its stop",
    },
    reads=(VirtualMachine.KIND, Pod.KIND, KubeVirt.KIND),
    indexes=(VM,),
)
def _plan(finding: Finding, scene: Scene) -> Plan | Refused:
    ref = finding.subject
    whole, vm = scene.of(ref), scene.named(VirtualMachine, ref.namespace, ref.name)
    if whole is None or vm is None:
        return Refused("same_object", f"{ref} with UID {ref.uid} is no longer there")
    kubevirts = scene.all(KubeVirt)
    if len(kubevirts) != 1:
        return Refused("one_kubevirt", f"there are {len(kubevirts)} KubeVirt objects, not one")
    stop = vm.drain_stop
    if stop is None or stop.vm != vm.uid:
        return Refused("finding_holds", f"annotation {STOPPED_FOR_DRAIN} of {ref} is not of a stop of this VM")
    refused = ending(scene, ref, whole) or _owned(vm, whole, stop) or under_way(scene, ref.namespace, (ref.name,))
    refused = refused or _busy(vm, whole, scene) or _unstartable(vm, stop, kubevirts[0])
    refused = refused or unresolved(vm, scene, kubevirts[0], "start")
    if refused:
        return refused
    if stop.run_strategy != "Manual":
        return _put_back(finding, vm, whole, stop)
    return _ask(finding, vm, whole) if stop.starting else _prepare(finding, vm, whole, stop)


# -- what forbids it


def _owned(vm: VirtualMachine, whole: Mapping[str, Any], stop: DrainStop) -> Refused | None:
    if owner := controller(whole):
        return Refused("no_controller", f"{vm.ref} belongs to {owner}, which decides whether it runs")
    if vm.set_by != (stop.by,):
        who = ", ".join(vm.set_by) or "an unknown client"
        return Refused(
            "strategy_kept", f"by its managedFields {who} set the run strategy of {vm.ref}, not {stop.by} alone"
        )
    return None


def _busy(vm: VirtualMachine, whole: Mapping[str, Any], scene: Scene) -> Refused | None:
    if table(whole.get("status")).get("stateChangeRequests"):
        return Refused("no_request", f"VM {vm.name} has a pending request to start or stop")
    of_vm = (each for each in scene.sharing(VM, vm_key(vm.namespace, vm.name)) if isinstance(each, Pod))
    left = sorted(each.name for each in of_vm if each.role is DrainRole.LAUNCHER)
    return Refused("no_pod_left", f"launcher pod {left[0]} of VM {vm.name} has not ended") if left else None


def _unstartable(vm: VirtualMachine, stop: DrainStop, kubevirt: KubeVirt) -> Refused | None:
    if vm.invalid:
        return Refused("starts", f"KubeVirt does not start VM {vm.name}: {vm.invalid}")
    if stop.run_strategy not in ("Always", "Manual", *_BY_ITSELF):
        return Refused("starts", f"the earlier run strategy {stop.run_strategy} of VM {vm.name} doesn't start a VM")
    if stop.run_strategy in _BY_ITSELF and kubevirt.release < _SINCE:
        version = kubevirt.upstream or "of unknown version"
        return Refused(
            "starts", f"KubeVirt {version} might not start a VM whose run strategy becomes {stop.run_strategy}"
        )
    return None


# -- what is written


def _put_back(finding: Finding, vm: VirtualMachine, whole: Mapping[str, Any], stop: DrainStop) -> Plan:
    halted, before = (False, True) if stop.field == "running" else ("Halted", stop.run_strategy)
    path = f"/spec/{stop.field}"
    ops = (Test(path, halted), Test(_PATH, _note(whole)), Replace(path, before), Remove(_PATH))
    return _made(
        finding,
        Patch(target=vm.ref, ops=ops),
        effect=f"KubeVirt starts the VM, whose run strategy is {stop.run_strategy} again.",
        undo=f"set the run strategy of {vm.ref} to Halted again, which stops it",
    )


def _prepare(finding: Finding, vm: VirtualMachine, whole: Mapping[str, Any], stop: DrainStop) -> Plan | Refused:
    """Says since when it has been off: whoever starts it and stops it again has decided, and changes that time."""
    since = _stopped_since(whole)
    if vm.stopped is None or not since:
        return Refused("stopped_since", f"condition Ready of {vm.ref} does not say since when it has no VMI")
    path = "/spec/runStrategy"
    ops: tuple[Op, ...] = (
        Test(path, "Halted"),
        Test(_PATH, _note(whole)),
        Replace(path, "Manual"),
        Replace(_PATH, text_of(msgspec.structs.replace(stop, starting=since))),
    )
    return _made(
        finding,
        Patch(target=vm.ref, ops=ops),
        effect="The run strategy of the VM is Manual again. That does not start it: the start is asked for next.",
        undo=f"set the run strategy of {vm.ref} to Halted again; it is off either way",
        settles=False,
    )


def _ask(finding: Finding, vm: VirtualMachine, whole: Mapping[str, Any]) -> Plan:
    ops = (Test("/spec/runStrategy", "Manual"), Test(_PATH, _note(whole)), Add(REQUESTS, [{"action": "Start"}]))
    return _made(
        finding,
        Patch(target=vm.ref, ops=ops, subresource="status"),
        effect="KubeVirt starts the VM, whose run strategy Manual is kept.",
        undo=f"none by a write; stop it by virtctl stop -n {vm.namespace} {vm.name}",
    )


def _note(whole: Mapping[str, Any]) -> Any:
    return table(table(whole.get("metadata")).get("annotations")).get(STOPPED_FOR_DRAIN)


def _stopped_since(whole: Mapping[str, Any]) -> str:
    conditions = tables(table(whole.get("status")).get("conditions"))
    since = next((each.get("lastTransitionTime") for each in conditions if each.get("type") == "Ready"), None)
    return since if isinstance(since, str) else ""


def _made(finding: Finding, step: Patch, *, effect: str, undo: str, settles: bool = True) -> Plan:
    return REMEDIATION.planned(finding, step, effect=effect, risk=Risk.NONE, undo=undo, settles=settles)


_NOTED = Like(metadata=Like(annotations=Like(**{STOPPED_FOR_DRAIN: PRESENT})))
_STARTED = Patched(
    Field("/spec/runStrategy", was=Is("Halted"), to=Is("Always", *_BY_ITSELF)),
    Field("/spec/running", was=Is(False), to=Is(True)),
    Field(_PATH),
    old=_NOTED,
    new=Like(metadata=Like(annotations=Like(**{STOPPED_FOR_DRAIN: EMPTY}))),
)
_PREPARED = Patched(
    Field("/spec/runStrategy", was=Is("Halted"), to=Is("Manual")), Field(_PATH, to=PRESENT), old=_NOTED, new=_NOTED
)
_ASKED = Patched(Field(REQUESTS, was=EMPTY, to=Each(Exactly(action="Start"), one=True)), old=_NOTED)
REMEDIATION = Remediation(
    id="start_stopped_vm",
    title="Start a VM again that was stopped for a drain",
    writes=(
        Write("kubevirt.io", "virtualmachines", ("patch",), (_STARTED, _PREPARED)),
        Write("kubevirt.io", "virtualmachines/status", ("patch",), (_ASKED,)),
    ),
    plan=_plan,
    risk=Risk.NONE,
    undo="the run strategy is set to Halted again, which stops the VM; with Manual virtctl stop",
    note="It restores the run strategy, as long as no other client has set the run strategy since, and removes the "
    "annotation.",
)


# A VM that was started again is stopped as soon as its run strategy is Halted: its guest is shut down.


@guard(put_back, reads=(VirtualMachineInstance.KIND,))
def _weigh(taken: UndoRequest, scene: Scene) -> UndoEffect | Refused:
    ref = taken.plan.target
    if refused := put_back(scene, ref):
        return refused
    vmi = scene.named(VirtualMachineInstance, ref.namespace, ref.name)
    if vmi is None or vmi.final:
        return UndoEffect(effect=f"{ref} stays off; the annotation says again that it was stopped for the drain.")
    why = f"{vmi.ref} exists, in phase {vmi.phase or 'unknown'}: its guest is shut down then"
    loss = Loss("not_running", f"what the guest of {ref} does, and what its disks do not keep", why)
    return UndoEffect(
        effect=f"KubeVirt shuts the guest of {ref} down, and nothing starts it by itself.", losses=(loss,)
    )


UNDO = Undo(
    id="start_stopped_vm", weigh=_weigh, losses={"not_running": (Lost.DOWNTIME, "the VM has no VMI that has not ended")}
)
