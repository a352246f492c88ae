"""The options that name a dump."""

from __future__ import annotations

import argparse
from typing import Any

_HELP = (
    "a directory, tar or zip archive, or file of YAML or JSON, as kubectl get, must-gather and oc adm inspect write "
    "them; - for standard input"
)


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
