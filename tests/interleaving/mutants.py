"""Whether the interleavings notice that the product lacks one of its safeguards.

`python -m tests.interleaving.mutants --most 3000 --seed 1 [part of a name]` prints a table. A mutant that is not found
alone is tried together with what covers it (`covering.COVERED`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from .covering import COVERED
from .invariants import Violation
from .races import RACES, raced
from .running import interleave
from .weakening import Mutant, applied, mutants, together

__all__ = ["Found", "sought"]


@dataclass(frozen=True)
class Found:
    """After how many interleavings a mutant was found, 0 where it was not; by which invariants in that one.

    `writes` is how many it made until then.
    """

    mutant: str
    after: int
    invariants: tuple[str, ...] = ()
    what: str = ""
    writes: int = 0


def sought(mutant: Mutant, most: int, seed: int = 1, invariant: str = "") -> Found:
    """By any invariant, or by a certain one: in all interleavings of its race first, then in drawn ones."""
    count = writes = 0
    with applied(mutant):
        for name, violations in _of_its_race(mutant):
            count += 1
            names = tuple(dict.fromkeys(each.invariant for each in violations))
            if names and (not invariant or invariant in names):
                return Found(mutant.name, count, names, f"{name}: {violations[0].what}", writes)
        for number in range(most):
            ran = interleave(f"{seed}/{number}", mutant.weakened, area=mutant.area)
            count, writes = count + 1, writes + ran.writes
            names = tuple(dict.fromkeys(each.invariant for each in ran.violations))
            if names and (not invariant or invariant in names):
                return Found(mutant.name, count, names, ran.violations[0].what, writes)
    return Found(mutant.name, 0, writes=writes)


def _of_its_race(mutant: Mutant) -> Iterator[tuple[str, tuple[Violation, ...]]]:
    for race in RACES:
        if race.name == mutant.race:
            yield from raced(race, mutant.weakened)


def _row(most: int, seed: int, number: int) -> tuple[str, bool]:
    """The row of a mutant, and whether it is neither found nor explained."""
    known = mutants()
    mutant = known[number]
    found = sought(mutant, most, seed)
    if found.after:
        return f"| {mutant.name} | {found.after} | {', '.join(found.invariants)} |", False
    covered = next((each for each in COVERED if mutant.name.startswith(each.of)), None)
    if covered is None:
        wrote = "" if found.writes else " (it writes nothing)"
        return f"| {mutant.name} | - | **nothing**{wrote} |", True
    if not covered.by:
        return f"| {mutant.name} | - | {covered.why} |", False
    both = together(mutant, *(each for each in known if each.name in covered.by))
    pair = sought(both, most, seed, covered.invariant)
    how = f"{covered.why}; without both after {pair.after or '-'} by {', '.join(pair.invariants)}"
    return f"| {mutant.name} | - | {how} |", not pair.after


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.interleaving.mutants", description=__doc__)
    parser.add_argument("--most", type=int, default=3000, help="drawn interleavings for each mutant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("part", nargs="?", default="", help="only mutants with this in their name")
    given = parser.parse_args()
    wanted = [number for number, mutant in enumerate(mutants()) if given.part in mutant.name]
    left = 0
    print("| without | found after | by |\n|---|---|---|")
    with get_context("fork").Pool(given.processes) as pool:
        for row, unexplained in pool.imap(partial(_row, given.most, given.seed), wanted):
            left += unexplained
            print(row, flush=True)
    print(f"{left} of {len(wanted)} mutants are neither found nor explained", file=sys.stderr)
    sys.exit(bool(left))


if __name__ == "__main__":
    main()
