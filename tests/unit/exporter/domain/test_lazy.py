"""An attribute that is made when it is first asked for."""

from __future__ import annotations

import pytest

from exporter.facts.record import UnseenError
from exporter.facts.text_cache import Lazy


class Thing:
    def __init__(self) -> None:
        self.asked = 0

    @Lazy
    def made(self) -> int:
        """What it is."""
        self.asked += 1
        return 42

    @Lazy
    def unseen(self) -> int:
        self.asked += 1
        raise UnseenError("it can't be seen")


def test_it_is_made_once_for_each_object_and_not_before() -> None:
    one, other = Thing(), Thing()

    assert one.asked == 0
    assert (one.made, one.made, one.asked, other.asked) == (42, 42, 1, 0)
    assert other.made == 42


def test_what_can_not_be_made_is_tried_again() -> None:
    thing = Thing()

    for _ in range(2):
        with pytest.raises(UnseenError):
            _ = thing.unseen
    assert thing.asked == 2
