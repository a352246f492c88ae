"""Between the file's tree and the flat list of keys: which key a value belongs to, and what stands in a wrong place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .keys import Key
from .mistakes import nearest, quoted

__all__ = ["flat", "names_below"]

Found = list[tuple[Key, Any]]
Wrong = list[tuple[str, str]]  # path, what is wrong there


def flat(data: Any, keys: Iterable[Key]) -> tuple[Found, Wrong]:
    """The values of a file by their key, and what belongs to none."""
    found: Found = []
    wrong: Wrong = []
    if data is not None:
        _walk(data, (), tuple(keys), (found, wrong))
    return found, wrong


def names_below(path: tuple[str, ...], keys: Iterable[Key]) -> list[str]:
    """The names that may stand in a section, in their order."""
    depth = len(path)
    return list(dict.fromkeys(key.path[depth] for key in keys if key.path[:depth] == path and len(key.path) > depth))


def _walk(data: Any, path: tuple[str, ...], keys: tuple[Key, ...], out: tuple[Found, Wrong]) -> None:
    found, wrong = out
    names = names_below(path, keys)
    if not isinstance(data, dict):
        wrong.append((_shown(path), f"{quoted(data)} can't stand here; write a mapping with {_listed(names)}"))
        return
    for name, value in data.items():
        here = (*path, name)
        if name not in names:
            wrong.append((_shown(here), _unknown(name, path, names, keys)))
            continue
        key = next((key for key in keys if key.path == here), None)
        if key is not None:
            found.append((key, value))
        elif value is not None:  # a section may be empty: all of it may be comments
            _walk(value, here, keys, out)


def _unknown(name: str, path: tuple[str, ...], names: list[str], keys: tuple[Key, ...]) -> str:
    what = "no such check" if path == ("checks",) else "no such key"
    near = nearest(name, names)
    if near is None:  # perhaps it is right elsewhere
        elsewhere = {key.path[-1]: key.name for key in keys if key.path[-1] != "enabled"}
        near = elsewhere.get(nearest(name, elsewhere) or "")
    return f'{what}; did you mean "{near}"?' if near else f"{what}; there may be {_listed(names)}"


def _listed(names: list[str]) -> str:
    return ", ".join(names)


def _shown(path: tuple[str, ...]) -> str:
    return ".".join(part if part.isprintable() and 0 < len(part) < 80 else quoted(part) for part in path)
