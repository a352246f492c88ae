"""What goes wrong with a sidecar and its calls in an interleaving, drawn."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from .access import Faults

__all__ = ["deaths", "faults"]

_SLOW = (0.5, 3.0, 8.0, 15.0, 45.0, 60.0)  # seconds for which a write may be under way


def faults(rng: Random) -> Faults:
    large = rng.random() < 0.3

    def pages() -> int:
        return rng.choice((0, 2, 5)) if large else 0

    stops = rng.random() < 0.2

    def paused() -> float:
        return rng.choice((3.0, 60.0)) if stops and rng.random() < 0.05 else 0.0

    slow = rng.random() < 0.15

    def late() -> float:
        return rng.choice(_SLOW) if slow and rng.random() < 0.7 else 0.0

    fails = rng.random() < 0.2
    return Faults(
        pages=pages,
        paused=paused,
        read_fails=lambda: fails and rng.random() < 0.02,
        answer_lost=lambda: rng.choice(("before", "after", "")) if fails else "",
        late=late,
        stopped=lambda: rng.random() < 0.2,
        outlived=lambda: rng.random() < 0.5,
    )


def deaths(rng: Random) -> Callable[[str], bool]:
    """A third of the sidecars is killed now and then, at any call or between two."""
    often = rng.choice((0.0, 0.0, 0.02))
    return lambda _: rng.random() < often if often else False
