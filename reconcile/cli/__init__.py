"""`steward reconcile`: its commands, one module each. A module here that defines `add(subparsers)` is one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

__all__ = ["add"]


def add(commands: Any) -> None:
    """Adds `reconcile` to the commands of `steward`, which finds this by its entry point."""
    parser = commands.add_parser(
        "reconcile",
        help="plan repairs of findings, approve them, carry them out, take them back",
        description="Plans repairs of findings, and carries out what is approved. With the defaults it writes nothing.",
    )
    own = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for found in sorted(iter_modules(__path__), key=lambda each: each.name):
        module = import_module(f"{__name__}.{found.name}")
        if callable(getattr(module, "add", None)):
            module.add(own)
