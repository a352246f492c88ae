"""The timeouts and waits of a reflector."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Timeouts:
    """All in seconds, except the page size."""

    watch: float = 270.0  # timeoutSeconds of a watch, jittered by a ninth
    grace: float = 15.0  # a watch that outlives its timeout by this is ended from our side
    catch_up: float = 0.3  # a resumed watch delivers what it missed right after its headers
    silence: float = 60.0  # a list without data for this long times out
    longest_list: float = 300.0  # and so does one that takes longer than this
    first_wait: float = 0.8
    longest_wait: float = 30.0
    look_again: float = 10.0  # for permissions or a CRD
    quiet: float = 180.0  # without an event or bookmark, of a server that sends bookmarks: once a minute
    stale_after: float = 60.0  # of no connection
    page: int = 250  # objects; decoding a page blocks the event loop
    jitter: bool = True
