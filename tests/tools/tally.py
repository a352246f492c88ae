"""A plugin of pytest that adds its counts to the file that `STEWARD_TALLY` names.

It is loaded by `PYTEST_ADDOPTS="-p tests.tools.tally"`, since nothing else reaches all that `make` runs. A target may
run pytest several times, and each run adds a line of JSON. A test counts once, by the worst of its phases. A pytest
that a test starts isn't counted: both variables are removed from the environment here.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

__all__ = ["COUNTED", "VARIABLE", "Tally", "add", "pytest_configure", "total"]

VARIABLE = "STEWARD_TALLY"
COUNTED = ("passed", "caught", "failed", "survived", "skipped")
"""What is counted, in the order in which it is said; of `make mutants` the mutants that were caught or survived."""
_WORSE = ("passed", "skipped", "failed")


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # of pytest-xdist, whose controller gets every report
        return
    os.environ.pop("PYTEST_ADDOPTS", None)
    if file := os.environ.pop(VARIABLE, None):
        config.pluginmanager.register(Tally(Path(file)), "tally-of-tests")


class Tally:
    """Counts the tests of one run of pytest."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._outcomes: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" or not report.passed:
            self._note(report.nodeid, report.outcome)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if not report.passed:  # a module with an error, or one that is skipped as a whole
            self._note(report.nodeid, report.outcome)

    def pytest_sessionfinish(self) -> None:
        add(self._file, Counter(self._outcomes.values()))

    def _note(self, test: str, outcome: str) -> None:
        self._outcomes[test] = max(self._outcomes.get(test, outcome), outcome, key=_WORSE.index)


def add(file: Path, counts: Mapping[str, int]) -> None:
    with file.open("a", encoding="utf-8") as lines:
        print(json.dumps(counts), file=lines)


def total(file: Path) -> dict[str, int]:
    """The sum of what was added to a file, which needn't exist."""
    found: Counter[str] = Counter()
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        found.update(json.loads(line))
    return {word: found[word] for word in COUNTED if found[word]}
