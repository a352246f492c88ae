"""What the commands of `steward` are called with, one module each. A module here that defines `add(subparsers)` is one.

So is what other packages have as an entry point of the group `kubevirt_steward.commands`; one whose package is not
installed, as the demo in the image, is none.

`add` declares its arguments and sets `run(arguments)`, which imports the command and returns its exit code. Each start
imports all of these modules: what else they import is in a list (tests/unit/exporter/cli/test_start.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

__all__ = ["all_commands"]


@cache
def all_commands() -> tuple[Callable[[Any], None], ...]:
    """The `add` of every command, sorted by name."""
    modules = ((found.name, import_module(f"{__name__}.{found.name}")) for found in iter_modules(__path__))
    own = {name: module.add for name, module in modules if _of(module)}
    plugged = {each.name: each.load() for each in entry_points(group="kubevirt_steward.commands") if _installed(each)}
    return tuple(add for _, add in sorted((own | plugged).items()))


def _installed(command: EntryPoint) -> bool:
    return find_spec(command.module.partition(".")[0]) is not None


def _of(module: Any) -> bool:
    add = getattr(module, "add", None)
    return callable(add) and add.__module__ == module.__name__
