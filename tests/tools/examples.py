"""Puts the examples of docs/ into a copy of the checkout, as a contributor would, and runs everything there.

`make test-examples` calls it. A check or a remediation is new files and no edited list: a test that fails here has a
list of its own of what there is. Copied are the files that git tracks or would track, as they are in the work tree; an
example may not bring one of them. Then the generated files are written, and nothing else is.

`python -m tests.tools.examples tests/unit/exporter/findings` runs these tests instead of all of tests/unit. Where
something fails, the copy stays and is named; `--keep` keeps it in any case.

Exit code 1 where something failed, 2 where an example does not fit.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["EXAMPLES", "MisfitError", "main", "placed", "tracked", "with_what_is_known"]

TOP = Path(__file__).resolve().parents[2]
EXAMPLES = ("example_check", "example_remediation")
"""The folders of docs/ in the order in which they are copied: the second answers a reason of the first."""


class MisfitError(Exception):
    """An example has a file that is in the checkout already; the message names it."""


def tracked(checkout: Path) -> Iterator[Path]:
    """The files that git tracks or would track, relative to the checkout. Raises CalledProcessError without git."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(words, cwd=checkout, capture_output=True, check=True)
    for name in sorted(set(filter(None, listed.stdout.decode().split("\0")))):
        if (checkout / name).is_file():  # else deleted and not committed yet
            yield Path(name)


def placed(checkout: Path, copy: Path, examples: Sequence[str] = EXAMPLES) -> dict[Path, str]:
    """Copies a checkout, and the examples over it; gives each file of these with the example that it is of.

    Raises MisfitError where one is in the checkout already, CalledProcessError without git.
    """
    given = list(tracked(checkout))
    for each in given:
        _copied(checkout / each, copy / each)
    found: dict[Path, str] = {}
    for example in examples:
        folder = Path("docs", example)
        for each in given:
            if not each.is_relative_to(folder):
                continue
            own = each.relative_to(folder)
            if (checkout / own).exists():
                raise MisfitError(f"{each} is no new file: the checkout has {own} already")
            _copied(checkout / each, copy / own)
            found[own] = example
    return found


def _copied(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)


def with_what_is_known(checkout: Path, copy: Path) -> None:
    """Gives the copy what mypy found in the checkout: it looks anew only at what the examples touch."""
    known = checkout / ".mypy_cache"
    if known.is_dir():
        shutil.copytree(known, copy / known.name)


def _under_git(copy: Path) -> None:
    """Some tests ask git which files there are."""
    for words in (("init", "--quiet"), ("add", "--all")):
        subprocess.run(["git", *words], cwd=copy, check=True)


def _steps(tests: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """What is run in the copy: in words, and as a command."""
    programs = Path(sys.executable).parent
    yield "generated files", [sys.executable, "-m", "docs.generator"]
    yield "ruff", [str(programs / "ruff"), "check", "."]
    yield "format", [str(programs / "ruff"), "format", "--check", "."]
    yield "import contracts", [str(programs / "lint-imports")]
    yield "mypy", [str(programs / "mypy")]
    yield "tests", [str(programs / "pytest"), "-n", "auto", *tests]


def _environment(copy: Path) -> dict[str, str]:
    """That of this process, in which the modules of the copy come before those of the checkout."""
    shared = os.environ.get("STEWARD_SHARED", str(TOP.parent / "shared"))
    return {**os.environ, "PYTHONPATH": str(copy), "STEWARD_SHARED": shared}


def _ran(copy: Path, tests: Sequence[str]) -> list[str]:
    """Runs each step; gives those that failed. Without the generated files nothing else is tried."""
    failed = []
    for what, command in _steps(tests):
        print(
            f"== {what}: {' '.join(Path(word).name if word.startswith('/') else word for word in command)}", flush=True
        )
        began = time.monotonic()
        code = subprocess.run(command, cwd=copy, env=_environment(copy), check=False).returncode
        print(f"== {what}: {'passed' if code == 0 else f'failed with exit code {code}'}", end="")
        print(f", {time.monotonic() - began:.0f} s", flush=True)
        if code != 0:
            failed.append(what)
            if what == "generated files":
                break
    return failed


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.tools.examples", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("tests", nargs="*", default=["tests/unit"], help="what pytest runs there; all of tests/unit")
    parser.add_argument("--check-alone", action="store_true", help="without the example of a remediation")
    parser.add_argument("--keep", action="store_true", help="keep the copy even where nothing failed")
    given = parser.parse_args(words)
    copy = Path(tempfile.mkdtemp(prefix="steward-examples-"))
    try:
        files = placed(TOP, copy, EXAMPLES[:1] if given.check_alone else EXAMPLES)
    except MisfitError as error:
        shutil.rmtree(copy)
        print(error, file=sys.stderr)
        return 2
    with_what_is_known(TOP, copy)
    _under_git(copy)
    print(f"== {copy} is a copy of the checkout with these new files:")
    for file, example in files.items():
        print(f"   {file}  ({example})")
    failed = _ran(copy, given.tests)
    if failed:
        print(f"== failed with the examples in place: {', '.join(failed)}; look at {copy}")
    else:
        print(f"== all passed with {len(files)} new files, and no other file was edited")
    if not failed and not given.keep:
        shutil.rmtree(copy)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
