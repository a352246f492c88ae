"""What a value may be, said once and asked twice: by tests in Python, and by the API server in CEL. Pure.

CEL is what a ValidatingAdmissionPolicy is written in. There an object has no types, and one expression that ends in an
error refuses every write. An API server stores what a CRD's schema lets through, null or a text where a map belongs, so
an expression takes values from `At` alone, which never fails. Null is as good as absent, and what is of another type
than it has to be fits nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from .effects import ABSENT

_RESERVED = frozenset({"as", "in", "import", "package", "namespace", "function", "const", "for", "if", "true", "false"})


class Variables:
    """The maps and lists of an object that expressions look into, each said once as a variable of the policy."""

    def __init__(self, prefix: str, base: str) -> None:
        """`base` is the object in CEL; the names of the variables begin with `prefix`."""
        self._prefix, self._base = prefix, base
        self._found: dict[tuple[str, ...], tuple[str, str]] = {}

    def at(self, *keys: str) -> At:
        return At(self._base, keys, variables=self)

    def table(self, at: At) -> str:
        """The map that is there, in CEL; one of nothing in place of anything else."""
        return self._named(at.keys, f"{_if(at.value(), 'map')} : {{}}")

    def listed(self, at: At) -> str:
        """The list that is there, in CEL; one of nothing in place of anything else."""
        return self._named((*at.keys, "items"), f"{_if(at.value(), 'list')} : []")

    def _named(self, keys: tuple[str, ...], expression: str) -> str:
        words = (re.sub(r"\W", "_", each, flags=re.ASCII) for each in keys)
        return f"variables.{self._found.setdefault(keys, ('_'.join((self._prefix, *words)), expression))[0]}"

    def __iter__(self) -> Iterator[tuple[str, str]]:
        """The name and the expression of each; those that one is made of come before it."""
        return iter(self._found.values())


@dataclass(frozen=True)
class At:
    """Where a value is, in CEL: a variable that is there, and the keys from it on.

    No expression of it fails, whatever is there instead of the maps on the way to it. In a loop, which has no variables
    of the policy, one does, and is false with the term of `Like` that is beside it.
    """

    base: str
    keys: tuple[str, ...] = ()
    depth: int = 0  # of the loops around it: each has a variable of its own
    variables: Variables | None = None

    def key(self, name: str) -> At:
        return replace(self, keys=(*self.keys, name))

    def inner(self) -> At:
        """An item of the list that is here, in a loop over it."""
        return At(f"e{self.depth}", (), self.depth + 1)

    def value(self) -> str:
        """What is there, of any type; null where it is absent."""
        if not self.keys:
            return self.base
        return replace(self, keys=self.keys[:-1]).table() + _selected(self.keys[-1])

    def table(self) -> str:
        """The map that is there, but in a loop one of nothing in place of anything else."""
        return self.value() if self.variables is None else self.variables.table(self)

    def listed(self) -> str:
        """The list that is there; one of nothing in place of anything else."""
        return f"({_if(self.value(), 'list')} : [])" if self.variables is None else self.variables.listed(self)

    def may_be(self, kind: str) -> str:
        """Whether there is nothing, or a `map`, or whichever type is named."""
        return f"type({self.value()}) in [dyn({kind}), dyn(null_type)]"


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
        return f"!({at.value()} in [dyn(null), dyn('')])"


@dataclass(frozen=True)
class _Empty:
    """Absent or null; the API server leaves out lists and maps of nothing in metadata."""

    def holds(self, found: Any) -> bool:
        return found is ABSENT or found is None

    def cel(self, at: At) -> str:
        return f"{at.value()} == null"


@dataclass(frozen=True)
class _Blank:
    """What is not present: absent, null or an empty text."""

    def holds(self, found: Any) -> bool:
        return not PRESENT.holds(found)

    def cel(self, at: At) -> str:
        return f"{at.value()} in [dyn(null), dyn('')]"


ANYTHING: Pattern = _Anything()
PRESENT: Pattern = _Present()
BLANK: Pattern = _Blank()
EMPTY: Pattern = _Empty()


class Is:
    """One of several texts, numbers, truth values, or maps and lists of nothing."""

    def __init__(self, *values: Any) -> None:
        self._values = values

    def holds(self, found: Any) -> bool:
        return any(type(found) is type(each) and found == each for each in self._values)

    def cel(self, at: At) -> str:
        if len(self._values) > 1 and all(isinstance(each, str) for each in self._values):
            return f"{at.value()} in {quoted(self._values)}"
        return _any([f"{at.value()} == {quoted(each)}" for each in self._values])


class Begins:
    """A text that begins with one of several."""

    def __init__(self, *prefixes: str) -> None:
        self._prefixes = prefixes

    def holds(self, found: Any) -> bool:
        return isinstance(found, str) and found.startswith(self._prefixes)

    def cel(self, at: At) -> str:
        found = at.value()
        begins = _any([f"{found}.startsWith({quoted(each)})" for each in self._prefixes])
        return f"(type({found}) == string && {begins})"


class Like:
    """A map with values as given, whatever else is in it; where there is none, as one of nothing."""

    def __init__(self, **values: Any) -> None:
        """A value is a pattern, or what it has to be equal to; in place of a map, its keys as `Like(**{"a/b": 1})`."""
        self._values: Mapping[str, Pattern] = {name: _pattern(each) for name, each in values.items()}

    def holds(self, found: Any) -> bool:
        of: Any = {} if EMPTY.holds(found) else found
        return isinstance(of, Mapping) and all(each.holds(of.get(name, ABSENT)) for name, each in self._values.items())

    def cel(self, at: At) -> str:
        """What is no map has none of the values: that is said where they may be absent, and in a loop."""
        terms, may_be_absent = list(self._terms(at)), self.holds(ABSENT)
        if at.variables is not None:
            return _all([at.may_be("map"), *terms] if may_be_absent and at.keys else terms or ["true"])
        fits = _all([f"type({at.value()}) == map", *terms])
        return _any([EMPTY.cel(at), fits]) if may_be_absent else fits

    def _terms(self, at: At) -> Iterator[str]:
        yield from (each.cel(at.key(name)) for name, each in self._values.items() if each is not ANYTHING)


class Exactly(Like):
    """A map of these keys, and of no other."""

    def holds(self, found: Any) -> bool:
        return super().holds(found) and (EMPTY.holds(found) or found.keys() <= self._values.keys())

    def _terms(self, at: At) -> Iterator[str]:
        yield from super()._terms(at)
        yield f"{at.table()}.all(k, k in {quoted(sorted(self._values))})"


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
        return f"{at.listed()}.exists({inner.base}, {self._item.cel(inner)})"


class Each:
    """A list of which every item is as given; with `one` there is exactly one."""

    def __init__(self, item: Any, *, one: bool = False) -> None:
        self._item, self._one = _pattern(item), one

    def holds(self, found: Any) -> bool:
        found = [] if found is ABSENT or found is None else found
        fits = isinstance(found, list) and all(map(self._item.holds, found))
        return fits and (len(found) == 1 or not self._one)

    def cel(self, at: At) -> str:
        inner, found = at.inner(), at.listed()
        every = f"{found}.all({inner.base}, {self._item.cel(inner)})"
        return _all([f"size({found}) == 1" if self._one else at.may_be("list"), every])


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
    return f".?{key}.orValue(null)" if plain else f"[?{quoted(key)}].orValue(dyn(null))"


def _if(value: str, kind: str) -> str:
    return f"type({value}) == {kind} ? {value}"


def _any(terms: list[str]) -> str:
    return terms[0] if len(terms) == 1 else f"({' || '.join(terms)})"


def _all(terms: list[str]) -> str:
    return terms[0] if len(terms) == 1 else f"({' && '.join(terms)})"
