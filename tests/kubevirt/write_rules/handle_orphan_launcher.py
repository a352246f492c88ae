"""It only proposes."""

from __future__ import annotations

from ._objects import never

__all__ = ["RULE"]

RULE = never("is a proposal, and was written")
