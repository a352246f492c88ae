"""`steward config`: whether a configuration is right, and what is in effect."""

from __future__ import annotations

import argparse

from ...checks import all_checks
from ...config.documents import as_rows, as_yaml
from ...config.loading import Sources, load
from ...config.mistakes import Mistakes
from ...config.names import CONFIG_VARIABLE
from ..input.config import configured, sources_of
from ..output.text.layout import table
from ..output.text.terminal import complain, say


def run_check(arguments: argparse.Namespace) -> int:
    file = arguments.file or sources_of(arguments).file
    if file is None:
        complain(f"which file? Name it, or set ${CONFIG_VARIABLE}")
        return 2
    loaded = load(all_checks(), Sources(file, {}, {}))
    say(f"{loaded}\n" if isinstance(loaded, Mistakes) else f"{file} is fine\n")
    return 2 if isinstance(loaded, Mistakes) else 0


def run_show(arguments: argparse.Namespace) -> int:
    loaded = configured(arguments)
    if arguments.output == "yaml":
        say(as_yaml(loaded), "yaml")
    else:
        say(table(("KEY", "VALUE", "FROM"), as_rows(loaded)))
    return 0
