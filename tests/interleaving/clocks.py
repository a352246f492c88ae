"""Time in an interleaving: that of the world, which is the API server's, and what a sidecar takes for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from .world import World

__all__ = ["CALL", "NOTICED", "Clock", "WallClock"]

CALL = 0.06  # seconds that a call takes at most
NOTICED = 31.0  # seconds by which a clock is ahead or behind before it has to be noticed; a Date has whole seconds
_OFFSETS = (-3600.0, -900.0, -20.0, 20.0, 900.0, 900.0, 3600.0)
_JUMPS = 0.3  # of the clocks that are wrong at all
_WRONG = 0.2


@dataclass
class Clock:
    """Time passes by what the sidecars do. While one is between its last reads and its write, no other is slow."""

    world: World
    hurried: set[str] = field(default_factory=set)

    def passes(self, seconds: float, by: str) -> None:
        self.world.passes(min(seconds, CALL) if self.hurried - {by} else seconds)


@dataclass
class WallClock:
    """That of a sidecar's node: `ahead` of the world's, and from the moment `jumps` on by another `then`."""

    world: World
    ahead: float = 0.0
    jumps: float = float("inf")
    then: float = 0.0

    @classmethod
    def drawn(cls, world: World, rng: Random) -> WallClock:
        if rng.random() >= _WRONG:
            return cls(world)
        ahead = rng.choice(_OFFSETS)
        if rng.random() >= _JUMPS:
            return cls(world, ahead)
        at = world.now + rng.choice((1.0, 20.0, 200.0))
        return cls(world, rng.choice((0.0, ahead)), at, rng.choice((0.0, *_OFFSETS)))

    def now(self) -> float:
        return self.world.now + self.offset

    @property
    def offset(self) -> float:
        return self.then if self.world.now >= self.jumps else self.ahead

    @property
    def unnoticed(self) -> bool:
        """Whether it is wrong by no more than may stay unnoticed."""
        return self.offset != 0 and abs(self.offset) <= NOTICED
