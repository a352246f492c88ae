"""Many cases of one test: each is tried with what fixtures make, and those that fail are listed by their names."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.all_of import each_of

SEEN: list[tuple[int, str, Path]] = []


@pytest.fixture
def seen() -> Iterator[list[tuple[int, str, Path]]]:
    """What one test has tried, of which all is there once it has ended."""
    SEEN.clear()
    yield SEEN
    assert [each[:2] for each in SEEN] == [(1, "a"), (1, "bc"), (2, "a"), (2, "bc")]
    assert len({path for *_, path in SEEN}) == 1


@each_of("number", [1, 2])
@each_of(("word", "length"), [("a", 1), pytest.param("bc", 2, id="two")])
def test_each_pair_is_tried_with_what_a_fixture_makes(
    seen: list[tuple[int, str, Path]], tmp_path: Path, number: int, word: str, length: int
) -> None:
    assert len(word) == length
    seen.append((number, word, tmp_path))


@each_of("number", range(5), ids=lambda number: f"no {number}")
def odd(number: int) -> None:
    assert number % 2


@each_of("number", [pytest.param(1, id="one"), 2])
async def odd_soon(number: int) -> None:
    assert number % 2


async def test_those_that_fail_are_listed() -> None:
    with pytest.raises(ExceptionGroup, match="3 of 5 cases fail: no 0, no 2, no 4"):
        odd()
    assert inspect.iscoroutinefunction(odd_soon)
    with pytest.raises(ExceptionGroup, match="1 of 2 cases fail: 2"):
        await odd_soon()
