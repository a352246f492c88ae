"""How the writes of remediations are taken back: pure, one module each, with the name of its remediation."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ..undo import AnyUndo, NoUndo, Undo

__all__ = ["all_undos", "undo_of"]


@cache
def all_undos() -> dict[str, AnyUndo]:
    """By the ids of the remediations, in their order. A module here that defines `UNDO` is one."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    found = [module.UNDO for module in modules if isinstance(getattr(module, "UNDO", None), Undo | NoUndo)]
    return {undo.id: undo for undo in sorted(found, key=lambda undo: undo.id)}


def undo_of(remediation: str) -> AnyUndo | None:
    """By the id of the remediation; None of one that writes nothing, or that this release does not have."""
    return all_undos().get(remediation)
