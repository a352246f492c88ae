"""All areas, and the groups of rules that are made of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from . import alerts
from .findings import alerts_of, families_of
from .held import held, storm_of
from .model import Alerting, Area, Rule, RuleGroup
from .values import Values

__all__ = ["all_areas", "groups"]


@cache
def all_areas() -> tuple[Area, ...]:
    """One of each module in `alerts`, sorted by name."""
    names = sorted(each.name for each in iter_modules(alerts.__path__))
    return tuple(import_module(f"{alerts.__name__}.{name}").AREA for name in names)


def groups(values: Values) -> tuple[RuleGroup, ...]:
    """One group of rules for each area, in the order in which they have to be evaluated."""
    return tuple(RuleGroup(area.name, area.note, tuple(_rules(area, values))) for area in all_areas())


def _rules(area: Area, values: Values) -> Iterator[Rule]:
    yield from area.before(values)
    for family in families_of(area):
        yield from held(family, values, quiet=family.name in area.quiet)
    # However many findings a counted alert has, it is one.
    single = replace(area, findings=tuple(alert for alert in area.findings if not alert.counted))
    if single.findings:
        yield storm_of(area.name, [family.name for family in families_of(single)], values)
    for alert in area.findings:
        yield from alerts_of(alert, area.name, values)
    for rule in area.after(values):
        yield replace(rule, area=area.name) if isinstance(rule, Alerting) and rule.area is None else rule
