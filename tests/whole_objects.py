"""Objects in which every field is given that is read of their kind."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from msgspec import inspect

from exporter.store.kind import ApiKind

__all__ = ["Object", "fields", "filled"]

Object = dict[str, Any]
Path = tuple[str, ...]

_BY_NAME = {
    "operator": "In",
    "effect": "NoSchedule",
    "status": "True",
    "requests": "7",
    "overhead": "7",
    "allocatable": "7",
    "restartPolicy": "Always",
    "resourceVersion": "7",
}


def fields(kind: ApiKind[Any]) -> Iterator[Path]:
    """Every field of a kind's wire struct; `*` stands for an element of a list, or a key of a map."""
    return (path for path, _ in _fields(inspect.type_info(kind.wire), ()))


def filled(kind: ApiKind[Any], thing: Object) -> Object:
    """The object with a value for each field that it lacks."""
    whole: Object = _filled(inspect.type_info(kind.wire), copy.deepcopy(thing), "")
    if "namespace" not in thing["metadata"]:
        whole["metadata"].pop("namespace", None)  # with it, it would be another object
    return whole


def _fields(of: inspect.Type, above: Path) -> Iterator[tuple[Path, inspect.Type]]:
    inner = _only(of)
    if isinstance(inner, inspect.StructType):
        for field in inner.fields:
            path = (*above, field.encode_name)
            yield path, field.type
            yield from _fields(field.type, path)
    elif isinstance(inner, inspect.ListType):
        yield from _fields(inner.item_type, (*above, "*"))
    elif isinstance(inner, inspect.DictType):
        yield from _fields(inner.value_type, (*above, "*"))


def _only(of: inspect.Type) -> inspect.Type:
    """Of several types that a field may have the first, null aside."""
    if not isinstance(of, inspect.UnionType):
        return of
    return next(each for each in of.types if not isinstance(each, inspect.NoneType))


def _filled(of: inspect.Type, value: Any, name: str) -> Any:
    inner = _only(of)
    if isinstance(inner, inspect.RawType) and name == "annotations":  # read only where they are needed
        return value if value is not None else {"any": "any text"}
    if isinstance(inner, inspect.StructType):
        found = value if isinstance(value, dict) else {}
        given = {
            each.encode_name: _filled(each.type, found.get(each.encode_name), each.encode_name) for each in inner.fields
        }
        return found | {key: each for key, each in given.items() if each is not None}
    if isinstance(inner, inspect.ListType):
        return [_filled(inner.item_type, each, name) for each in value or (None,)]
    if isinstance(inner, inspect.DictType):
        return value or {"any": _filled(inner.value_type, None, name)}
    return value if value is not None else _made(inner, name)


def _made(of: inspect.Type, name: str) -> Any:
    if isinstance(of, inspect.BoolType):
        return True
    if isinstance(of, inspect.IntType | inspect.FloatType):
        return 1
    if not isinstance(of, inspect.StrType):
        return {} if name.startswith("f:") else "any text"
    if "time" in name.lower():
        return "2026-05-04T08:12:31Z"
    return _BY_NAME.get(name, "any")
