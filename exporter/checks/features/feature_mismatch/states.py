"""The state that a VM is in, in one feature that the cluster does not allow.

A request of the VM counts at its next start, one of its VMI counts now; what both have to do with each other depends on
where the refusal bites. The states of one VM and feature exclude each other.
"""

from __future__ import annotations

from typing import NamedTuple, TypeVar

from ....domain.identity import owned
from ....facts.record import Record
from ....facts.rule import Migrates, Rule, Stage
from ....facts.rules import OF_NETWORKS
from ....findings.check import View
from ....findings.pages import Texts
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance

R = TypeVar("R", bound=Record)

_BITES_AT_START = (Stage.ADMISSION, Stage.CREATION, Stage.POD, Stage.SCHEDULING)
IGNORED = (Stage.LIVE, Stage.OBJECT)
"""Where a refusal stops no VM."""
_FAILS = (Migrates.UNSCHEDULABLE, Migrates.UNRENDERED)


class Pair(NamedTuple):
    """A VM and its VMI, at least one of them: a VMI may stand alone, and one that has ended is none."""

    vm: VirtualMachine | None
    vmi: VirtualMachineInstance | None
    last: str  # phase of its VMI that has ended; empty where there is none

    @property
    def wanted(self) -> bool:
        """Whether the VM should run, and somebody has to start it."""
        if self.vm is None:
            return False
        strategy = self.vm.run_strategy
        return (
            strategy in ("Always", "WaitAsReceiver")
            or (strategy == "Once" and not self.last)
            or (strategy == "RerunOnFailure" and self._reruns(self.vm))
            or (strategy == "Manual" and self.vm.start_requested)
        )

    def _reruns(self, vm: VirtualMachine) -> bool:
        """As shouldStartRerunOnFailure in pkg/virt-controller/watch/vm: one that was stopped stays so."""
        return vm.start_requested or (not vm.settled and self.last != "Succeeded") or self.last == "Failed"

    @property
    def pending(self) -> bool:
        return self.vmi is not None and self.vmi.phase in PENDING


class MismatchState(NamedTuple):
    """A reason of the check with the severity that it has here."""

    reason: str
    severity: str


def pairs(view: View) -> list[Pair]:
    """Those of a partition; none for a VM that is being deleted, whatever its VMI does.

    A scope may have only one of the two in its partition, where the other asks for nothing that matters there.
    """
    vms, vmis = _of(view, VirtualMachine), _of(view, VirtualMachineInstance)
    for name in (*vms, *vmis):
        if name not in vms and (vm := view.named(VirtualMachine, *name)) is not None:
            vms[name] = vm
        if name not in vmis and (vmi := view.named(VirtualMachineInstance, *name)) is not None:
            vmis[name] = vmi
    found = []
    for vm in vms.values():
        vmi = vmis.pop((vm.namespace, vm.name), None)
        if vm.deleting is not None:
            continue
        ended = vmi is not None and vmi.final and vmi.vm_uid == vm.uid
        found.append(Pair(vm, owned(vmi, vm), vmi.phase if vmi is not None and ended else ""))
        if vmi is not None and not vmi.final and vmi.vm_uid != vm.uid:
            found.append(Pair(None, vmi, ""))  # of the same name, and not its
    return [*found, *(Pair(None, vmi, "") for vmi in vmis.values() if not vmi.final)]


def _of(view: View, kind: type[R]) -> dict[tuple[str, str], R]:
    return {(each.namespace, each.name): each for each in view.all(kind)}


def state_of(rule: Rule, stage: Stage, pair: Pair, by_vm: bool, by_vmi: bool) -> MismatchState | None:
    """`stage` is where a refusal bites. `by_vm` and `by_vmi` say whether each asks for something that is not allowed.
    None where that is all right.
    """
    if stage is Stage.EDIT and by_vm and (pair.vmi is not None or pair.wanted):
        return MismatchState("NotEditable", "warning")
    if pair.vmi is None:
        return _stopped(rule, stage, pair.wanted) if by_vm else None
    if pair.pending and by_vmi:
        return _pending(rule, stage, pair.vmi)
    bites = stage in _BITES_AT_START
    if by_vm and not by_vmi:
        return MismatchState("WillFailAtRestart", "warning") if bites and not pair.pending else None
    if not by_vmi:
        return None
    if not by_vm and pair.vm is not None and bites:
        return MismatchState("HealsAtRestart", "info")
    return _running(rule, stage, pair)


def _stopped(rule: Rule, stage: Stage, wanted: bool) -> MismatchState | None:
    severity = rule.severities.blocked if wanted else rule.severities.halted
    if severity is None:
        return None
    blocked = wanted and stage in _BITES_AT_START
    return MismatchState("StartBlocked" if blocked else "StoppedRequestsDisabled", severity)


def _pending(rule: Rule, stage: Stage, vmi: VirtualMachineInstance) -> MismatchState | None:
    severity = rule.severities.pending
    if severity is None or stage not in _BITES_AT_START:
        return None
    # Admission is behind it, and what virt-controller asks too, once there is a launcher pod.
    passed = stage is Stage.ADMISSION or (stage is not Stage.SCHEDULING and vmi.phase == "Scheduling")
    return MismatchState("PendingStartedBefore", "warning") if passed else MismatchState("PendingBlocked", severity)


def migration_fails(rule: Rule, pair: Pair) -> bool:
    """Whether its VMI counts as live-migratable, and the target pod would need what is not allowed."""
    return _migratable(pair) and rule.migrates in _FAILS


def _migratable(pair: Pair) -> bool:
    return pair.vmi is not None and pair.vmi.migratable == "True"


def _running(rule: Rule, stage: Stage, pair: Pair) -> MismatchState | None:
    severity = rule.severities.migratable if _migratable(pair) else rule.severities.running
    fails = migration_fails(rule, pair)
    if fails:
        severity = "critical"
    if severity is None:
        return None
    if stage is Stage.ADMISSION and pair.vm is not None:
        return MismatchState("NotEditable", severity)
    return MismatchState("MigrationBlocked" if fails else "RunningStartedBefore", severity)


# What a finding says: why the feature is not allowed, and what that means for this VM.

_TEXTS = {name: Texts(name) for name in ("feature_mismatch", "feature_storage", "feature_networks")}
_NAMED = 3  # things that are not allowed, in a message
# Reasons of which the message depends on where the refusal bites.
_BY_STAGE = ("StartBlocked", "StoppedRequestsDisabled", "RunningStartedBefore")


def check_of(rule: Rule) -> str:
    """The check that finds it."""
    return "feature_storage" if rule.storage else "feature_networks" if rule in OF_NETWORKS else "feature_mismatch"


def texts_of(rule: Rule) -> Texts:
    return _TEXTS[check_of(rule)]


def message(rule: Rule, stage: Stage, pair: Pair, state: MismatchState, whys: tuple[str, ...], kind: str) -> str:
    """Of a finding about an object of a kind."""
    variant = _variant(rule, stage, pair, state)
    return texts_of(rule).message(state.reason, variant, feature=rule.phrase_of(kind), why=because(whys))


def because(whys: tuple[str, ...]) -> str:
    """The first few things that are not allowed."""
    more = f" and {len(whys) - _NAMED} more" if len(whys) > _NAMED else ""
    return " and ".join(whys[:_NAMED]) + more


def _variant(rule: Rule, stage: Stage, pair: Pair, state: MismatchState) -> str:
    if state.reason == "NotEditable":
        if stage is Stage.EDIT:
            return "edit"
        fails = state.severity == "critical" and rule.migrates is Migrates.UNSCHEDULABLE
        return "migration" if fails and _migratable(pair) else ""
    if state.reason not in _BY_STAGE:
        return ""
    if stage in IGNORED:
        return "ignored"
    starts = state.reason != "RunningStartedBefore"  # what a later start comes to is the same for these stages
    return "" if starts and stage not in (Stage.ADMISSION, Stage.EDIT) else stage.value
