"""Which fields of an object a manager owns, by `metadata.managedFields`, and whether a change touches them.

Sets of fields as sigs.k8s.io/structured-merge-diff/fieldpath/serialize-pe.go writes them: `f:name` is a field,
`k:{…}` a list element by its keys, `v:…` an element of a set, `i:n` one by its place, and `.` the thing itself. What
has nothing below it is owned as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

import msgspec

from exporter.facts.record import epoch

from .plan import Add, Op, Remove, Test

_GONE = object()


class FieldWriter(NamedTuple):
    """Whom managedFields name for a field. `time` is when it last changed any of its fields, in seconds since 1970 by
    the API server's clock, None where that can't be read. The name is what the client said of itself, and proves
    nothing: whoever writes chooses it (`fieldManager`).
    """

    manager: str
    time: float | None


def entries(whole: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The object's managedFields, without what is none."""
    meta = whole.get("metadata")
    listed = meta.get("managedFields") if isinstance(meta, dict) else None
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def writers(whole: Mapping[str, Any], path: str, subresource: str = "") -> list[FieldWriter]:
    """Who wrote what is at a path, a JSON pointer, or above it as a whole; nobody where managedFields do not say.

    Of several each has written or applied the value that is there. Writes of a subresource change nothing else.
    """
    try:
        without = applied(whole, (Remove(path),))
    except ValueError:
        return []
    owning = (each for each in entries(whole) if (each.get("subresource") or "") == subresource)
    return [
        FieldWriter(str(each.get("manager") or "somebody"), _moment(each.get("time")))
        for each in owning
        if touches(each.get("fieldsV1"), whole, without)
    ]


def _moment(time: Any) -> float | None:
    try:
        return epoch(time) if isinstance(time, str) else None
    except ValueError:
        return None


def applied(whole: Mapping[str, Any], ops: Iterable[Op]) -> Mapping[str, Any]:
    """The object after a JSON patch, whose tests are not looked at. Raises ValueError where a path leads nowhere."""
    made = {"": deepcopy(dict(whole))}
    for op in ops:
        if isinstance(op, Test):
            continue
        *path, last = (token.replace("~1", "/").replace("~0", "~") for token in op.path.split("/"))
        holder: Any = made
        for token in path:
            holder = holder[_place(holder, token, op)]
        if isinstance(op, Add) and isinstance(holder, list):
            holder.insert(len(holder) if last == "-" else _place([*holder, None], last, op), op.value)
        elif isinstance(op, Add) and isinstance(holder, dict):
            holder[last] = op.value
        elif isinstance(op, Remove):
            del holder[_place(holder, last, op)]
        else:
            holder[_place(holder, last, op)] = op.value
    return made[""]


def _place(holder: Any, token: str, op: Op) -> Any:
    if isinstance(holder, dict) and token in holder:
        return token
    if isinstance(holder, list) and token.isdecimal() and int(token) < len(holder):
        return int(token)
    raise ValueError(f"the object has no {op.path}")


def touches(fields: Any, before: Any, after: Any) -> bool:
    """Whether two states of an object differ in what a set of fields has."""
    return isinstance(fields, dict) and bool(fields) and _touched(fields, before, after)


def _touched(fields: Any, before: Any, after: Any) -> bool:
    if before == after:
        return False
    if not isinstance(fields, dict) or not fields:
        return True
    return any(_below(key, child, before, after) for key, child in fields.items())


def _below(key: str, child: Any, before: Any, after: Any) -> bool:
    if key == ".":
        return before is _GONE or after is _GONE
    sort, _, text = key.partition(":")
    if sort == "f":
        return _touched(child, _field(before, text), _field(after, text))
    try:
        wanted = msgspec.json.decode(text)
    except msgspec.DecodeError:
        return True
    if sort == "v":
        return (wanted in _items(before)) is not (wanted in _items(after))
    if sort == "k" and isinstance(wanted, dict):
        return _touched(child, _keyed(before, wanted), _keyed(after, wanted))
    if sort == "i" and isinstance(wanted, int):
        return _touched(child, _numbered(before, wanted), _numbered(after, wanted))
    return True


def _field(of: Any, name: str) -> Any:
    return of.get(name, _GONE) if isinstance(of, dict) else _GONE


def _items(of: Any) -> list[Any]:
    return of if isinstance(of, list) else []


def _keyed(of: Any, keys: Mapping[str, Any]) -> Any:
    named = (each for each in _items(of) if isinstance(each, dict) and keys.items() <= each.items())
    return next(named, _GONE)


def _numbered(of: Any, place: int) -> Any:
    items = _items(of)
    return items[place] if 0 <= place < len(items) else _GONE
