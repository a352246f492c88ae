"""What was made of a text once is not made again, while the texts that are kept stay few and short in all.

A tenant can have thousands of objects of a megabyte each, and a cache that is bounded by number alone would keep all
of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import wraps
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MOST_TEXT = 4 << 20  # characters that the arguments of all that is kept have
_EACH = 64  # characters that one counts beside its texts


def remembered(most: int = 4096) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """For a pure function of hashable arguments by position, which are texts, structs of them, or None: as
    `functools.lru_cache`, but the arguments of all that is kept are no longer than some megabytes.
    """

    def decorate(make: Callable[P, T]) -> Callable[P, T]:
        kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        left = _MOST_TEXT

        @wraps(make)
        def made(*args: P.args, **kwargs: P.kwargs) -> T:
            nonlocal left
            found = kept.get(args)
            if found is not None:
                kept.move_to_end(args)
                return found[0]
            value = make(*args, **kwargs)
            length = _EACH + sum(map(_length, args))
            if length > _MOST_TEXT:
                return value
            kept[args] = value, length
            left -= length
            while left < 0 or len(kept) > most:
                left += kept.popitem(last=False)[1][1]
            return value

        return made

    return decorate


class TextMemo(Generic[T]):
    """What was made before, by a text that says all that it was made of: for whoever writes that text himself. It is
    emptied before the texts are longer in all than some megabytes.
    """

    def __init__(self) -> None:
        self._made: dict[bytes, T] = {}
        self._left = _MOST_TEXT

    def get(self, text: bytes) -> T | None:
        return self._made.get(text)

    def keep(self, text: bytes, made: T) -> None:
        length = _EACH + len(text)
        if length > _MOST_TEXT:
            return
        if length > self._left:
            self._made.clear()
            self._left = _MOST_TEXT
        self._made[text] = made
        self._left -= length


def _length(thing: object) -> int:
    if isinstance(thing, str | bytes):
        return len(thing)
    fields = getattr(thing, "__struct_fields__", None)
    if fields is not None:
        return sum(_length(getattr(thing, name)) for name in fields)
    return sum(map(_length, thing)) if isinstance(thing, tuple) else 0


# An attribute that is made when it is first asked for, and kept.


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
