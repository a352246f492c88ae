"""The one way in which tests wait: for something to become so, with a deadline, never for a time to pass."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

__all__ = ["wait_until"]

T = TypeVar("T")


def wait_until(predicate: Callable[[], T | None], timeout: float, what: str, *, every: float = 0.05) -> T:
    """Asks `predicate` every `every` seconds until its answer is true, and returns that.

    Raises TimeoutError, with `what` in it, after `timeout` seconds. What the predicate raises ends the wait.
    """
    deadline = time.monotonic() + timeout
    pause = threading.Event()
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            raise TimeoutError(f"waited {timeout:g} s in vain for this: {what}; the last answer was {answer!r}")
        pause.wait(every)
