"""The boards: one model of what they show, and a writer for each program that draws them."""

from __future__ import annotations

from .definitions import all_boards
from .manifests import files

__all__ = ["all_boards", "generated"]


def generated() -> dict[str, str]:
    """The text of each generated file, by its path from the project's top."""
    return files(all_boards())
