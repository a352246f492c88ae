"""How long a reflector waits before its next attempt."""

from __future__ import annotations

import random

from .errors import StatusError
from .timeouts import Timeouts


class Backoff:
    """Waits that grow with each failure, up to a limit; all in seconds."""

    def __init__(self, pace: Timeouts) -> None:
        self._pace = pace
        self.failures = 0

    def after(self, error: Exception | None = None) -> float:
        """After a failure; a Retry-After is honoured up to the longest wait."""
        grown = self._pace.first_wait * 2 ** min(self.failures - 1, 10)
        if isinstance(error, StatusError) and error.code == 410 and self.failures == 1:
            grown /= 8  # the server is healthy
        asked = (error.retry_after or 0.0) if isinstance(error, StatusError) else 0.0
        return max(min(asked, self._pace.longest_wait), self._jittered(min(grown, self._pace.longest_wait)))

    def until_looking_again(self) -> float:
        """For a permission or a CRD that may come at any time."""
        return self._jittered(self._pace.look_again)

    def watch_timeout(self) -> float:
        """The seconds of one watch, so that those of all kinds don't end at once."""
        return self._pace.watch * (random.uniform(8 / 9, 10 / 9) if self._pace.jitter else 1)  # noqa: S311

    def _jittered(self, seconds: float) -> float:
        return seconds * random.uniform(0.5, 1.0) if self._pace.jitter else seconds  # noqa: S311
