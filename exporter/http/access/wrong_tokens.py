"""How much the API server is asked about one address that guesses tokens, or one user: nobody is to keep it busy."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

_MOST = 1024  # addresses, or users


class Allowances:
    def __init__(self, burst: float, a_second: float, clock: Callable[[], float]) -> None:
        """For each so many questions at once, and so many a second after that; `clock` is in seconds."""
        self._burst, self._a_second, self._clock = burst, a_second, clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()  # how many may come, and when that was

    def may_ask(self, who: str) -> bool:
        return self._now(who) >= 1.0

    def asked(self, who: str) -> None:
        self._left[who] = self._now(who) - 1.0, self._clock()
        self._left.move_to_end(who)
        while len(self._left) > _MOST:
            self._left.popitem(last=False)

    def _now(self, who: str) -> float:
        left, since = self._left.get(who, (self._burst, 0.0))
        return min(self._burst, left + (self._clock() - since) * self._a_second)
