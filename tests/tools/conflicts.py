"""Names every line of a tracked file that a merge left behind; `make lint` runs it. Exit code 1 where there is one."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from .table import HERE

__all__ = ["conflicts", "main"]

# A line of seven `=` is one too: no title of ours is underlined by it.
_LEFT_BEHIND = re.compile(rb"(?:<{7}|>{7}|\|{7})(?: .*)?|={7}")


def conflicts(top: Path) -> Iterator[str]:
    """`file:line: text` of each, of the files that git tracks in a checkout. Raises CalledProcessError without git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=top, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        file = top / name
        if not file.is_file():  # deleted and not committed yet, or a submodule
            continue
        for number, line in enumerate(file.read_bytes().splitlines(), 1):
            if _LEFT_BEHIND.fullmatch(line):
                yield f"{name}:{number}: {line.decode(errors='replace')}"


def main(top: Path) -> int:
    found = list(conflicts(top))
    for each in found:
        print(each, file=sys.stderr)
    if found:
        print("these lines are a merge's: decide what stays, and take them out", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(HERE.parents[1]))
