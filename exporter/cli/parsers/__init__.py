"""What the commands of `steward` are called with: each adds its parser to the subparsers that it is given.

So does what other packages have as an entry point of the group `kubevirt_steward.commands`; one whose package is not
installed, as the demo in the image, is none.

A parser declares its arguments and sets `run(arguments)`, which imports the command and returns its exit code. Each
start imports these modules: what else they import is in a list (tests/unit/exporter/cli/test_start.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any

from . import others, questions

__all__ = ["all_commands"]


@cache
def all_commands() -> tuple[Callable[[Any], None], ...]:
    """What adds each command, sorted by name."""
    plugged = {each.name: each.load() for each in entry_points(group="kubevirt_steward.commands") if _installed(each)}
    return tuple(add for _, add in sorted({**questions.COMMANDS, **others.COMMANDS, **plugged}.items()))


def _installed(command: EntryPoint) -> bool:
    return find_spec(command.module.partition(".")[0]) is not None
