"""The rows of the report: one for each feature, one for each feature gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from ...counts.features import PHASES, FeatureUsage, FeatureUsers
from ...domain.features.configuration import Effective
from ...facts.naming import NAMED
from ...facts.record import Ref
from ...facts.rule import Ground, Rule
from ...facts.rules import BY_ID, RULES
from ...store.cluster import Cluster
from ...store.kinds.storage import StorageClass
from ...store.kinds.virtual_machine import VirtualMachine
from ...store.kinds.virtual_machine_instance import VirtualMachineInstance
from .report import FeatureReport, GateReport, ValueReport

# Who asks for what: counts by the value that is asked for, and the first of those who ask.

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


MOST_VALUES = 20


class Grounds(NamedTuple):
    """`why` nobody knows the configuration, else it; `storage` is None while StorageClasses can't be seen."""

    why: str
    ground: Ground | None
    storage: tuple[StorageClass, ...] | None

    @classmethod
    def of(cls, known: Effective | str, storage: tuple[StorageClass, ...] | None) -> Grounds:
        return cls(known, None, storage) if isinstance(known, str) else cls("", Ground(known), storage)

    def ground_of(self, rule: Rule) -> Ground | str:
        if self.ground is None:
            return self.why
        if not rule.storage:
            return self.ground
        if self.storage is None:
            return "StorageClass can't be listed"
        return Ground(self.ground.configuration, self.storage)


class FeatureCounts(NamedTuple):
    """`counts` by rule, kind and phase, None while they can't be; `values`, and the `first` who ask, by rule."""

    counts: dict[str, dict[str, dict[str, int]]] | None
    values: Values
    first: dict[str, tuple[Ref, ...]]


class FeatureFindings(NamedTuple):
    """Open findings and some of their subjects, by feature or gate."""

    reasons: dict[str, Counter[str]]
    subjects: dict[str, tuple[Ref, ...]]

    def of(self, feature: str) -> dict[str, int]:
        return dict(sorted(self.reasons.get(feature, {}).items()))


def feature_row(
    rule: Rule, now: Grounds, after: Grounds | None, asked: FeatureCounts, found: FeatureFindings
) -> Generator[None, None, FeatureReport]:
    values = asked.values.get(rule.id, {})
    ground = now.ground_of(rule)
    state, whys = yield from _state(rule, ground, values)
    next_state, next_whys = (yield from _state(rule, after.ground_of(rule), values)) if after is not None else ("", {})
    shown = yield from _values(values, whys)
    known = ground.configuration if isinstance(ground, Ground) else None
    counts = asked.counts[rule.id] if asked.counts is not None else None
    return FeatureReport(
        feature=rule.id,
        title=rule.title,
        state=state,
        why=_distinct(whys, shown),
        gate=rule.gate,
        gate_stage=known.gates.stage(rule.gate) if known is not None and rule.gate else "",
        gate_source=known.source(rule.gate) if known is not None and rule.gate else "",
        decided_by=tuple(filter(None, (rule.gate, *rule.decides))),
        bites=_bites(rule, known),
        migration=rule.migrates.value,
        answer=rule.message,
        next_state=next_state,
        next_why=_distinct(next_whys, shown),
        requests=counts,
        vms=sum(counts[_VM].values()) if counts is not None else None,
        vmis=sum(counts[_VMI].values()) if counts is not None else None,
        values=shown,
        values_in_all=len(values) - ("" in values),
        first=asked.first.get(rule.id, ()),
        findings=found.of(rule.id),
        first_found=found.subjects.get(rule.id, ()),
    )


def _state(
    rule: Rule, ground: Ground | str, values: dict[str, Counter[str]]
) -> Generator[None, None, tuple[str, dict[str, str]]]:
    """The state, and by value why it is not allowed."""
    if isinstance(ground, str):
        return "unknown", {"": ground}
    if not rule.since <= ground.configuration.version.release <= rule.until:
        return "unchecked", {}
    if not values and rule.value and not (rule.gate and rule.why(ground, "")):
        return "by_value", {}
    whys = {}
    for at, value in enumerate(values or ("",), 1):
        if why := rule.why(ground, value):
            whys[value] = why
        if at % _SLICE == 0:
            yield
    if not whys:
        return "allowed", {}
    return ("partly" if len(whys) < len(values) else "refused"), whys


def _bites(rule: Rule, known: Effective | None) -> str:
    return rule.bites(known).value if known is not None else ""


def _distinct(whys: dict[str, str], shown: tuple[ValueReport, ...]) -> tuple[str, ...]:
    """Why what is shown is not allowed, each reason once."""
    some = ("", *(row.value for row in shown))
    return tuple(dict.fromkeys(whys[value] for value in some if value in whys))


def _values(values: dict[str, Counter[str]], whys: dict[str, str]) -> Generator[None, None, tuple[ValueReport, ...]]:
    """Those that are not allowed first, then those that most ask for."""
    shown: tuple[ValueReport, ...] = ()
    rest = iter(values.items())
    while part := tuple(islice(rest, _SLICE)):
        rows = (ValueReport(value, whys.get(value, ""), by[_VM], by[_VMI]) for value, by in part if value)
        shown = tuple(nsmallest(MOST_VALUES, (*shown, *rows), key=_rank))
        yield
    return shown


def _rank(row: ValueReport) -> tuple[bool, int, int, str]:
    return not row.why, -row.vms, -row.vmis, row.value


def gate_rows(now: Effective | str, after: Effective | None, found: FeatureFindings) -> tuple[GateReport, ...]:
    """Of the gates that one of the versions knows, and of those that are listed: none while nobody knows which."""
    if isinstance(now, str):
        return ()
    features: dict[str, list[str]] = {}
    for rule in BY_ID.values():
        for gate in filter(None, dict.fromkeys((rule.gate, *rule.decides))):
            features.setdefault(gate, []).append(rule.id)
    listed = (*now.gates.enabled, *now.gates.disabled)
    names = {*now.gates.names, *listed, *(after.gates.names if after is not None else ())}
    return tuple(
        GateReport(
            gate=name,
            stage=now.gates.stage(name),
            on=_on(now, name),
            source=now.source(name),
            next_stage=after.gates.stage(name) if after is not None else None,
            next_on=_on(after, name) if after is not None else None,
            next_source=after.source(name) if after is not None else None,
            features=tuple(features.get(name, ())),
            findings=found.of(name),
        )
        for name in sorted(names)
    )


def _on(known: Effective, gate: str) -> bool:
    """One that the version does not know can be listed, and has no effect."""
    return known.gates.known(gate) and known.on(gate)
