"""What a value may be, said once and asked twice: by tests in Python, and by the API server in CEL. Pure.

CEL is what a ValidatingAdmissionPolicy is written in. There an object has no types: a field that may be absent is taken
as an optional value (`object.?spec`, in Kubernetes since 1.29), and an error in an expression refuses the write.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from .effects import ABSENT

__all__ = [
    "ANYTHING",
    "EMPTY",
    "PRESENT",
    "At",
    "Begins",
    "Both",
    "Each",
    "Exactly",
    "Has",
    "Is",
    "Like",
    "Pattern",
    "quoted",
]

_RESERVED = frozenset({"as", "in", "import", "package", "namespace", "function", "const", "for", "if", "true", "false"})


_NO_TEXT = "''"


@dataclass(frozen=True)
class At:
    """Where a value is, in CEL: a variable that is there, and the keys from it on."""

    base: str
    keys: tuple[str, ...] = ()
    depth: int = 0  # of the loops around it: each has a variable of its own

    def key(self, name: str) -> At:
        return At(self.base, (*self.keys, name), self.depth)

    def inner(self) -> At:
        """An item of the list that is here, in a loop over it."""
        return At(f"e{self.depth}", (), self.depth + 1)

    @property
    def optional(self) -> str:
        return self.base + "".join(map(_selected, self.keys)) if self.keys else f"optional.of({self.base})"

    def value(self, default: str = "null") -> str:
        return f"{self.optional}.orValue({default})" if self.keys else self.base


class Pattern(Protocol):
    def holds(self, found: Any) -> bool:
        """Whether a value, or ABSENT, is as it says."""

    def cel(self, at: At) -> str:
        """The same as an expression, in brackets where it is more than one term."""


@dataclass(frozen=True)
class _Anything:
    def holds(self, _: Any) -> bool:
        return True

    def cel(self, _: At) -> str:
        return "true"


@dataclass(frozen=True)
class _Present:
    def holds(self, found: Any) -> bool:
        return found is not ABSENT and found is not None and found != ""

    def cel(self, at: At) -> str:
        return f"{at.value(_NO_TEXT)} != ''"


@dataclass(frozen=True)
class _Empty:
    """Absent or null; the API server leaves out lists and maps of nothing in metadata."""

    def holds(self, found: Any) -> bool:
        return found is ABSENT or found is None

    def cel(self, at: At) -> str:
        return f"{at.value()} == null"


ANYTHING: Pattern = _Anything()
PRESENT: Pattern = _Present()
EMPTY: Pattern = _Empty()


class Is:
    """One of several texts, numbers, truth values, or maps and lists of nothing."""

    def __init__(self, *values: Any) -> None:
        self._values = values

    def holds(self, found: Any) -> bool:
        return any(type(found) is type(each) and found == each for each in self._values)

    def cel(self, at: At) -> str:
        return _any([f"{at.value(_default(each))} == {quoted(each)}" for each in self._values])


class Begins:
    """A text that begins with one of several."""

    def __init__(self, *prefixes: str) -> None:
        self._prefixes = prefixes

    def holds(self, found: Any) -> bool:
        return isinstance(found, str) and found.startswith(self._prefixes)

    def cel(self, at: At) -> str:
        found = at.value(_NO_TEXT)
        return _any([f"{found}.startsWith({quoted(each)})" for each in self._prefixes])


class Like:
    """A map with values as given, whatever else is in it; where there is none, as one of nothing."""

    def __init__(self, **values: Any) -> None:
        """A value is a pattern, or what it has to be equal to; in place of a map, its keys as `Like(**{"a/b": 1})`."""
        self._values: Mapping[str, Pattern] = {name: _pattern(each) for name, each in values.items()}

    def holds(self, found: Any) -> bool:
        of: Any = {} if EMPTY.holds(found) else found
        return isinstance(of, Mapping) and all(each.holds(of.get(name, ABSENT)) for name, each in self._values.items())

    def cel(self, at: At) -> str:
        return _all([each.cel(at.key(name)) for name, each in self._values.items()])


class Exactly(Like):
    """A map of these keys, and of no other."""

    def holds(self, found: Any) -> bool:
        return super().holds(found) and (EMPTY.holds(found) or found.keys() <= self._values.keys())

    def cel(self, at: At) -> str:
        return _all([f"{at.value('{}')}.all(k, k in {quoted(sorted(self._values))})", super().cel(at)])


class Both:
    """What is like each of several patterns."""

    def __init__(self, *patterns: Pattern) -> None:
        self._patterns = [each for each in patterns if each is not ANYTHING]

    def holds(self, found: Any) -> bool:
        return all(each.holds(found) for each in self._patterns)

    def cel(self, at: At) -> str:
        return _all([each.cel(at) for each in self._patterns])


class Has:
    """A list in which at least one item is as given."""

    def __init__(self, item: Any) -> None:
        self._item = _pattern(item)

    def holds(self, found: Any) -> bool:
        return isinstance(found, list) and any(map(self._item.holds, found))

    def cel(self, at: At) -> str:
        inner = at.inner()
        return f"{at.value('[]')}.exists({inner.base}, {self._item.cel(inner)})"


class Each:
    """A list of which every item is as given; with `one` there is exactly one."""

    def __init__(self, item: Any, *, one: bool = False) -> None:
        self._item, self._one = _pattern(item), one

    def holds(self, found: Any) -> bool:
        found = [] if found is ABSENT or found is None else found
        fits = isinstance(found, list) and all(map(self._item.holds, found))
        return fits and (len(found) == 1 or not self._one)

    def cel(self, at: At) -> str:
        inner, found = at.inner(), at.value("[]")
        every = f"{found}.all({inner.base}, {self._item.cel(inner)})"
        return _all([f"size({found}) == 1", every]) if self._one else every


def quoted(value: Any) -> str:
    """A value as CEL has it: as JSON, with which it agrees here, and texts in single quotes."""
    if isinstance(value, str):
        return "'" + json.dumps(value)[1:-1].replace('\\"', '"').replace("'", "\\'") + "'"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(quoted, value))}]"
    return json.dumps(value)


def _pattern(value: Any) -> Pattern:
    return value if hasattr(value, "cel") else Is(value)


def _selected(key: str) -> str:
    plain = key.isidentifier() and key.isascii() and key not in _RESERVED
    return f".?{key}" if plain else f"[?{quoted(key)}]"


def _default(value: Any) -> str:
    """What stands for an absent value in a comparison: of the same type, or of none."""
    return _NO_TEXT if isinstance(value, str) else "dyn(null)"


def _any(terms: list[str]) -> str:
    return terms[0] if len(terms) == 1 else f"({' || '.join(terms)})"


def _all(terms: list[str]) -> str:
    return terms[0] if len(terms) == 1 else f"({' && '.join(terms)})"
