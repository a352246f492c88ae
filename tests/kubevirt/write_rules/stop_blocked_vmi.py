"""What shuts a guest down does not run by itself."""

from __future__ import annotations

from ._objects import never

__all__ = ["RULE"]

RULE = never("shuts a guest down, and was not to run")
