"""The dumps that a command is given, and what their clusters are called."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from ..output.text.terminal import one_line
from .filters import UsageError

_SUFFIXES = (".yaml", ".yml", ".json", ".tar", ".tgz", ".txz", ".zip", ".gz", ".xz")
_STDIN = "-"


class Dump(NamedTuple):
    """`name` is what its cluster is called; empty for one that stands alone and was given none."""

    name: str
    path: str


def dumps_of(given: Sequence[str]) -> tuple[Dump, ...]:
    """Raises UsageError for one without a name before its `=`, and for two of one name."""
    if len(given) == 1:
        return (_dump(given[0]),)
    dumps: dict[str, Dump] = {}
    for dump in map(_dump, given):
        name = dump.name or _called(dump.path)
        if name in dumps:
            raise UsageError(
                f"two dumps are called {name!r}, {dumps[name].path} and {dump.path}; "
                f"give each its cluster's name: --from NAME={dump.path}"
            )
        dumps[name] = Dump(name, dump.path)
    if [dump.path for dump in dumps.values()].count(_STDIN) > 1:
        raise UsageError("standard input can be read once; give all but one --from a file")
    return tuple(dumps.values())


def _dump(text: str) -> Dump:
    """A path that is there is just a path, whatever its name holds."""
    name, equals, path = text.partition("=")
    if not equals or "/" in name or os.path.exists(text):
        return Dump("", text)
    if not name or not path or not name.isprintable():
        raise UsageError(f"--from {text!r} names no cluster and dump; write it as --from NAME=PATH")
    return Dump(name, path)


def _called(path: str) -> str:
    """After the file or directory, without what says how it is packed."""
    if path == _STDIN:
        return "stdin"
    base = one_line(os.path.basename(os.path.abspath(path)))
    stem, suffix = os.path.splitext(base)
    while stem and suffix.lower() in _SUFFIXES and not os.path.isdir(path):
        base = stem
        stem, suffix = os.path.splitext(base)
    return base
