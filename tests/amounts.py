"""How much is tried of what is drawn at random, or much alike: a part in `make test`, all where ROUNDS=all, as in
`make test-long`.

Tests with hypothesis get the marker `drawn`, and their number of examples, from here. A test with rounds of its own, or
with cases that are much alike, has the marker, and asks `rounds` or `part`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

import pytest
from hypothesis import settings

__all__ = ["drawn", "examples", "mark", "part", "rounds", "set_profile"]

T = TypeVar("T")

_ALL = os.environ.get("ROUNDS") == "all"
_EXAMPLES = {"part": 25, "all": 150}
drawn = pytest.mark.drawn


def set_profile() -> None:
    """Has hypothesis try that many examples. How long one takes is the computer's affair."""
    for name, count in _EXAMPLES.items():
        settings.register_profile(name, max_examples=count, deadline=None)
    settings.load_profile("all" if _ALL else "part")


def mark(items: list[pytest.Item]) -> None:
    """Gives each test with hypothesis among `items` the marker `drawn`."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker(drawn)


def examples(factor: float = 1, **others: Any) -> settings:
    """For a test whose examples are cheap or dear: that many times as many as others have, at least five."""
    return settings(max_examples=max(5, round(factor * _EXAMPLES["all" if _ALL else "part"])), **others)


def rounds(few: int, all_of_them: int) -> int:
    """How many rounds a test makes: a few in `make test`."""
    return all_of_them if _ALL else few


def part(every: Sequence[T], one_of: int) -> Sequence[T]:
    """Some of what is much alike: one of so many in `make test`, the first one always."""
    return every if _ALL else every[::one_of]
