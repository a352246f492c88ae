"""What a run of the tests costs, as CPU-seconds by file: `pytest -p tests.tools.costs --costs build/costs.jsonl …`.

Each item adds a line with its seconds, its own CPU-seconds, and those of the processes that it started and that ended
within it. A server that serves the whole session counts for its session, in the line of the worker. Then
`python -m tests.tools.costs build/costs.jsonl` prints the table, the most expensive file first.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any

import pytest

__all__ = ["Costs", "main", "pytest_addoption", "pytest_configure"]

_COLUMNS = ("seconds", "own", "children")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", default=None, metavar="FILE", help="a line of JSON for what each item costs")


def pytest_configure(config: pytest.Config) -> None:
    if file := config.getoption("--costs"):
        config.pluginmanager.register(Costs(Path(file)), "costs-of-items")


class Costs:
    """Writes the lines of one process of pytest."""

    def __init__(self, file: Path) -> None:
        self._file = file.absolute()
        self._began = time.monotonic(), 0.0, 0.0

    def _add(self, item: str, began: tuple[float, float, float]) -> None:
        spent = dict(zip(_COLUMNS, (now - then for now, then in zip(_spent(), began, strict=True)), strict=True))
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as out:  # one write of a line is whole, whoever else appends
            out.write(json.dumps({"item": item, "worker": os.environ.get("PYTEST_XDIST_WORKER", "")} | spent) + "\n")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        began = _spent()
        try:
            return (yield)
        finally:
            self._add(item.nodeid, began)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, Any, Any]:
        began = _spent()
        try:
            return (yield)
        finally:
            self._add("(collection)", began)

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        self._add("(the whole process)", self._began)


def _spent() -> tuple[float, float, float]:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic(), time.process_time(), children.ru_utime + children.ru_stime


def main(words: Sequence[str]) -> int:
    """Prints the table of the files of lines that are named."""
    rows = [json.loads(line) for word in words for line in Path(word).read_text(encoding="utf-8").splitlines()]
    files: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0, 0.0])
    for row in rows:
        total = files[row["item"].partition("::")[0]]
        for at, column in enumerate(_COLUMNS):
            total[at] += row[column]
        total[3] += 1
    print(f"{'seconds':>9} {'own CPU':>9} {'children':>9} {'items':>6}  file")
    for name, (seconds, own, children, items) in sorted(files.items(), key=lambda row: -(row[1][1] + row[1][2])):
        print(f"{seconds:9.1f} {own:9.1f} {children:9.1f} {items:6.0f}  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
