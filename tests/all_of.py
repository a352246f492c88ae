"""Many small cases as one test: all are tried, and those that fail are listed, each with what was wrong."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from itertools import groupby
from typing import Any, TypeAlias

import pytest

__all__ = ["all_of", "each_of", "named", "tried", "whole"]

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
            with tried() as each:
                for row in cases:
                    with each(row.id):
                        function(*row.values)

        test.__doc__ = function.__doc__
        return test

    return made


def each_of(
    names: str | Sequence[str], rows: Iterable[Any], ids: Callable[[Any], object] | Iterable[str] | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """In place of `pytest.mark.parametrize` one test that tries all rows. What fixtures make is made once, for all."""
    keys = (names,) if isinstance(names, str) else tuple(names)
    cases = list(_cases(keys, rows, ids))

    def made(function: Callable[..., Any]) -> Any:
        @wraps(function)
        def test(**fixtures: Any) -> None:
            with tried() as each:
                for name, values in cases:
                    with each(name):
                        function(**values, **fixtures)

        @wraps(function)
        async def awaited(**fixtures: Any) -> None:
            with tried() as each:
                for name, values in cases:
                    with each(name):
                        await function(**values, **fixtures)

        one: Any = awaited if inspect.iscoroutinefunction(function) else test
        signature = inspect.signature(function)
        left = [each for name, each in signature.parameters.items() if name not in keys]
        one.__signature__ = signature.replace(parameters=left)
        return one

    return made


def _cases(
    keys: Sequence[str], rows: Iterable[Any], ids: Callable[[Any], object] | Iterable[str] | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    rows = list(rows)
    assert rows, "there is nothing to try"
    given = [None] * len(rows) if ids is None or callable(ids) else list(ids)
    for row, name in zip(rows, given, strict=True):
        parameters = isinstance(row, type(pytest.param()))
        values = row.values if parameters else (row,) if len(keys) == 1 else tuple(row)
        said = name or (row.id if parameters else None)
        if said is None:
            said = "-".join(str(ids(each) if callable(ids) else each) for each in values)
        yield str(said), dict(zip(keys, values, strict=True))


@contextmanager
def tried() -> Iterator[Callable[[str], AbstractContextManager[None]]]:
    """Many cases within one test, each as `with each(NAME): …`: all are tried, and those that fail are listed."""
    wrong: list[Exception] = []
    names: list[str] = []

    @contextmanager
    def each(name: str) -> Iterator[None]:
        names.append(name)
        try:
            yield
        except Exception as error:  # noqa: BLE001 # whatever it is, the other cases are tried
            error.add_note(f"case: {name}")
            wrong.append(error)

    yield each
    if wrong:
        failed = ", ".join(note.removeprefix("case: ") for each in wrong for note in each.__notes__[-1:])
        raise ExceptionGroup(f"{len(wrong)} of {len(names)} cases fail: {failed}", wrong)


def _groups(rows: list[Any], part: Callable[[str], str]) -> Iterable[tuple[str, Sequence[Any]]]:
    for name, group in groupby(rows, lambda row: part(str(row.id))):
        own = list(group)
        for start in range(0, len(own), _MOST):
            yield (f"{name}-{start // _MOST}" if len(own) > _MOST else name), own[start : start + _MOST]
