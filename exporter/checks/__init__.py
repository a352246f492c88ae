"""The checks: pure, a folder for each area, a module or package for each check: it defines `CHECK`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import MappingProxyType

from ..findings.causes import Cause
from ..findings.check import Check, Reason

__all__ = ["all_checks", "areas", "cause_of", "reason_of"]


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check, in the order of their ids."""
    return tuple(sorted((check for area in _found().values() for check in area), key=lambda check: check.id))


def reason_of(check: str, name: str) -> Reason | None:
    """None for one that there is not: a running exporter of another version may report it."""
    found = _checks().get((check, name))
    return found.reasons[name] if found is not None else None


def cause_of(check: str, name: str) -> Cause | None:
    """By what findings of a reason have one cause; None as above."""
    found = _checks().get((check, name))
    return found.cause_by(name) if found is not None else None


@cache
def _checks() -> Mapping[tuple[str, str], Check]:
    return {(check.id, name): check for check in all_checks() for name in check.reasons}


@cache
def areas() -> Mapping[str, tuple[Check, ...]]:
    """The checks of each area, which is a folder; both in the order of their names."""
    return MappingProxyType(_found())


def _found() -> Mapping[str, tuple[Check, ...]]:
    return {area: _checks_of(area) for area in sorted(found.name for found in iter_modules(__path__))}


def _checks_of(area: str) -> tuple[Check, ...]:
    folder = import_module(f"{__name__}.{area}")
    modules = (import_module(f"{folder.__name__}.{found.name}") for found in iter_modules(folder.__path__))
    found = [module.CHECK for module in modules if isinstance(getattr(module, "CHECK", None), Check)]
    return tuple(sorted(found, key=lambda check: check.id))
