"""What loses an address does not run by itself."""

from __future__ import annotations

from ._objects import never

__all__ = ["RULE"]

RULE = never("loses an address, and was not to run")
