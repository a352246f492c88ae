"""The commands of `steward`, one module each. A module here that defines `add(subparsers)` is a command.

So is what other packages have as an entry point of the group `kubevirt_steward.commands`.

`add` declares its arguments and sets `run(arguments)`, which returns the exit code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from typing import Any

__all__ = ["all_commands"]


@cache
def all_commands() -> tuple[Callable[[Any], None], ...]:
    """The `add` of every command, sorted by name; those of other packages come last."""
    names = sorted(f"{__name__}.{found.name}" for found in iter_modules(__path__))
    adds = (getattr(import_module(name), "add", None) for name in names)
    plugged = sorted(entry_points(group="kubevirt_steward.commands"), key=lambda each: each.name)
    others = (each.load() for each in plugged)
    return (*(add for add in adds if callable(add) and add.__module__ in names), *others)
