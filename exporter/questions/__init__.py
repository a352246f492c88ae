"""Questions: what users ask for beside the findings, each with its answer.

A module here that defines `QUESTION` is found: what it reads is watched, and the API has a path for it.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what a command line is parsed with stands in this package, too
    from ..store.reader import Reading
    from .question import Question

__all__ = ["all_questions", "all_views"]


@cache
def all_questions() -> tuple[Question[Any, Any], ...]:
    """In the order of their names."""
    modules = (import_module(f"{__name__}.{name}") for name in sorted(found.name for found in iter_modules(__path__)))
    return tuple(module.QUESTION for module in modules if hasattr(module, "QUESTION"))


@cache
def all_views() -> tuple[Reading, ...]:
    """What every question reads that reads anything beside the checks."""
    return tuple(each.reading for each in all_questions() if each.reading is not None)
