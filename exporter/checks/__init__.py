"""The checks: pure, a folder for each area, a module or package for each check: it defines `CHECK`."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ..findings.check import Check

__all__ = ["all_checks"]


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check, in the order of their ids."""
    areas = (import_module(f"{__name__}.{area.name}") for area in iter_modules(__path__))
    names = (f"{area.__name__}.{found.name}" for area in areas for found in iter_modules(area.__path__))
    modules = (import_module(name) for name in names)
    found = [module.CHECK for module in modules if isinstance(getattr(module, "CHECK", None), Check)]
    return tuple(sorted(found, key=lambda check: check.id))
