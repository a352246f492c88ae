"""Label and field selectors of lists and watches."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .errors import bad_request
from .resources import Obj, ServedResource

Predicate = Callable[[Obj], bool]

_SET = re.compile(r"^(\S+)\s+(in|notin)\s*\(([^)]*)\)$")
_EQUAL = re.compile(r"^([^\s=!]+)\s*(==|=|!=)\s*([^\s=!]*)$")
_EXISTS = re.compile(r"^(!?)\s*([^\s=!(),]+)$")


@dataclass(frozen=True, slots=True)
class Selection:
    """All predicates must hold; none at all selects everything."""

    predicates: tuple[Predicate, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.predicates)

    def matches(self, obj: Obj) -> bool:
        return all(holds(obj) for holds in self.predicates)


def selection(resource: ServedResource, query: Mapping[str, str]) -> Selection:
    """What `labelSelector` and `fieldSelector` of a request ask for."""
    labels = [_label(text) for text in _split(query.get("labelSelector", ""))]
    fields = [_field(resource, text) for text in _split(query.get("fieldSelector", ""))]
    return Selection((*labels, *fields))


def _split(selector: str) -> list[str]:
    """Parts between commas, except commas within parentheses."""
    parts: list[list[str]] = []
    within = False
    for piece in selector.split(","):
        if within:
            parts[-1].append(piece)
        else:
            parts.append([piece])
        within = piece.rfind("(") > piece.rfind(")") or (within and ")" not in piece)
    return [part for each in parts if (part := ",".join(each).strip())]


def _label(text: str) -> Predicate:
    if found := _SET.match(text):
        key, operator, listed = found.groups()
        return _among(key, frozenset(v.strip() for v in listed.split(",")), wanted=operator == "in")
    if found := _EQUAL.match(text):
        key, operator, value = found.groups()
        return _among(key, frozenset({value}), wanted=operator != "!=")
    if found := _EXISTS.match(text):
        absent, key = found.groups()
        return lambda obj: (key in _labels(obj)) is not bool(absent)
    raise bad_request(f'unable to parse requirement: found "{text}"')


def _among(key: str, values: frozenset[str], *, wanted: bool) -> Predicate:
    """An absent label is in no set, hence not in this one."""
    return lambda obj: (_labels(obj).get(key) in values) is wanted


def _labels(obj: Obj) -> Mapping[str, str]:
    labels: Mapping[str, str] = obj["metadata"].get("labels") or {}
    return labels


def _field(resource: ServedResource, text: str) -> Predicate:
    found = _EQUAL.match(text)
    if not found:
        raise bad_request(f'invalid selector: "{text}"; can\'t understand "{text}"')
    path, operator, value = found.groups()
    if path not in ("metadata.name", "metadata.namespace", *resource.fields):
        raise bad_request(f"field label not supported: {path}")
    equal = operator != "!="
    steps = path.split(".")
    return lambda obj: (_at(obj, steps) == value) is equal


def _at(obj: Obj, steps: list[str]) -> str:
    value: object = obj
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)
