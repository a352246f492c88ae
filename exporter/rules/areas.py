"""All areas, and the groups of rules that are made of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ..findings.check import Family
from ..findings.pages import areas_of_alerts
from ..findings.severity import Severity
from . import alerts
from .by_cause import alone_and_together, alone_name, same_of
from .findings import alerts_of, families_of, groupings_of, severities_of, whatever_reason
from .held import evaluated, held, remembered, remembered_at
from .model import Alerting, Area, Recording, Rule, RuleFile, RuleGroup, area
from .values import Values

MOST = 20  # rules of a group: what ruler services take by default
_NOTE_EVERY = "2m"


@cache
def all_areas() -> tuple[Area, ...]:
    """One of each module in `alerts`, and of each file of alerts that has no module, sorted by name."""
    modules = {each.name for each in iter_modules(alerts.__path__)}
    return tuple(
        import_module(f"{alerts.__name__}.{name}").AREA if name in modules else area(name)
        for name in sorted(modules | set(areas_of_alerts()))
    )


def rule_files(values: Values) -> tuple[RuleFile, ...]:
    """One file for each area. Raises ValueError where an area says what can't be."""
    return tuple(RuleFile(each.name, each.note, tuple(_groups(each, values))) for each in all_areas())


def _groups(area: Area, values: Values) -> Iterator[RuleGroup]:
    """Findings in groups that each record what they read of themselves, then what they note, then the alerts."""
    before = tuple(area.before(values))
    for number, families in enumerate(_parts(area, MOST - 1 - len(before)), 1):
        part = area.name if number == 1 else f"{area.name}-{number}"
        recorded = [rule for family in families for rule in _of_family(area, family, part, values)]
        yield RuleGroup(part, (*before, *recorded, evaluated(part, recorded)))
        notes = (_note(area, family, part, values) for family in families)
        yield RuleGroup(f"{part}-notes", (*notes, remembered_at(part)), interval=_NOTE_EVERY)
        before = ()
    if before:
        yield RuleGroup(area.name, before, area.interval)
    made: list[Rule] = [rule for alert in area.findings for rule in alerts_of(alert, area.name, values)]
    made += [_in_area(rule, area.name) for rule in area.after(values)]
    made = list(_once(made, values))
    name = f"{area.name}-alerts" if families_of(area) or before else area.name
    for start in range(0, len(made), MOST):
        suffix = f"-{start // MOST + 1}" if start else ""
        yield RuleGroup(f"{name}{suffix}", tuple(made[start : start + MOST]))


def _parts(area: Area, room: int) -> Iterator[list[Family]]:
    """The families, in parts that each fit into a group."""
    part: list[Family] = []
    size = 0
    for family in families_of(area):
        rules = len(tuple(_of_family(area, family, "", Values())))
        if part and size + rules > room:
            yield part
            part, size, room = [], 0, MOST - 1
        part.append(family)
        size += rules
    if part:
        yield part


def _of_family(area: Area, family: Family, part: str, values: Values) -> Iterable[Recording]:
    critical = Severity.CRITICAL in severities_of(family.name)
    yield from held(family, part, values, quiet=family.name in area.quiet, critical=critical)
    if reasons := groupings_of(area, family.name):
        kept = whatever_reason(area, family.name)
        yield from alone_and_together(family.name, reasons, values, whatever_reason=kept)


def _note(area: Area, family: Family, part: str, values: Values) -> Recording:
    if not groupings_of(area, family.name):
        return remembered(family, part, "", "")
    same = same_of(values, whatever_reason=whatever_reason(area, family.name))
    return remembered(family, part, same, alone_name(family.name))


def _once(rules: Iterable[Rule], values: Values) -> Iterable[Rule]:
    """Rules that what a site sets as severity makes equal are one, which says what each of them says."""
    made: dict[object, Rule] = {}
    for rule in rules:
        key: object = id(rule)
        if isinstance(rule, Alerting):
            key = (rule.alert, values.severity(rule.alert, rule.severity), rule.per_cause)
        first = made.get(key)
        if isinstance(first, Alerting) and isinstance(rule, Alerting):
            made[key] = replace(
                first,
                expr=f"(\n{first.expr}\n)\nor (\n{rule.expr}\n)",
                summary=_either(first.summary, rule.summary),
                description=_either(first.description, rule.description),
                section=first.section if first.section == rule.section else "",
            )
        else:
            made[key] = rule
    return made.values()


def _either(one: str, other: str) -> str:
    return one if one == other else f"{one} Or: {other}"


def _in_area(rule: Rule, area: str) -> Rule:
    if not isinstance(rule, Alerting) or rule.area is not None:
        return rule
    return replace(rule, area=area, page="/repairs" if area == "repairs" else rule.page)
