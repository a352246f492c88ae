"""What makes the networks' controllers do what a check finds, as a test has them do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["causes"]

T = TypeVar("T", bound=Callable[..., None])


def causes(**reasons: str) -> Callable[[T], T]:
    """Each reason that the test shows, and what causes it: `make generate` reads them for docs/networks.md."""
    return lambda test: test
