"""Views: what users ask for beside the findings, each with its report.

A module here that defines `READER` is a view: what it reads is watched.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from ..store.reader import Reading

__all__ = ["all_views"]


@cache
def all_views() -> tuple[Reading, ...]:
    """What every view reads, in the order of their names."""
    modules = (import_module(f"{__name__}.{name}") for name in sorted(found.name for found in iter_modules(__path__)))
    return tuple(module.READER for module in modules if isinstance(getattr(module, "READER", None), Reading))
