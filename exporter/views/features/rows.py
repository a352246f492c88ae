"""The rows of the report: one for each feature, one for each feature gate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from ...domain.features.configuration import Effective
from ...domain.features.rule import Ground, Rule
from ...domain.features.rules import BY_ID
from ...store.kinds.storage_class import StorageClass
from ...store.record import Ref
from ...usage.features import PHASES
from .counting import Values
from .report import FeatureReport, GateReport, ValueReport

MOST_VALUES = 20
_SLICE = 500  # values looked at between two looks at the event loop
_VM, _VMI = PHASES


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
