"""The feature gates that a change switches, and who uses them.

Who does is looked up by walking all VMs and VMIs in slices: what an instancetype and a preference add counts too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field
from heapq import nsmallest

import msgspec

from ...checks.features.feature_mismatch import CHECK
from ...domain.features.configuration import Effective, chosen, effective
from ...domain.features.requests import requests_of
from ...domain.features.rules import RULES
from ...findings.finding import Unknown
from ...store.cluster import Cluster
from ...store.kinds.kube_virt import KubeVirt
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.overlay import Edit, Overlay
from ...store.record import Ref
from ...store.source import unseen

__all__ = ["KINDS", "GateChange", "Using", "differing", "gates_of", "users"]

KINDS = CHECK.reads
_SLICE = 500  # VMs looked at between two looks at the event loop
_NAMED = 5
_MOST_NAMESPACES = 20


class Using(msgspec.Struct, frozen=True, rename="camel"):
    """How many VMs and VMIs of a namespace use a gate."""

    namespace: str
    vms: int
    vmis: int


class GateChange(msgspec.Struct, frozen=True, rename="camel"):
    """A feature gate that is `on` or `off` before and after. `stage` is that in the version afterwards. How many VMs
    and VMIs use it is None while they can't be seen; `some` are a few of them, `namespaces` those with most users, and
    `namespaces_in_all` says how many there are.
    """

    name: str
    before: str
    after: str
    stage: str
    vms: int | None
    vmis: int | None
    some: tuple[Ref, ...]
    namespaces: tuple[Using, ...]
    namespaces_in_all: int


@dataclass
class _Users:
    vms: Counter[str] = field(default_factory=Counter)  # by namespace
    vmis: Counter[str] = field(default_factory=Counter)
    some: list[Ref] = field(default_factory=list)


def differing(before: Effective, after: Effective) -> dict[str, tuple[bool, bool]]:
    """Whether each gate that is switched was on, and is then, by its name."""
    names = sorted({*before.gates.names, *after.gates.names})
    found = {name: (before.on(name), after.on(name)) for name in names}
    return {name: pair for name, pair in found.items() if pair[0] is not pair[1]}


def users(cluster: Cluster, gates: Iterable[str]) -> Generator[None, None, dict[str, _Users]]:
    """Who uses each of the gates, by its name; a gate that no VM can ask for has none."""
    wanted = set(gates)
    by_rule = {rule.id: rule.gate for rule in RULES if rule.gate in wanted}
    found = {gate: _Users() for gate in wanted}
    if not by_rule:
        return found
    kubevirt = chosen(cluster.all(KubeVirt))
    known = kubevirt if isinstance(kubevirt, KubeVirt) else None
    for at, vm in enumerate(list(cluster.all(VirtualMachine))):
        requests = requests_of(vm, cluster.get, known) if vm.deleting is None else ()
        for gate in {by_rule[rule] for rule, _ in requests if rule in by_rule}:
            _count(found[gate], found[gate].vms, vm.ref)
        if at % _SLICE == _SLICE - 1:
            yield
    for at, vmi in enumerate(list(cluster.all(VirtualMachineInstance))):
        if not vmi.final:
            for gate in {by_rule[rule] for rule, _ in vmi.asks if rule in by_rule}:
                _count(found[gate], found[gate].vmis, vmi.ref)
        if at % _SLICE == _SLICE - 1:
            yield
    return found


def _count(of: _Users, counted: Counter[str], ref: Ref) -> None:
    counted[ref.namespace] += 1
    if len(of.some) < _NAMED:
        of.some.append(ref)


def gates_of(
    cluster: Cluster, edits: Iterable[Edit]
) -> Generator[None, None, tuple[tuple[GateChange, ...], tuple[Unknown, ...]]]:
    """Those that the edits switch, by their names, and what nobody can say of them."""
    concerned = [edit for edit in edits if edit.kind is KubeVirt]
    if not concerned:
        return (), ()
    changed = Overlay(cluster)
    for edit in concerned:
        changed.apply(edit)
    before, after = effective(cluster.all(KubeVirt)), effective(changed.all(KubeVirt))
    if not isinstance(before, Effective) or not isinstance(after, Effective):
        whys = (each for each in (before, after) if isinstance(each, str))
        return (), (Unknown("feature_mismatch", "", next(whys)),)
    switched = differing(before, after)
    found = yield from users(cluster, switched)
    blind = bool(unseen(cluster, tuple(kind.record for kind in KINDS)))
    reports = (_report(name, *pair, after, before, found[name], blind=blind) for name, pair in switched.items())
    return tuple(reports), ()


def _report(
    name: str, was: bool, becomes: bool, after: Effective, before: Effective, of: _Users, *, blind: bool
) -> GateChange:
    words = {True: "on", False: "off"}
    return GateChange(
        name,
        words[was],
        words[becomes],
        after.gates.stage(name) or before.gates.stage(name),
        None if blind else of.vms.total(),
        None if blind else of.vmis.total(),
        tuple(sorted(of.some)),
        tuple(_namespaces(of)),
        len({*of.vms, *of.vmis}),
    )


def _namespaces(of: _Users) -> Iterator[Using]:
    both = of.vms + of.vmis
    for namespace in nsmallest(_MOST_NAMESPACES, both, key=lambda each: (-both[each], each)):
        yield Using(namespace, of.vms[namespace], of.vmis[namespace])
