"""An object as a write would leave it, as far as the write says: admission and controllers may add to that. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from .plan import Add, Call, Create, Delete, Remove, Replace, Step, Test

__all__ = ["applied"]


def applied(step: Step, before: Mapping[str, Any]) -> dict[str, Any] | None:
    """The object that a step writes, after it; `before` is the one that it is bound to.

    None where there is none any more, and of a call, whose effect is KubeVirt's. Raises ValueError for a patch that the
    object does not take.
    """
    if isinstance(step, Delete | Call):
        return None
    if isinstance(step, Create):
        return dict(step.manifest)
    after = deepcopy(dict(before))
    for op in step.ops:
        if not isinstance(op, Test):
            _apply(op, after)
    return after


def _apply(op: Add | Replace | Remove, whole: dict[str, Any]) -> None:
    *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in op.path.split("/")[1:])
    place: Any = whole
    try:
        for part in parents:
            place = place[int(part)] if isinstance(place, list) else place[part]
        key = _key(place, last)
        if isinstance(op, Remove):
            del place[key]
        elif isinstance(place, list) and isinstance(op, Add):
            place.insert(key, deepcopy(op.value))
        else:
            place[key] = deepcopy(op.value)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise ValueError(f"{op.path} is not there") from error


def _key(place: Any, last: str) -> Any:
    if not isinstance(place, list):
        return last
    return len(place) if last == "-" else int(last)
