"""The checks: pure, one module per problem area. A module here that defines `CHECK` is a check."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from .base import Check

__all__ = ["all_checks"]


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check, in the order of their ids."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    found = [module.CHECK for module in modules if isinstance(getattr(module, "CHECK", None), Check)]
    return tuple(sorted(found, key=lambda check: check.id))
