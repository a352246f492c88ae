"""The remediations: pure, a folder for each area, a module for each. One that defines `REMEDIATION` is one."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ..remediation import Remediation

__all__ = ["all_remediations"]


@cache
def all_remediations() -> tuple[Remediation, ...]:
    """Every remediation, in the order of their ids."""
    areas = (import_module(f"{__name__}.{area.name}") for area in iter_modules(__path__) if area.ispkg)
    names = (f"{area.__name__}.{found.name}" for area in areas for found in iter_modules(area.__path__))
    modules = (import_module(name) for name in names)
    found = [module.REMEDIATION for module in modules if isinstance(getattr(module, "REMEDIATION", None), Remediation)]
    return tuple(sorted(found, key=lambda remediation: remediation.id))
