"""The remediations: pure, a folder for each area, a module for each. One that defines `REMEDIATION` is one, and its
`UNDO` says how what it writes is taken back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from ..remediation import Remediation
from ..undo import AnyUndo, NoUndo, Undo

__all__ = ["all_remediations", "all_undos", "undo_of"]


@cache
def all_remediations() -> tuple[Remediation, ...]:
    """Every remediation, in the order of their ids."""
    found = (getattr(module, "REMEDIATION", None) for module in _modules())
    return tuple(sorted((each for each in found if isinstance(each, Remediation)), key=lambda each: each.id))


@cache
def all_undos() -> dict[str, AnyUndo]:
    """By the ids of the remediations, in their order."""
    found = (getattr(module, "UNDO", None) for module in _modules())
    return {each.id: each for each in sorted((e for e in found if isinstance(e, Undo | NoUndo)), key=lambda e: e.id)}


def undo_of(remediation: str) -> AnyUndo | None:
    """By the id of the remediation; None of one that writes nothing, or that this release does not have."""
    return all_undos().get(remediation)


def _modules() -> Iterator[ModuleType]:
    areas = (import_module(f"{__name__}.{area.name}") for area in iter_modules(__path__) if area.ispkg)
    return (import_module(f"{area.__name__}.{found.name}") for area in areas for found in iter_modules(area.__path__))
