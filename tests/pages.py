"""The pages of checks that stand outside of exporter/checks, in an example of docs/."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from docs.generator.pages import CHECKS, compiled
from exporter.findings import pages

__all__ = ["known_pages"]


def known_pages(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Has the pages below these folders compiled with those that there are."""
    made = msgspec.json.decode(compiled([CHECKS, *folders]), type=pages._Pages)
    monkeypatch.setattr(pages, "_compiled", lambda: made)
