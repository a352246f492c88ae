"""The pages of checks that stand outside of exporter/checks, in an example of docs/."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from docs.generator.pages import ALERTS, CHECKS, compiled
from exporter.findings import pages

__all__ = ["known_pages"]


def known_pages(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    """Has the pages below these folders, and the alerts beside them, compiled with those that there are."""
    alerts = [ALERTS, *(folder.parent / "rules/alerts" for folder in folders)]
    made = msgspec.json.decode(compiled([CHECKS, *folders], alerts), type=pages._Pages)
    monkeypatch.setattr(pages, "_compiled", lambda: made)
