"""The dumps that a command is given, and what their clusters are called."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..output.terminal import one_line
from .filters import UsageError

__all__ = ["Dump", "add_dump_options", "dumps_of"]

_SUFFIXES = (".yaml", ".yml", ".json", ".tar", ".tgz", ".txz", ".zip", ".gz", ".xz")
_STDIN = "-"
_HELP = (
    "a directory, tar or zip archive, or file of YAML or JSON, as kubectl get, must-gather and oc adm inspect write "
    "them; - for standard input"
)


class Dump(NamedTuple):
    """`name` is what its cluster is called; empty for one that stands alone and was given none."""

    name: str
    path: str


class _Once(argparse.Action):
    """Refuses an option that is given again, where argparse would forget the first."""

    def __call__(
        self, _: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, __: str | None = None
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "is given twice, and this command looks at one dump")
        setattr(namespace, self.dest, values)


def add_dump_options(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """`several` is for a command that takes more than one: `dump` then is a list, for `dumps_of`."""
    group = parser.add_argument_group(f"{'dumps' if several else 'dump'}, instead of a cluster")
    if several:
        more = "; may be repeated, for several clusters, each called NAME or after its file"
        group.add_argument("--from", dest="dump", metavar="[NAME=]PATH", action="append", help=_HELP + more)
    else:
        group.add_argument("--from", dest="dump", metavar="PATH", action=_Once, help=_HELP)
    group.add_argument(
        "--complete",
        action="store_true",
        help="the dump holds the whole cluster: a kind that is not in it has no objects",
    )


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
