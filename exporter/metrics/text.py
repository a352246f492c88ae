"""The text format, as far as we write it ourselves: the same in 0.0.4 and in OpenMetrics."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate


def head(name: str, text: str) -> bytes:
    return f"# HELP {name} {escaped(text)}\n# TYPE {name} gauge\n".encode()


def escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


# A histogram without labels.


class Histogram:
    def __init__(self, bounds: Sequence[float]) -> None:
        """`bounds` are the upper bounds of the buckets, ascending and without infinity."""
        self.total = 0.0  # of all that was observed
        self._bounds = tuple(bounds)
        self._counts = [0] * (len(bounds) + 1)

    def observe(self, value: float, times: int = 1) -> None:
        self._counts[bisect_left(self._bounds, value)] += times
        self.total += value * times

    def buckets(self) -> list[tuple[str, float]]:
        """The upper bound of each bucket, and how many observations are no larger."""
        bounds = (*map(str, self._bounds), "+Inf")
        return list(zip(bounds, accumulate(self._counts), strict=True))


# How many series there are whatever the cluster has: by `metrics.profile` of the configuration.
#
# Each family has the least profile that serves it. What is `sparse` has no samples at 0 in the least of them, where
# absent says no less: `kubevirt_steward_check_up` tells nothing found from nothing known.


class Profile(StrEnum):
    MINIMAL = "minimal"  # what the rules read
    DEFAULT = "default"  # and the boards and runbooks, with what is 0
    FULL = "full"  # and what only helps who debugs the steward

    def serves(self, least: Profile) -> bool:
        """Whether it has what `least` is the least profile of."""
        return _ORDER.index(self) >= _ORDER.index(least)


_ORDER = tuple(Profile)


# How many series the steward exports at most.


@dataclass(frozen=True)
class SeriesLimit:
    """Series of one family, and of all together: for findings, and as many again for states.

    `group` is for what a state says of one object: whoever makes it decides how much that is.
    """

    family: int = 50_000
    total: int = 200_000
    group: int = 1_000
