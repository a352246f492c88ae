"""The formats in which `steward check` prints what it finds."""

from __future__ import annotations

FORMATS = ("table", "wide", "name", "json", "yaml", "csv", "html", "junit", "sarif")
TEXTS = ("table", "wide", "name")  # for a terminal; the others are whole, and in UTF-8
