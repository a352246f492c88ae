"""What the evaluation of one thing and of all things that a node has to offer have in common."""

from __future__ import annotations

from typing import TypeGuard

from ....domain.features.configuration import Effective
from ....domain.features.rule import Ground, Rule
from ....domain.features.rules import BY_ID
from ....domain.features.versions import Version
from ....findings.check import View
from ....findings.finding import Severity
from ....store.indexes.features import OFFERED, OFFERS_HARDWARE_TYPES, TAKES, Need
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance
from ....store.reader import ClusterView
from ....store.record import Record, Ref
from ..feature_mismatch.states import Pair

NATIVE = "label kubernetes.io/arch="
_HARDWARE_TYPES = Version(1, 5, 1)  # the first release that selects nodes by the hardware types that they emulate
_CPU_MANAGER = "label kubevirt.io/cpumanager=true"
_OLD_CPU_MANAGER, _LAST_WITH_OLD = "label cpumanager=true", (1, 7)  # what launcher pods select up to this release


def selected(thing: str, known: Effective | str) -> str:
    """What launcher pods ask for in the place of a thing, under this configuration."""
    if not isinstance(known, Effective):
        return thing
    if thing == _CPU_MANAGER and known.version.release <= _LAST_WITH_OLD:
        return _OLD_CPU_MANAGER
    if thing.startswith(NATIVE) and known.on("CrossArchitectureVirtualization"):
        return f"label kubevirt.io/vm-arch-{thing.removeprefix(NATIVE)}=true"
    return thing


def offerers(view: View, thing: str) -> tuple[str, ...]:
    """Two of them at most: more are as good."""
    return tuple(each.name for each in view.some(OFFERED, thing, 2))


def may_migrate(record: Record) -> TypeGuard[VirtualMachineInstance]:
    """Whether it runs somewhere, and may want to leave that."""
    return (
        isinstance(record, VirtualMachineInstance)
        and bool(record.node)
        and record.migratable == "True"
        and record.phase not in PENDING
    )


def asked(view: ClusterView, rule: Rule, wanted: tuple[Need, ...], known: Effective) -> dict[str, list[str]]:
    """What launcher pods ask of nodes by this rule, by the feature that it is reported as."""
    release = known.version.release
    if not rule.since <= release <= rule.until or not rule.on(known):
        return {}
    if rule.id == "emulated_machines" and (
        known.version < _HARDWARE_TYPES or not view.some(TAKES, OFFERS_HARDWARE_TYPES, 1)
    ):
        return {}
    found: dict[str, list[str]] = {}
    ground = Ground(known)
    for thing, of, parameter in wanted:
        if of == rule.id and not rule.why(ground, parameter):
            mediated = rule.id == "permitted_host_devices" and parameter in known.mediated_devices
            found.setdefault("mediated_devices_types" if mediated else rule.id, []).append(thing)
    return found


def things_of(view: ClusterView, needed: tuple[Need, ...], known: Effective) -> tuple[str, ...]:
    """What is asked of nodes for features: without what is refused anyway, and reported for that. The view has the
    index TAKES.
    """
    rules = dict.fromkeys(rule for _, rule, _ in needed)
    found = (thing for rule in rules for things in asked(view, BY_ID[rule], needed, known).values() for thing in things)
    return tuple(dict.fromkeys(selected(thing, known) for thing in found))


def state(view: View, record: VirtualMachine | VirtualMachineInstance, stuck: bool) -> tuple[str, Severity]:
    """Reason and severity; `stuck` where only its own node could take it."""
    if isinstance(record, VirtualMachineInstance):
        return ("NoMigrationTarget", Severity.WARNING) if stuck else ("NoNodeSupports", Severity.CRITICAL)
    vmi = view.named(VirtualMachineInstance, record.namespace, record.name)
    last = vmi.phase if vmi is not None and vmi.final and vmi.vm_uid == record.uid else ""
    return "NoNodeForStart", Severity.CRITICAL if Pair(record, None, last).wanted else Severity.WARNING


def related(view: View, record: VirtualMachine | VirtualMachineInstance) -> tuple[Ref, ...]:
    if isinstance(record, VirtualMachine) or not record.vm_uid:
        return ()
    vm = view.named(VirtualMachine, record.namespace, record.name)
    return (vm.ref,) if vm is not None and vm.uid == record.vm_uid else ()


def then(vmi: VirtualMachineInstance | None) -> str:
    if vmi is None:
        return "it cannot start"
    if vmi.phase in PENDING:
        return "its launcher pod is not scheduled"
    return "it runs on, and its next start fails, as does a live migration"
