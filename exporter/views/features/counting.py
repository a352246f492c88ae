"""Who asks for what: counts by the value that is asked for, and the first of those who ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from heapq import nsmallest
from itertools import islice

from ...domain.features.rules import RULES
from ...store.cluster import Cluster
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from ...store.record import Ref
from ...store.text.naming import NAMED
from ...usage.features import PHASES, FeatureUsage, FeatureUsers

_SLICE = 500  # groups, or VMs, looked at between two looks at the event loop

_VM, _VMI = PHASES

Values = dict[str, dict[str, Counter[str]]]
"""By rule, then by value, the numbers by kind."""


def total(usage: FeatureUsage, rule: str, kind: str) -> int:
    return sum(usage.count(rule, kind, phase) for phase in PHASES[kind])


def values_by_rule(usage: FeatureUsage) -> Generator[None, None, Values]:
    found: Values = {rule.id: {} for rule in RULES}
    groups = iter(usage.groups())
    while part := tuple(islice(groups, _SLICE)):
        for group in part:
            for rule, value in group.requests:
                found[rule].setdefault(value, Counter())[group.kind] += group.members
        yield
    return found


def first_by_rule(cluster: Cluster, usage: FeatureUsage) -> Generator[None, None, dict[str, tuple[Ref, ...]]]:
    """By namespace and name: VMs, and after them VMIs whose VM does not ask for it."""
    found: dict[str, list[Ref]] = {rule.id: [] for rule in RULES}
    for kind, record in ((_VM, VirtualMachine), (_VMI, VirtualMachineInstance)):
        lacking = {rule: min(NAMED, len(refs) + total(usage, rule, kind)) for rule, refs in found.items()}
        lacking = {rule: most for rule, most in lacking.items() if most > len(found[rule])}
        for namespace in usage.namespaces(kind):
            if not lacking:
                break
            least = yield from _least(usage, kind, namespace, lacking.keys())
            for rule, names in least.items():
                records = (cluster.get(record, namespace, name) for name in names)
                found[rule] += [each.ref for each in records if each is not None]
                if len(found[rule]) >= lacking[rule]:
                    found[rule] = found[rule][:NAMED]
                    del lacking[rule]
    return {rule: tuple(refs) for rule, refs in found.items()}


def _least(
    usage: FeatureUsage, kind: str, namespace: str, rules: Iterable[str]
) -> Generator[None, None, dict[str, list[str]]]:
    """Of one namespace, by rule, the first names."""
    asks = _Asking(frozenset(rules))
    least: dict[str, list[str]] = {}
    members = iter(usage.members(kind, namespace))
    while part := tuple(islice(members, _SLICE)):
        names: dict[str, list[str]] = {}
        for name, group in part:
            vm = usage.group(_VM, namespace, name) if kind != _VM else None
            for rule in asks.of(group) - asks.of(vm) if vm is not None else asks.of(group):
                names.setdefault(rule, []).append(name)
        for rule, some in names.items():
            least[rule] = nsmallest(NAMED, (*least.get(rule, ()), *some))
        yield
    return least


class _Asking:
    """Which of some rules a group asks for."""

    def __init__(self, rules: frozenset[str]) -> None:
        self._rules = rules
        self._known: dict[FeatureUsers, frozenset[str]] = {}

    def of(self, group: FeatureUsers) -> frozenset[str]:
        found = self._known.get(group)
        if found is None:
            found = self._known[group] = group.rules & self._rules
        return found
