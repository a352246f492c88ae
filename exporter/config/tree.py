"""Between the file's tree and the flat list of keys: which key a value belongs to, and what stands in a wrong place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .keys import Key
from .mistakes import nearest, quoted

__all__ = ["Leaf", "Stray", "flat", "names_below"]


@dataclass(frozen=True)
class Leaf:
    """A value where one may stand."""

    key: Key
    value: Any


@dataclass(frozen=True)
class Stray:
    """Something that can't stand where it does, and why."""

    path: str
    why: str


def flat(data: Any, keys: Iterable[Key]) -> Iterator[Leaf | Stray]:
    """All of a file, in its order."""
    if data is not None:
        yield from _walk(data, (), tuple(keys))


def names_below(path: tuple[str, ...], keys: Iterable[Key]) -> list[str]:
    """The names that may stand in a section, in their order."""
    depth = len(path)
    return list(dict.fromkeys(key.path[depth] for key in keys if key.path[:depth] == path and len(key.path) > depth))


def _walk(data: Any, path: tuple[str, ...], keys: tuple[Key, ...]) -> Iterator[Leaf | Stray]:
    names = names_below(path, keys)
    if not isinstance(data, dict):
        yield Stray(_shown(path), f"{quoted(data)} can't stand here; write a mapping with {_listed(names)}")
        return
    for name, value in data.items():
        here = (*path, name)
        key = next((key for key in keys if key.path == here), None)
        if name not in names:
            yield Stray(_shown(here), _unknown(name, path, keys))
        elif key is not None:
            yield Leaf(key, value)
        elif value is not None:  # a section may be empty: all of it may be comments
            yield from _walk(value, here, keys)


def _unknown(name: str, path: tuple[str, ...], keys: tuple[Key, ...]) -> str:
    what, names = "no such check" if path == ("checks",) else "no such key", names_below(path, keys)
    if near := nearest(name, names):
        return f'{what}; did you mean "{near}"?'
    elsewhere = {key.path[-1]: key.name for key in reversed(keys) if key.path[-1] != "enabled"}
    if right := elsewhere.get(nearest(name, elsewhere) or ""):
        return f'{what}; did you mean "{right}"{"" if "." in right else " at the top"}?'
    return f"{what}; there may be {_listed(names)}"


def _listed(names: list[str]) -> str:
    return ", ".join(names)


def _shown(path: tuple[str, ...]) -> str:
    return ".".join(part if part.isprintable() and 0 < len(part) < 80 else quoted(part) for part in path)
