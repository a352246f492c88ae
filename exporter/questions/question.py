"""A question as it is declared: with what it is asked, and how its answer is made. API, page and command are shells.

The answer is made in slices, so that others get their turn between two of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import islice
from typing import Any, Generic, TypeVar

from ..engine.engine import Engine
from ..store.reader import Reading

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
Steps = Callable[[Engine, Any, Asked], Generator[None, None, Answer]]


class NotThereError(Exception):
    """What is asked about is not there. The text is one sentence, with what there is."""


class UnaskableError(Exception):
    """What can't be asked, or can't be done. The text is one sentence."""


@dataclass(frozen=True)
class Question(Generic[Asked, Answer]):
    """`steps` make the answer of an engine, of what is `counted` beside it and of what is asked, in slices. They raise
    NotThereError and UnaskableError. Where there is `narrowed`, they make all of it whatever is asked, and that leaves
    what is asked for. `bounded` are those by which the API, and the page, get no more than they can show.

    The API has the answer at `path` below /api/v1, in which fields of what is asked stand in braces.
    """

    path: str
    asked: type[Asked]
    answer: type[Answer]
    steps: Steps[Asked, Answer]
    reading: Reading | None = None
    counted: Any = None
    narrowed: Callable[[Answer, Asked], Answer] | None = None
    bounded: Steps[Asked, Answer] | None = None


def number_in(text: str, what: str, least: int) -> int | None:
    """What somebody has given as text; None where nothing is. Raises UnaskableError."""
    if not text:
        return None
    if not text.isascii() or not text.isdecimal() or len(text) > 9 or int(text) < least:
        raise UnaskableError(f"{what} is a whole number from {least} on, and not {text[:20]!r}")
    return int(text)


_SLICE = 500  # things between two turns
T = TypeVar("T")


def in_order(things: Sequence[T], key: Callable[[T], Any]) -> Generator[None, None, list[T]]:
    """All of them, sorted."""
    runs: list[list[T]] = []
    for start in range(0, len(things), _SLICE):
        runs.append(sorted(things[start : start + _SLICE], key=key))
        yield
    found: list[T] = []
    ordered = merge(*runs, key=key)
    while run := list(islice(ordered, _SLICE)):
        found += run
        yield
    return found
