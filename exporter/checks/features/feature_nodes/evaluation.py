"""The evaluation of one thing that a node has to offer.

Where two nodes offer it there is nothing to say, whoever needs it: tens of thousands of VMs may.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeGuard

from ....domain.features.configuration import Effective, chosen
from ....domain.features.indexes import NEEDED, OFFERED, OFFERS_HARDWARE_TYPES, TAKES, Need, needs, thing_of
from ....domain.features.requests import requests_of
from ....facts.record import Record, Ref, UnansweredError
from ....facts.rule import Ground, Request, Rule
from ....facts.rules import BY_ID
from ....facts.versions import Version
from ....findings.advice import with_commands
from ....findings.check import View
from ....findings.finding import Finding
from ....findings.pages import Texts, command, reasons_of
from ....findings.severity import Severity
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance
from ....store.reader import ClusterView
from .._brought import with_bringers
from ..feature_mismatch.states import Pair

REASONS, TEXTS = reasons_of("feature_nodes"), Texts("feature_nodes")

# What the evaluation of one thing and of all things that a node has to offer have in common.

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


def held_up(vmi: VirtualMachineInstance) -> str:
    """The variant of a message: what it means for a VMI that no node could take."""
    return "pending" if vmi.phase in PENDING else "running"


_NAMED = 3  # things in a message


class _Nodes(NamedTuple):
    """Of those that take launcher pods: how many there are, up to two, and the only one that offers the thing."""

    taking: int
    only: str


class _Lack(NamedTuple):
    """What is to be reported of all that ask for the same."""

    rule: Rule
    feature: str
    things: tuple[str, ...]
    configuration: Effective
    requests: tuple[Request, ...]


def unsupported(view: View) -> Iterator[Finding]:
    """Raises UnansweredError where nobody knows whether a feature that no node offers is on."""
    kubevirt = chosen(view.all(KubeVirt))
    known = kubevirt if isinstance(kubevirt, str) else Effective.of(kubevirt)
    thing = thing_of(view.partition)
    offering = offerers(view, selected(thing, known))
    if len(offering) > 1:
        return
    nodes = _Nodes(len(view.some(TAKES, "", 2)), offering[0] if offering else "")
    if nodes.taking == 0 or (nodes.only and nodes.taking == 1):
        return
    lacks: dict[tuple[tuple[Request, ...], str], list[_Lack]] = {}
    for record in view.sharing(NEEDED, view.partition):
        if nodes.only and not (may_migrate(record) and record.node == nodes.only):
            continue
        if isinstance(record, VirtualMachine):
            asks, emulated = requests_of(record, view.named, None if isinstance(kubevirt, str) else kubevirt), ""
        elif isinstance(record, VirtualMachineInstance):
            asks, emulated = record.asks, record.emulated
        else:
            continue
        if (asks, emulated) not in lacks:
            lacks[asks, emulated] = list(_lacks(view, thing, needs(asks, emulated), known, nodes))
        for lack in lacks[asks, emulated]:
            yield _finding(view, record, lack, nodes)


def _lacks(view: View, here: str, wanted: tuple[Need, ...], known: Effective | str, nodes: _Nodes) -> Iterator[_Lack]:
    """`here` is the thing of the partition."""
    for rule in {rule: None for thing, rule, _ in wanted if thing == here}:
        if isinstance(known, str):
            raise UnansweredError(known)
        for feature, things in asked(view, BY_ID[rule], wanted, known).items():
            offering = {thing: offerers(view, selected(thing, known)) for thing in things}
            lacking = tuple(thing for thing, found in offering.items() if not found)
            if nodes.only and not lacking:
                lacking = tuple(thing for thing, found in offering.items() if found == (nodes.only,))
            # Each thing is a partition of its own, and the feature is reported once: with what is missing altogether.
            if lacking and lacking[0] == here:
                of = tuple((rule, parameter) for thing, by, parameter in wanted if by == rule and thing in lacking)
                yield _Lack(BY_ID[rule], feature, tuple(selected(thing, known) for thing in lacking), known, of)


def _finding(view: View, record: VirtualMachine | VirtualMachineInstance, lack: _Lack, nodes: _Nodes) -> Finding:
    vmi = record if isinstance(record, VirtualMachineInstance) else None
    reason, severity = state(view, record, bool(nodes.only))
    found = Finding(
        reason=reason,
        severity=severity,
        subject=record.ref,
        related=related(view, record),
        message=_message(reason, vmi, lack),
        node=vmi.node if vmi is not None else "",
        feature=lack.feature,
        group=lack.feature,
        next=_step(reason, lack),
        evidence=_evidence(vmi, lack),
    )
    if commands := _commands(reason, lack):
        found = with_commands(found, commands)
    # Of a VMI nothing is said: it stays here whatever becomes of its VM's instancetype.
    if isinstance(record, VirtualMachineInstance):
        return found
    return with_bringers(view, found, record, lack.requests)


def _message(reason: str, vmi: VirtualMachineInstance | None, lack: _Lack) -> str:
    lacks = " and ".join(f"the {thing}" for thing in lack.things[:_NAMED])
    if len(lack.things) > _NAMED:
        lacks += f" and {len(lack.things) - _NAMED} more"
    variant = held_up(vmi) if vmi is not None and reason == "NoNodeSupports" else ""
    return TEXTS.message(reason, variant, feature=lack.rule.phrase, lacks=lacks)


def _step(reason: str, lack: _Lack) -> str:
    """Empty where it is the one that the reason declares."""
    if reason == "NoMigrationTarget" or len(lack.things) > 1:
        return ""
    thing = lack.things[0].removeprefix("resource ")
    return TEXTS.next_if_short(reason, lack.things[0].partition(" ")[0], thing=thing)


def _commands(reason: str, lack: _Lack) -> tuple[str, ...]:
    """None of its own where a node has to have a label: those of the reason."""
    if not _device(lack):
        return ()
    nodes = {command("nodes_in_full"): command("nodes_with")}
    return tuple(nodes.get(each, each) for each in REASONS[reason].commands)


def _device(lack: _Lack) -> str:
    """The one that is all that is lacking, as nodes and pods name it; empty where that is something else."""
    kind, _, thing = lack.things[0].partition(" ")
    return thing if kind == "resource" and len(lack.things) == 1 else ""


def _evidence(vmi: VirtualMachineInstance | None, lack: _Lack) -> dict[str, Any]:
    facts: dict[str, Any] = {"needs": list(lack.things), "device": _device(lack)}
    facts["version"] = str(lack.configuration.version)
    if lack.rule.gate:
        facts |= {"gate": lack.rule.gate, "source": lack.configuration.source(lack.rule.gate)}
    if vmi is not None:
        facts |= {"phase": vmi.phase, "migratable": vmi.migratable, "blocked": vmi.blocked}
    return {name: fact for name, fact in facts.items() if fact not in ("", None)}
