"""When it is clear what came of a write that was sent and not answered.

Its connection is dropped, but it may have left: it may wait in the buffer of a proxy, or in the API server for a
webhook. So an object that does not show the effect proves nothing at first. It does once the write can have no effect
any more, because the object is another one than the write is bound to, or because enough time has passed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from exporter.facts.times import Skew
from exporter.kube.clocks import boottime

from ..plan.effects import happened
from ..plan.plan import Call, Create, Step
from ..plan.requests import metadata
from . import Entry

ARRIVES = 180.0
"""Seconds after which a request can't arrive any more. The API server ends it after 60 s (`--request-timeout` of
kube-apiserver). A proxy in between may have taken all of it before the connection was dropped: nginx gives up after
60 s as it is delivered (`proxy_connect_timeout`, `proxy_send_timeout`), HAProxy and load balancers are set to less or
only pass on. As much again is for what none of them says. Setting `settleAfter` is for who has set them otherwise."""

_BEGUN = 30.0  # seconds from the entry to the end of the wait for an answer: more than both may take
_APART = 60.0  # seconds by which two clocks may differ that both agree with the API server's: see gate `clock`


def may_arrive(step: Step, before: Mapping[str, Any], now: Mapping[str, Any] | None) -> bool:
    """Whether a write could have an effect if it arrived after the object was read as it is `now`.

    A patch and a deletion are bound to UID and resourceVersion; to create what exists is a conflict, but what somebody
    else made may go. KubeVirt's calls are bound to a node at most.
    """
    if isinstance(step, Call):
        return True
    if isinstance(step, Create):
        return not happened(step, before, now)
    if now is None:
        return False
    was, found = metadata(before), metadata(now)
    return (was.get("uid"), was.get("resourceVersion")) == (found.get("uid"), found.get("resourceVersion"))


class Settling:
    """For how long requests without an answer may still arrive.

    By a timer that nobody sets, from when this process dropped the connection; of an attempt of another process, which
    has ended since, from when it was first looked at. Or by the times in the ledger: the clocks of both processes agree
    with the API server's, or they would not write.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        arrives: float = ARRIVES,
        skew: Callable[[], Skew | None] = lambda: None,
        timer: Callable[[], float] = boottime,
    ) -> None:
        """`clock` gives seconds since 1970, and `skew` how far it is from the API server's."""
        self._arrives, self._clock, self._skew, self._timer = arrives, clock, skew, timer
        self._dropped: dict[str, float] = {}

    def dropped(self, attempt: str) -> None:
        """The connection of its write was just dropped."""
        self._dropped[attempt] = self._timer()

    def left(self, intended: Entry) -> float:
        """The seconds for which its request may still arrive; 0 where it can't."""
        since = self._dropped.setdefault(intended.attempt, self._timer())
        left = self._arrives - (self._timer() - since)
        skew = self._skew()
        if skew is not None and skew.agree:
            left = min(left, intended.at + _BEGUN + self._arrives + _APART - self._clock())
        return max(0.0, left)

    def settled(self, attempt: str) -> None:
        self._dropped.pop(attempt, None)
