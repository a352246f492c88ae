"""The evaluation of one thing that a node has to offer.

Where two nodes offer it there is nothing to say, whoever needs it: tens of thousands of VMs may.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ....domain.features.configuration import Effective, chosen
from ....domain.features.requests import requests_of
from ....domain.features.rule import Request, Rule
from ....domain.features.rules import BY_ID
from ....findings.check import View
from ....findings.finding import Finding
from ....store.indexes.features import NEEDED, TAKES, Need, needs, thing_of
from ....store.kinds.kube_virt import KubeVirt
from ....store.kinds.virtual_machine import VirtualMachine
from ....store.kinds.virtual_machine_instance import VirtualMachineInstance
from ....store.record import UnansweredError
from .._brought import with_bringers
from .asking import asked, may_migrate, offerers, related, selected, state, then
from .reasons import REASONS

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
        message=_message(vmi, lack, nodes),
        node=vmi.node if vmi is not None else "",
        feature=lack.feature,
        group=lack.feature,
        evidence=_evidence(vmi, lack),
    )
    # Of a VMI nothing is said: it stays here whatever becomes of its VM's instancetype.
    if isinstance(record, VirtualMachineInstance):
        return found
    return with_bringers(view, found, record, lack.requests, REASONS[reason].next)


def _message(vmi: VirtualMachineInstance | None, lack: _Lack, nodes: _Nodes) -> str:
    who = "The VM asks for" if vmi is None else "The VMI uses"
    what = " and ".join(f"the {thing}" for thing in lack.things[:_NAMED])
    if len(lack.things) > _NAMED:
        what += f" and {len(lack.things) - _NAMED} more"
    if nodes.only:
        end = f"only its own node offers {what}: its live migration will fail, and a drain of its node will hang"
    else:
        end = f"no node that takes launcher pods offers {what}: {then(vmi)}"
    return f"{who} {lack.rule.phrase}, and {end}."


def _evidence(vmi: VirtualMachineInstance | None, lack: _Lack) -> dict[str, Any]:
    facts: dict[str, Any] = {"needs": list(lack.things)}
    facts["version"] = str(lack.configuration.version)
    if lack.rule.gate:
        facts |= {"gate": lack.rule.gate, "source": lack.configuration.source(lack.rule.gate)}
    if vmi is not None:
        facts |= {"phase": vmi.phase, "migratable": vmi.migratable, "blocked": vmi.blocked}
    return {name: fact for name, fact in facts.items() if fact not in ("", None)}
