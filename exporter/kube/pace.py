"""How patient a reflector is."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Pace"]


@dataclass(frozen=True)
class Pace:
    """Waiting times in seconds, and how many objects are asked for at once."""

    watch: float = 270.0  # a watch's own timeout, varied by a ninth
    grace: float = 15.0  # a watch that outlives its timeout by this is frozen
    catch_up: float = 0.3  # what happened meanwhile comes right after a resumed watch's headers
    silence: float = 60.0  # a list that says nothing for so long is given up
    longest_list: float = 300.0  # and so is one that trickles for longer than this
    first_wait: float = 0.8
    longest_wait: float = 30.0
    look_again: float = 10.0  # for rights or a CRD
    stale_after: float = 60.0  # without a connection
    page: int = 250  # objects; a page of twice as many stalls the loop for twice as long
    jitter: bool = True
