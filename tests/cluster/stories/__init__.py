"""What a runbook is followed for: a module for each group of alerts. One that defines `STORIES` is one."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from tests.cluster.stage import Story

__all__ = ["all_stories"]


def all_stories() -> list[Story]:
    """Every story, in the order of the modules' names."""
    modules = (import_module(f"{__name__}.{found.name}") for found in iter_modules(__path__))
    return [story for module in modules for story in getattr(module, "STORIES", ())]
