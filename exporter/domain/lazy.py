"""An attribute that is made when it is first asked for, and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Lazy(Generic[T]):
    """As `functools.cached_property`, without the lock that it takes up to Python 3.11: that costs more than most of
    what is made so, thousands of times, for one VM each.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        made: T = self._make(instance)
        instance.__dict__[self._name] = made  # which is found before this is asked again
        return made
