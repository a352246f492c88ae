"""It annotates, and changes nothing else."""

from __future__ import annotations

from ._nudges import annotated

__all__ = ["RULE"]

RULE = annotated
