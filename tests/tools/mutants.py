"""Whether the tests hold: runs them against mutants of the core, and says which ones they let live.

mutmut leaves every decorated function alone (a third of the engine's answers are properties), and gives up where one
of its instrumented tests misses a deadline; cosmic-ray runs all tests in a new process for each mutant, which takes a
minute and a half here. So this runs pytest once, notes which functions each test enters, and then forks for each
mutant: the child gives one function the changed code, and runs the tests that enter it, the quickest first.

`python -m tests.tools.mutants --sample 120 --seed 1 [paths]`; `make mutants` does so.
"""

from __future__ import annotations

import argparse
import gc
import os
import random
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import pytest

from . import tally
from .mutating import Mutant, code_of, mutants_of

ROOT = Path(__file__).parents[2]
PATHS = (
    *("exporter/engine", "exporter/store/cluster.py", "exporter/store/index.py"),
    *("exporter/domain/drains/departure", "exporter/kube"),
)
SOCKETS = ("exporter/kube/transport.py", "exporter/kube/credentials.py")  # tests of them need a server of their own
TESTS = {  # the tests that a mutant has to get past, by where it is
    "exporter/domain/drains/departure": (
        "checks",
        "evictions",
        "drain",
        "drain_agrees",
        "drain_probe",
        "eviction_states",
    ),
    "exporter/kube": ("following", "client", "decode", "drain_probe", "reflector", "faults"),
    "exporter": (
        *("store", "blindness", "intake", "engine_turns", "grace", "evaluate", "checks", "engine_scenes"),
        *("networks", "following"),
    ),
}
CASES = 60
OUT = os.fdopen(os.dup(1), "w")
_SURVIVED, _KILLED, _REFUSED = 0, 1, 2
_RESULTS = ("killed", "survived", "timeout")


class Runner:
    """A pytest plugin: in place of one run of the tests it makes many."""

    def __init__(self, mutants: list[Mutant], jobs: int, budget: float) -> None:
        self.mutants, self.jobs, self.budget = mutants, jobs, budget
        self.results: dict[str, list[Mutant]] = defaultdict(list)
        self._entered: dict[tuple[str, str], set[Any]] = defaultdict(set)
        self._seconds: dict[Any, float] = {}
        self._failed = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed = self._failed or report.failed

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            print(report.longrepr, file=OUT, flush=True)

    def pytest_internalerror(self, excrepr: object) -> None:
        print(excrepr, file=OUT, flush=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            return True  # something could not be collected
        self._prepare(_spread(session.items))
        functions = _functions()
        waiting, running = list(reversed(self.mutants)), dict[int, Mutant]()
        while waiting or running:
            while waiting and len(running) < self.jobs:
                mutant = waiting.pop()
                tests = self._tests(mutant)
                patience = 20 + int(6 * sum(self._seconds[test] for test in tests))
                child = os.fork()
                if not child:
                    signal.alarm(patience)  # which ends it, whatever it hangs in
                    os._exit(self._child(mutant, tests, functions))
                running[child] = mutant
            self._collect(running)
        return True

    def _prepare(self, items: list[pytest.Item]) -> None:
        """Which functions each test enters, then how long it takes; without those that fail unchanged."""
        root, began = f"{ROOT}/exporter/", time.monotonic()
        for item in items:
            codes: set[CodeType] = set()

            def note(frame: FrameType, _event: str, _: Any, codes: set[CodeType] = codes) -> None:
                codes.add(frame.f_code)  # and nothing of its lines, which would cost more than the tests

            sys.settrace(note)
            passed = self._passes(item, None)
            sys.settrace(None)
            started = time.monotonic()
            if not (passed and self._passes(item, None)):
                print(f"left out, it fails without a mutant: {item.nodeid}", file=OUT, flush=True)
                continue
            self._seconds[item] = time.monotonic() - started
            for code in codes:
                if code.co_filename.startswith(root):
                    self._entered[code.co_filename, code.co_qualname.split(".<locals>")[0]].add(item)
        print(f"{len(self._seconds)} tests in {time.monotonic() - began:.0f} s", file=OUT, flush=True)

    def _passes(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        self._failed = False
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return not self._failed

    def _tests(self, mutant: Mutant) -> list[Any]:
        """The quickest of those that enter the function, as many as there is time for."""
        chosen, left = [], self.budget
        for test in sorted(self._entered[str(ROOT / mutant.path), mutant.function], key=self._seconds.__getitem__):
            left -= self._seconds[test]
            if left < 0:
                break
            chosen.append(test)
        return chosen

    def _child(self, mutant: Mutant, tests: list[Any], functions: dict[tuple[str, str], list[FunctionType]]) -> int:
        try:
            filename = str(ROOT / mutant.path)
            code = code_of(mutant, filename)
            if code is None:
                return _REFUSED
            for function in functions[filename, mutant.function]:
                function.__code__ = code
            for test, following in zip(tests, (*tests[1:], None), strict=True):
                if not self._passes(test, following):
                    return _KILLED
            return _SURVIVED
        except BaseException:  # noqa: BLE001 # a child ends here, whatever the mutant does to pytest
            return _KILLED

    def _collect(self, running: dict[int, Mutant]) -> None:
        """Takes in the next child that ends."""
        child, status = os.wait()
        mutant, code = running.pop(child), os.waitstatus_to_exitcode(status)
        if code == _REFUSED:
            return
        result = "timeout" if code == -signal.SIGALRM else "survived" if code == _SURVIVED else "killed"
        self.results[result].append(mutant)
        if result == "survived":
            print(f"survived {mutant}", file=OUT, flush=True)


def _spread(items: list[pytest.Item]) -> list[pytest.Item]:
    """At most so many cases of each test and check, evenly over all of them: hundreds enter the same functions."""
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("-")[0]].append(item)  # the id of a case begins with that of its check
    return [item for cases in tests.values() for item in cases[:: -(-len(cases) // CASES)]]


def _functions() -> dict[tuple[str, str], list[FunctionType]]:
    """All functions of the product by file and name, those under decorators among them."""
    found: dict[tuple[str, str], list[FunctionType]] = defaultdict(list)
    for each in gc.get_objects():
        if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(str(ROOT)):
            found[each.__code__.co_filename, each.__code__.co_qualname].append(each)
    return found


def modules(paths: Iterable[str]) -> list[Path]:
    found = [
        module for path in paths for module in ([ROOT / path] if path.endswith(".py") else (ROOT / path).rglob("*.py"))
    ]
    there = dict.fromkeys(module.relative_to(ROOT) for module in found if module.exists())
    return [module for module in there if str(module) not in SOCKETS]


def report(results: dict[str, list[Mutant]]) -> str:
    counts = {result: Counter(str(mutant.path) for mutant in results[result]) for result in _RESULTS}
    lines = [f"{'module':36} {'killed':>8} {'survived':>8} {'timeout':>8}"]
    lines += (
        f"{module:36} " + " ".join(f"{counts[result][module]:8}" for result in _RESULTS)
        for module in sorted(set().union(*counts.values()))
    )
    sums = {result: counts[result].total() for result in _RESULTS}
    caught = sums["killed"] + sums["timeout"]
    lines.append(f"{'all':36} " + " ".join(f"{each:8}" for each in sums.values()))
    return "\n".join([*lines, f"{caught} of {sum(sums.values())} mutants caught"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", default=PATHS, help="modules or folders, from the root of the checkout")
    parser.add_argument("--sample", type=int, help="so many of them, drawn by the seed; all without it")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--budget", type=float, default=15.0, help="seconds of tests for one mutant, at most")
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ.pop("PYTEST_ADDOPTS", None)  # its options are for a run of pytest that runs each test once
    mutants = [mutant for module in modules(options.paths) for mutant in mutants_of(module)]
    print(f"{len(mutants)} mutants", file=OUT, flush=True)
    if options.sample and options.sample < len(mutants):
        mutants = random.Random(options.seed).sample(mutants, options.sample)
    runner = Runner(mutants, options.jobs, options.budget)
    groups = {next(each for each in TESTS if str(mutant.path).startswith(each)) for mutant in mutants}
    tests = dict.fromkeys(
        str(next(Path("tests/unit").rglob(f"test_{name}.py"))) for group in groups for name in TESTS[group]
    )
    without = [option for name in ("cacheprovider", "xdist", "terminal") for option in ("-p", f"no:{name}")]
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)  # what the tests print and log is of no use here
    pytest.main(["-s", "-o", "addopts=", *without, *tests], plugins=[runner])
    print(report(runner.results), file=OUT, flush=True)
    if file := os.environ.get(tally.VARIABLE):
        survived = len(runner.results["survived"])
        tally.add(Path(file), {"caught": sum(map(len, runner.results.values())) - survived, "survived": survived})
    return 0 if runner.results else 1


if __name__ == "__main__":
    sys.exit(main())
