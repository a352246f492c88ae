"""Writes the boards of a site whose label that tells clusters apart has another name.

`python -m docs.generator.site_boards --set cluster=k8s_cluster --output DIRECTORY` writes what `dashboards/` has, with
that.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from dashboards.generator import generated
from exporter.rules import Values


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m docs.generator.site_boards", description=__doc__)
    parser.add_argument("--set", action="append", default=[], metavar="cluster=NAME", help="the label's name")
    parser.add_argument("--output", type=Path, required=True, metavar="DIRECTORY", help="write the files there")
    arguments = parser.parse_args(words)
    try:
        values = Values().with_set(arguments.set, ())
    except ValueError as error:
        parser.error(f"{error}")
    for path, text in generated(values.cluster).items():
        target = arguments.output / path.removeprefix("dashboards/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
