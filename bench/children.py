"""What a process that is measured starts with: its sources are compiled, as for everybody who has installed them."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

__all__ = ["REPOSITORY", "environment", "warmed"]

REPOSITORY = Path(__file__).resolve().parents[1]


def environment(**more: str) -> dict[str, str]:
    """That of this process, and `more`; a child keeps what it compiles, whatever this process was asked to do."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | more


@cache
def warmed(python: str, module: str) -> None:
    """Imports a module of the benchmarks in a child, and compiles all of the product: what is imported late, too.

    Without it "until ready" counts a compiler. Raises CalledProcessError, with the error on stderr, where the Python
    lacks a library.
    """
    env = environment(PYTHONPATH=str(REPOSITORY))
    for words in (["-m", "compileall", "-q", "exporter", "reconcile"], ["-c", f"import {module}"]):
        subprocess.run([python, *words], cwd=REPOSITORY, env=env, check=True)
