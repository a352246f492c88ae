"""Label selectors, as Kubernetes matches them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import msgspec

from .record import Wire

_KEY = "([A-Za-z0-9][A-Za-z0-9._/-]*)"
_VALUE = "[A-Za-z0-9._-]*"
_EXISTS = re.compile(rf"(!?)\s*{_KEY}")
_EQUALS = re.compile(rf"{_KEY}\s*(==|=|!=)\s*({_VALUE})")
_AMONG = re.compile(rf"{_KEY}\s+(in|notin)\s*\(\s*({_VALUE}(?:\s*,\s*{_VALUE})*)\s*\)")


class WireRequirement(Wire, frozen=True, gc=False):
    key: str | None = None
    operator: str | None = None
    values: list[str | None] | None = None


class WireSelector(Wire, frozen=True, gc=False):
    match_labels: dict[str, str | None] | None = None
    match_expressions: list[WireRequirement | None] | None = None


class Requirement(msgspec.Struct, frozen=True, gc=False):
    """One expression. `operator` is In, NotIn, Exists, DoesNotExist, and of node affinity Gt or Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    @property
    def valid(self) -> bool:
        """Whether Kubernetes takes it, by its operator and how many values that has."""
        if self.operator in ("In", "NotIn"):
            return bool(self.values)
        if self.operator in ("Exists", "DoesNotExist"):
            return not self.values
        return self.operator in ("Gt", "Lt") and len(self.values) == 1 and _integer(self.values[0]) is not None

    def holds(self, labels: Mapping[str, str]) -> bool:
        """An unknown operator never holds."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":
            return value is None or value not in self.values
        if self.operator in ("Exists", "DoesNotExist"):
            return (value is not None) == (self.operator == "Exists")
        return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        left, right = _integer(value or ""), _integer(self.values[0] if self.values else "")
        if left is None or right is None:
            return False
        return left > right if self.operator == "Gt" else left < right if self.operator == "Lt" else False

    def __str__(self) -> str:
        if self.operator in ("Exists", "DoesNotExist"):
            return self.key if self.operator == "Exists" else f"!{self.key}"
        if self.operator == "In" and len(self.values) == 1:
            return f"{self.key}={self.values[0]}"
        return f"{self.key} {self.operator} {', '.join(self.values)}"

    @property
    def parameter(self) -> str:
        """As `labelSelector` of a request has it."""
        if self.operator in ("In", "NotIn"):
            return f"{self.key} {self.operator.lower()} ({','.join(self.values)})"
        return str(self)


def _integer(text: str) -> int | None:
    """As Go reads it: Python takes underscores and spaces too."""
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None


class Selector(msgspec.Struct, frozen=True, gc=False):
    """Matches labels for which all requirements hold; without any it matches everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(each.holds(labels) for each in self.requirements)

    def __str__(self) -> str:
        return ", ".join(map(str, self.requirements)) or "everything"

    @property
    def parameter(self) -> str:
        return ",".join(each.parameter for each in self.requirements)


def requirements_of(wires: list[WireRequirement | None] | None) -> tuple[Requirement, ...]:
    return tuple(
        Requirement(wire.key or "", wire.operator or "", tuple(value or "" for value in wire.values or ()))
        for wire in wires or ()
        if wire is not None
    )


def selector_of(wire: WireSelector | None) -> Selector | None:
    """None for no selector, which matches nothing; an empty one matches everything."""
    if wire is None:
        return None
    labels = tuple(Requirement(key, "In", (value or "",)) for key, value in (wire.match_labels or {}).items())
    return Selector(labels + requirements_of(wire.match_expressions))


def selector_in(text: str) -> Selector:
    """From `key=value,other!=value,key,!key,key in (a,b),key notin (a)`, as kubectl has it. Raises ValueError for text
    that is none.
    """
    return Selector(tuple(_requirement(each.strip(), text) for each in _parts(text)))


def _parts(text: str) -> Iterator[str]:
    """What is between the commas that are between no parentheses."""
    begun, within = 0, False
    for at, character in enumerate(text):
        if character in "()":
            within = character == "("
        elif character == "," and not within:
            yield text[begun:at]
            begun = at + 1
    yield text[begun:]


def _requirement(term: str, text: str) -> Requirement:
    if match := _EXISTS.fullmatch(term):
        return Requirement(match[2], "DoesNotExist" if match[1] else "Exists")
    if match := _EQUALS.fullmatch(term):
        return Requirement(match[1], "NotIn" if match[2] == "!=" else "In", (match[3],))
    if match := _AMONG.fullmatch(term):
        values = tuple(each.strip() for each in match[3].split(","))
        return Requirement(match[1], "In" if match[2] == "in" else "NotIn", values)
    raise ValueError(f"{text!r} is not a selector. Write it as zone=a,!gpu or as tier in (web,db)")
