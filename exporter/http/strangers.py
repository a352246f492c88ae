"""How many wrong tokens of one address the API server is asked about: whoever guesses is not to keep it busy."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

__all__ = ["Strangers"]

_BURST = 50.0
_A_SECOND = 5.0
_MOST = 1024  # addresses


class Strangers:
    def __init__(self, clock: Callable[[], float]) -> None:
        """`clock` is in seconds."""
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # how many may come, and when that was

    def may_ask(self, address: str) -> bool:
        return self._now(address) >= 1.0

    def was_wrong(self, address: str) -> None:
        self._left[address] = self._now(address) - 1.0, self._clock()
        self._left.move_to_end(address)
        while len(self._left) > _MOST:
            self._left.popitem(last=False)

    def _now(self, address: str) -> float:
        left, since = self._left.get(address, (_BURST, 0.0))
        return min(_BURST, left + (self._clock() - since) * _A_SECOND)
