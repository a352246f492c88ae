"""The formats in which `steward check` prints what it finds."""

from __future__ import annotations

__all__ = ["FORMATS"]

FORMATS = ("table", "json", "yaml", "junit", "sarif")
