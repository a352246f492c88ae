"""`python -m tests.interleaving --count 1000000 --seed 1 --processes 2`: how many were run, and what is wrong.

`--seed 1 --only 1/4711` runs one of them again, and prints what happened in it; `--races` runs all interleavings of the
races in their place, and `--canary` those of the first repairs of a remediation.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from typing import Any

from .decoding import remember
from .races import RACES, raced
from .running import interleave
from .trials import tried

_AT_ONCE = 50


def _begin() -> None:
    """In each process: a third of the time goes into what was done before, and into looking for garbage."""
    remember()
    gc.freeze()
    gc.set_threshold(200_000, 50, 50)


def _first(given: tuple[int, int, int]) -> tuple[int, int, Counter[str], list[str]]:
    """The same of canaries."""
    seed, first, count = given
    ran = [tried(f"{seed}/{number}") for number in range(first, first + count)]
    wrong = [f"{each.seed}: {found.invariant}: {found.what}" for each in ran for found in each.violations]
    results = Counter(stayed=sum(each.stayed for each in ran), struck=sum(each.struck for each in ran))
    return count, sum(each.writes for each in ran), results, wrong


def _many(given: tuple[int, int, int]) -> tuple[int, int, Counter[str], list[str]]:
    """How many were run, the writes that they made, how attempts ended, and what is wrong."""
    seed, first, count = given
    writes, results, wrong = 0, Counter[str](), list[str]()
    for number in range(first, first + count):
        ran = interleave(f"{seed}/{number}")
        writes += ran.writes
        results.update(ran.results)
        wrong += [f"{ran.seed}: {each.invariant}: {each.what}" for each in ran.violations]
    return count, writes, results, wrong


def _portions(seed: int, count: int) -> Iterator[tuple[int, int, int]]:
    for first in range(0, count, _AT_ONCE):
        yield seed, first, min(_AT_ONCE, count - first)


def _all_races() -> int:
    failed = 0
    for race in RACES:
        began, count = time.monotonic(), 0
        for name, violations in raced(race):
            count += 1
            failed += bool(violations)
            for each in violations:
                print(f"{name}: {each.invariant}: {each.what}")
        print(f"{race.name} ({race.issue}): {count} interleavings, {time.monotonic() - began:.0f} s")
    return failed


def _again(seed: str) -> int:
    ran = interleave(seed, traced=True)
    print("\n".join((*ran.trace, *map(str, ran.results), *map(str, ran.violations))))
    return len(ran.violations)


def _run(
    count: int,
    seed: int,
    processes: int,
    interleaved: Callable[[tuple[int, int, int]], Any] = _many,
    *,
    seconds: float = float("inf"),
) -> int:
    began = time.monotonic()
    done, writes, results, wrong = 0, 0, Counter[str](), 0
    with get_context("fork").Pool(processes, _begin) as pool:
        for ran, made, ended, failed in pool.imap_unordered(interleaved, _portions(seed, count)):
            done, writes, wrong = done + ran, writes + made, wrong + len(failed)
            results.update(ended)
            for each in failed:
                print(each, flush=True)
            if sys.stderr.isatty():
                print(f"\r{done}", end="", file=sys.stderr)
            if time.monotonic() - began > seconds:
                break
    print(f"{done} interleavings, {writes} writes, {time.monotonic() - began:.0f} s, {wrong} violations")
    print(", ".join(f"{ended}: {times}" for ended, times in results.most_common()))
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.interleaving", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="after which no more are run")
    parser.add_argument("--only", default="", help="one of them, as a violation names it")
    parser.add_argument("--races", action="store_true")
    parser.add_argument("--canary", action="store_true")
    given = parser.parse_args()
    if given.only:
        return min(1, _again(given.only))
    if given.races:
        return min(1, _all_races())
    kind = _first if given.canary else _many
    return min(1, _run(given.count, given.seed, given.processes, kind, seconds=60 * given.minutes))


if __name__ == "__main__":
    sys.exit(main())
