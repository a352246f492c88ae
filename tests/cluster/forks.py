"""Processes that are forked off one which has imported everything: starting Python takes a second of CPU, a fork none.

`steward` is a command of a person that way. What a process is from its start (how it imports, what its streams are) is
for tests that start it as users do.
"""

from __future__ import annotations

import io
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from tests.shared import REPO

__all__ = ["FORKS", "steward"]

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.cluster.imported"])

_PATIENCE = 120
_STREAMS = ("stdin", "stdout", "stderr")


def steward(*words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    """One command of `steward`, to its end. Raises TimeoutExpired."""
    with tempfile.TemporaryDirectory(prefix="steward-command-") as name:
        folder = Path(name)
        (folder / "stdin").write_text(stdin, encoding="utf-8")
        child = FORKS.Process(target=_command, args=(words, folder, dict(os.environ)))
        child.start()
        child.join(_PATIENCE)
        if child.is_alive():
            child.kill()
            child.join()
            raise subprocess.TimeoutExpired(["steward", *words], _PATIENCE)
        assert child.exitcode is not None
        said = ((folder / stream).read_text(encoding="utf-8") for stream in _STREAMS[1:])
        return subprocess.CompletedProcess(["steward", *words], child.exitcode, *said)


def _command(words: tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> None:
    for number, stream in enumerate(_STREAMS):
        with (folder / stream).open("rb" if number == 0 else "wb") as file:
            os.dup2(file.fileno(), number)
    sys.stdin = io.TextIOWrapper(io.FileIO(0, closefd=False), encoding="utf-8")
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(REPO)
    raise SystemExit(import_module("exporter.__main__").main(words))
