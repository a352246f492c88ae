"""Many small cases as one test: all are tried, and those that fail are listed, each with what was wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import pytest

__all__ = ["all_of", "named", "whole"]

Case: TypeAlias = Callable[..., None]
_MOST = 50  # cases of one test, so that workers have something to share


def named(values: Iterable[Any], name: Callable[[Any], str]) -> list[Any]:
    """Each value as a row of its own."""
    return [pytest.param(value, id=name(value)) for value in values]


def whole(_: str) -> str:
    """One part with all cases."""
    return "all"


def all_of(
    rows: Iterable[Any], part: Callable[[str], str] = lambda name: name.partition("-")[0]
) -> Callable[[Case], Any]:
    """Like `pytest.mark.parametrize` of all arguments of a test without fixtures, but for one test for each `part` of
    the names of `rows`, which are those of `pytest.param(…, id=…)`. One case alone: `pytest -k NAME` of its part.
    """

    def made(function: Case) -> Any:
        groups = list(_groups(list(rows), part))

        @pytest.mark.parametrize("cases", [each for _, each in groups], ids=[name for name, _ in groups])
        def test(cases: Sequence[Any]) -> None:
            wrong: list[Exception] = []
            for row in cases:
                try:
                    function(*row.values)
                except Exception as error:  # noqa: BLE001 # whatever it is, the other cases are tried
                    error.add_note(f"case: {row.id}")
                    wrong.append(error)
            if wrong:
                named = ", ".join(note.removeprefix("case: ") for each in wrong for note in each.__notes__[-1:])
                raise ExceptionGroup(f"{len(wrong)} of {len(cases)} cases fail: {named}", wrong)

        test.__doc__ = function.__doc__
        return test

    return made


def _groups(rows: list[Any], part: Callable[[str], str]) -> Iterable[tuple[str, Sequence[Any]]]:
    for name, group in groupby(rows, lambda row: part(str(row.id))):
        own = list(group)
        for start in range(0, len(own), _MOST):
            yield (f"{name}-{start // _MOST}" if len(own) > _MOST else name), own[start : start + _MOST]
