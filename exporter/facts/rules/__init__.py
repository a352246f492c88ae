"""The rules, by what of a VM they look at. A module here adds its own by naming them in `RULES`."""

from __future__ import annotations

import importlib
import pkgutil

from ..rule import Rule
from .networks import OF_NETWORKS

__all__ = ["BY_ID", "OF_NETWORKS", "RULES"]


def _all() -> tuple[Rule, ...]:
    modules = sorted(each.name for each in pkgutil.iter_modules(__path__))
    found = [importlib.import_module(f"{__name__}.{name}").RULES for name in modules]
    return tuple(sorted((rule for rules in found for rule in rules), key=lambda rule: rule.id))


RULES: tuple[Rule, ...] = _all()
BY_ID: dict[str, Rule] = {rule.id: rule for rule in (*RULES, *OF_NETWORKS)}
