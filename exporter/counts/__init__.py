"""Counts: what is, beside what is wrong; kept with each change, and never counted anew. Pure, one module per area.

A module here that defines `STATE` is a state; what a new one consists of says `base.py`. Metrics, docs/metrics.md and
the tests of the rules find it by themselves. `migrations` alone is of what was, beyond the objects that showed it:
bounded, in memory alone, and read by no check and no state.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from .base import State

__all__ = ["all_states"]


@cache
def all_states() -> tuple[State[Any], ...]:
    """Every state, in the order of their modules' names."""
    modules = (import_module(f"{__name__}.{name}") for name in sorted(found.name for found in iter_modules(__path__)))
    return tuple(module.STATE for module in modules if isinstance(getattr(module, "STATE", None), State))
