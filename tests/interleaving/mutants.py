"""Whether the interleavings notice that the product lacks one of its safeguards.

`python -m tests.interleaving.mutants --most 5000 --seed 1 [part of a name]` prints a table.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

from .running import interleave
from .weakening import Mutant, applied, mutants

__all__ = ["Found", "sought"]


@dataclass(frozen=True)
class Found:
    """After how many interleavings a mutant was found, 0 where it was not; by which invariants in that one."""

    mutant: str
    after: int
    invariants: tuple[str, ...] = ()
    what: str = ""


def sought(mutant: Mutant, most: int, seed: int = 1, invariant: str = "") -> Found:
    """By any invariant, or by a certain one."""
    with applied(mutant):
        for number in range(most):
            ran = interleave(f"{seed}/{number}", mutant.weakened)
            if ran.violations and (not invariant or any(each.invariant == invariant for each in ran.violations)):
                names = tuple(dict.fromkeys(each.invariant for each in ran.violations))
                return Found(mutant.name, number + 1, names, ran.violations[0].what)
    return Found(mutant.name, 0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.interleaving.mutants", description=__doc__)
    parser.add_argument("--most", type=int, default=5000, help="interleavings for each mutant")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("part", nargs="?", default="", help="only mutants with this in their name")
    given = parser.parse_args()
    survived = 0
    print("| without | found after | by |")
    print("|---|---|---|")
    for mutant in mutants():
        if given.part not in mutant.name:
            continue
        found = sought(mutant, given.most, given.seed)
        survived += not found.after
        print(f"| {found.mutant} | {found.after or '-'} | {', '.join(found.invariants)} |", flush=True)
        print(f"{found.mutant}: {found.what}", file=sys.stderr, flush=True)
    print(f"{survived} of the mutants survived", file=sys.stderr)


if __name__ == "__main__":
    main()
