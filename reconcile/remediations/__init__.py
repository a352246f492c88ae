"""The remediations: pure, one module each. A module here that defines `REMEDIATION` is one."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ..remediation import Remediation

__all__ = ["all_remediations"]


@cache
def all_remediations() -> tuple[Remediation, ...]:
    """Every remediation, in the order of their ids."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    found = [module.REMEDIATION for module in modules if isinstance(getattr(module, "REMEDIATION", None), Remediation)]
    return tuple(sorted(found, key=lambda remediation: remediation.id))
