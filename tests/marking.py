"""Tests of a folder that need more than the others: they get a marker, and are skipped where it is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

__all__ = ["mark"]


def mark(
    items: Iterable[pytest.Item], folder: Path, marker: pytest.MarkDecorator, why_not: Callable[[], str | None]
) -> None:
    """`why_not` says why they can't run here; None where they can."""
    ours = [item for item in items if folder in item.path.parents]
    reason = why_not() if ours else None
    for item in ours:
        item.add_marker(marker)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))
