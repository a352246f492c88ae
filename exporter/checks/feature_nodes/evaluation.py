"""The evaluation of one thing that a node has to offer.

Where two nodes offer it there is nothing to say, whoever needs it: tens of thousands of VMs may.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from ...findings import Finding, Severity
from ...model.features.configuration import Effective, chosen
from ...model.features.requests import requests_of
from ...model.features.rule import Ground, Request, Rule
from ...model.features.rules import BY_ID
from ...model.indexes.features import NEEDED, OFFERED, OFFERS_HARDWARE_TYPES, TAKES, Need, needs, thing_of
from ...model.kinds.kube_virt import KubeVirt
from ...model.kinds.virtual_machine import VirtualMachine
from ...model.kinds.virtual_machine_instance import PENDING, VirtualMachineInstance
from ...model.record import Record, Ref, UnansweredError
from ..base import View
from ..feature_mismatch.states import Pair

__all__ = ["unsupported"]

_HARDWARE_TYPES = (1, 6)  # the first release that selects nodes by the hardware types that they emulate
_NATIVE = "label kubernetes.io/arch="
_CPU_MANAGER = "label kubevirt.io/cpumanager=true"
_OLD_CPU_MANAGER, _LAST_WITH_OLD = "label cpumanager=true", (1, 7)  # what launcher pods select up to this release
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


def unsupported(view: View) -> Iterator[Finding]:
    """Raises UnansweredError where nobody knows whether a feature that no node offers is on."""
    kubevirt = chosen(view.all(KubeVirt))
    known = kubevirt if isinstance(kubevirt, str) else Effective.of(kubevirt)
    thing = thing_of(view.partition)
    offering = _offering(view, _selected(thing, known))
    if len(offering) > 1:
        return
    nodes = _Nodes(len(tuple(islice(view.sharing(TAKES, ""), 2))), offering[0] if offering else "")
    if nodes.taking == 0 or (nodes.only and nodes.taking == 1):
        return
    lacks: dict[tuple[tuple[Request, ...], str], list[_Lack]] = {}
    for record in view.sharing(NEEDED, view.partition):
        if nodes.only and not _stuck(record, nodes.only):
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


def _selected(thing: str, known: Effective | str) -> str:
    """What launcher pods ask for in the place of a thing, under this configuration."""
    if not isinstance(known, Effective):
        return thing
    if thing == _CPU_MANAGER and known.version.release <= _LAST_WITH_OLD:
        return _OLD_CPU_MANAGER
    if thing.startswith(_NATIVE) and known.on("CrossArchitectureVirtualization"):
        return f"label kubevirt.io/vm-arch-{thing.removeprefix(_NATIVE)}=true"
    return thing


def _offering(view: View, thing: str) -> tuple[str, ...]:
    """Two of them at most: more are as good."""
    return tuple(each.name for each in islice(view.sharing(OFFERED, thing), 2))


def _stuck(record: Record, node: str) -> bool:
    """Whether it may want to migrate, and would have to stay where it is."""
    return (
        isinstance(record, VirtualMachineInstance)
        and record.node == node
        and record.migratable == "True"
        and record.phase not in PENDING
    )


def _lacks(view: View, here: str, wanted: tuple[Need, ...], known: Effective | str, nodes: _Nodes) -> Iterator[_Lack]:
    """`here` is the thing of the partition."""
    for rule in {rule: None for thing, rule, _ in wanted if thing == here}:
        if isinstance(known, str):
            raise UnansweredError(known)
        for feature, things in _asked(view, BY_ID[rule], wanted, known).items():
            offering = {thing: _offering(view, _selected(thing, known)) for thing in things}
            lacking = tuple(thing for thing, found in offering.items() if not found)
            if nodes.only and not lacking:
                lacking = tuple(thing for thing, found in offering.items() if found == (nodes.only,))
            # Each thing is a partition of its own, and the feature is reported once: with what is missing altogether.
            if lacking and lacking[0] == here:
                yield _Lack(BY_ID[rule], feature, tuple(_selected(thing, known) for thing in lacking), known)


def _asked(view: View, rule: Rule, wanted: tuple[Need, ...], known: Effective) -> dict[str, list[str]]:
    """What launcher pods ask of nodes by this rule, by the feature that it is reported as."""
    release = known.version.release
    if not rule.since <= release <= rule.until or not rule.on(known):
        return {}
    if rule.id == "emulated_machines" and (
        release < _HARDWARE_TYPES or not tuple(view.sharing(TAKES, OFFERS_HARDWARE_TYPES))
    ):
        return {}
    found: dict[str, list[str]] = {}
    ground = Ground(known)
    for thing, of, parameter in wanted:
        if of == rule.id and not rule.why(ground, parameter):
            mediated = rule.id == "permitted_host_devices" and parameter in known.mediated_devices
            found.setdefault("mediated_devices_types" if mediated else rule.id, []).append(thing)
    return found


def _finding(view: View, record: VirtualMachine | VirtualMachineInstance, lack: _Lack, nodes: _Nodes) -> Finding:
    vmi = record if isinstance(record, VirtualMachineInstance) else None
    reason, severity = _state(view, record, nodes)
    return Finding(
        reason=reason,
        severity=severity,
        subject=record.ref,
        related=_related(view, record),
        message=_message(vmi, lack, nodes),
        node=vmi.node if vmi is not None else "",
        feature=lack.feature,
        group=lack.feature,
        evidence=_evidence(vmi, lack),
    )


def _state(view: View, record: VirtualMachine | VirtualMachineInstance, nodes: _Nodes) -> tuple[str, Severity]:
    if isinstance(record, VirtualMachineInstance):
        return ("NoMigrationTarget", Severity.WARNING) if nodes.only else ("NoNodeSupports", Severity.CRITICAL)
    vmi = view.named(VirtualMachineInstance, record.namespace, record.name)
    last = vmi.phase if vmi is not None and vmi.final and vmi.vm_uid == record.uid else ""
    return "NoNodeForStart", Severity.CRITICAL if Pair(record, None, last).wanted else Severity.WARNING


def _related(view: View, record: VirtualMachine | VirtualMachineInstance) -> tuple[Ref, ...]:
    if isinstance(record, VirtualMachine) or not record.vm_uid:
        return ()
    vm = view.named(VirtualMachine, record.namespace, record.name)
    return (vm.ref,) if vm is not None and vm.uid == record.vm_uid else ()


def _message(vmi: VirtualMachineInstance | None, lack: _Lack, nodes: _Nodes) -> str:
    who = "The VM asks for" if vmi is None else "The VMI uses"
    what = " and ".join(f"the {thing}" for thing in lack.things[:_NAMED])
    if len(lack.things) > _NAMED:
        what += f" and {len(lack.things) - _NAMED} more"
    if nodes.only:
        end = f"only its own node offers {what}: its live migration will fail, and a drain of its node will hang"
    else:
        end = f"of the nodes that take launcher pods none offers {what}: {_then(vmi)}"
    return f"{who} {lack.rule.phrase}, and {end}."


def _then(vmi: VirtualMachineInstance | None) -> str:
    if vmi is None:
        return "it cannot start"
    if vmi.phase in PENDING:
        return "its launcher pod is not scheduled"
    return "it runs on, and its next start fails, as does a live migration"


def _evidence(vmi: VirtualMachineInstance | None, lack: _Lack) -> dict[str, Any]:
    facts: dict[str, Any] = {"needs": list(lack.things)}
    facts["version"] = str(lack.configuration.version)
    if lack.rule.gate:
        facts |= {"gate": lack.rule.gate, "source": lack.configuration.source(lack.rule.gate)}
    if vmi is not None:
        facts |= {"phase": vmi.phase, "migratable": vmi.migratable, "blocked": vmi.blocked}
    return {name: fact for name, fact in facts.items() if fact not in ("", None)}
