"""What is to be read of the API server for one answer, in as few requests as make sense, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from exporter.store.source import Undecodable

# Objects of one kind and namespace, and namespaces of one kind: more are read as a list. Each is for one round in which
# the kind is asked for, the last one for all later rounds.
_OBJECTS = (20, 5, 0)
_NAMESPACES = (20, 5, 1, 0)


class Need(NamedTuple):
    """What is to be read: an object by its name; else a list in a namespace, in all where it is None."""

    kind: str
    namespace: str | None
    name: str | None


def names(need: Need, record: Undecodable) -> bool:
    """Whether an object that can't be decoded is one of what a need is for."""
    # What an unreadable object is called may be unreadable too: then it may be any.
    return need.namespace in (None, record.namespace) and (
        not record.object_name or need.name in (None, record.object_name)
    )


def gathered(needs: Iterable[Need], rounds: Mapping[str, int]) -> list[Need]:
    """Fewer requests for the same: many objects of a namespace, or many namespaces, are read as one list.

    `rounds` is how often objects of a kind were read already. Whoever walks over many objects may end at the first one
    that was not read, so that each is asked for in a round of its own; the longer that goes on, the fewer are many.
    After four rounds all objects of the kind were read, however many there are.
    """
    kinds: dict[str, dict[str | None, list[Need]]] = {}
    for need in needs:
        kinds.setdefault(need.kind, {}).setdefault(need.namespace, []).append(need)
    found: list[Need] = []
    for kind, namespaces in kinds.items():
        before = rounds.get(kind, 0)
        if None in namespaces or len(namespaces) > _NAMESPACES[min(before, len(_NAMESPACES) - 1)]:
            found.append(Need(kind, None, None))
            namespaces = {}
        for namespace, each in namespaces.items():
            listed = Need(kind, namespace, None)
            many = listed in each or len(each) > _OBJECTS[min(before, len(_OBJECTS) - 1)]
            found += [listed] if many else each
    return found


def content(raw: bytes | msgspec.Raw) -> Mapping[str, Any] | str:
    """The object, or why it can't be had whole: what is cut off could not be kept, nor put back."""
    try:
        found: dict[str, Any] = msgspec.json.decode(raw, type=dict[str, Any])
    except RecursionError:
        return "it is nested too deep"
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return str(error)
    return found
