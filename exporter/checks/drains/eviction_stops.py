"""VMs that the sidecar stopped for the drain of a node, and that nobody has started again.

A VM that may only be migrated and can't be keeps its node from being drained; with its owner's consent the sidecar
stops it (`stop_blocked_vmi`), and nothing starts it by itself. In the same write it notes on the VM, by the annotation
`steward.kubevirt-steward.io/stopped-for-drain`, which VM and VMI it stopped, for which node, and what the run strategy
was. The drain is over once the node takes VMs again: it exists, is Ready, neither cordoned nor tainted to be drained,
schedulable for KubeVirt, and no NodeMaintenance is for it; or once the node is gone and another one takes VMs.

The annotation says nothing of a VM of another UID, such as a clone or a restored one; nor once the VM runs, or somebody
else has set its run strategy, as far as its managedFields say. It may then be removed; nothing follows from it.

Not seen here: whether another node could take the VM while the drain lasts; who started a VM and stopped it again where
managedFields were taken off.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...domain.drains.departure.signs import goes_on
from ...facts.drain_stop import DrainStop
from ...facts.naming import filled
from ...facts.record import epoch
from ...facts.times import UNKNOWN, Since
from ...findings.check import Check, Scope, View
from ...findings.finding import Finding
from ...findings.pages import Texts, command, reasons_of
from ...store.indexes.drains import DRAINED_NODE, STOPPED
from ...store.indexes.networks import VM
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.node import Node, NodeMaintenance
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance

_REASONS = reasons_of("eviction_stops")
_TEXTS = Texts("eviction_stops")
_START, _SHOW, _FORGET = command("start_vm"), command("show_vm"), command("forget_drain_stop")
# `virtctl start` of a VM that is Halted sets Always: any other run strategy has to be restored first.
_STARTS = ("Always", "Manual")


def find(view: View) -> Iterator[Finding]:
    for vm in view.all(VirtualMachine):
        stop = vm.drain_stop
        if stop is None or not _still_stopped(vm, stop):
            continue
        if view.named(VirtualMachineInstance, vm.namespace, vm.name) is None:
            yield _finding(vm, stop, goes_on(view, stop.node))


def _still_stopped(vm: VirtualMachine, stop: DrainStop) -> bool:
    """Whether it is the VM that was stopped, and is as the stop left it."""
    if vm.deleting is not None or stop.vm != vm.uid or (vm.set_by and vm.set_by != (stop.by,)):
        return False
    if not stop.starting:
        return vm.run_strategy == "Halted"
    # It has not run since its run strategy was put back.
    return vm.run_strategy == stop.run_strategy and vm.stopped is not None and vm.stopped == _moment(stop.starting)


def _moment(text: str) -> float | None:
    try:
        return epoch(text)
    except ValueError:
        return None


def _finding(vm: VirtualMachine, stop: DrainStop, why: str) -> Finding:
    reason = "StoppedForDrain" if why else "StoppedAfterDrain"
    since = (vm.stopped, Since.CONDITION) if why and vm.stopped is not None else UNKNOWN
    strategy = stop.run_strategy
    start = _TEXTS.next("StoppedAfterDrain", strategy if strategy in _STARTS else "other", strategy=strategy)
    commands = (_SHOW, *((_START,) if strategy in _STARTS else ()), _FORGET)
    values = {"NAMESPACE": vm.namespace, "NAME": vm.name}
    return Finding(
        reason=reason,
        severity=_REASONS[reason].severities[0],
        subject=vm.ref,
        message=_TEXTS.message(reason, node=stop.node, by=stop.by, why=why),
        vm=vm.name,
        node=stop.node,
        since=since[0],
        since_source=since[1],
        evidence={"runStrategy": strategy, "stoppedBy": stop.by, "stoppedVmi": stop.vmi},
        next="" if why else start,
        commands=() if why else tuple(filled(each, values) for each in commands),
    )


CHECK = Check(
    id="eviction_stops",
    title="VMs that were stopped for a drain",
    reads=(VirtualMachine.KIND, VirtualMachineInstance.KIND, Node.KIND, NodeMaintenance.KIND, KubeVirt.KIND),
    scope=Scope("one VM that was stopped for a drain", STOPPED),
    looks_up=(VM, DRAINED_NODE),
    reasons=_REASONS,
    find=find,
    fields_read=(VirtualMachine.KIND, VirtualMachineInstance.KIND, Node.KIND, NodeMaintenance.KIND, KubeVirt.KIND),
    requires=(VirtualMachine.KIND, VirtualMachineInstance.KIND),
)
