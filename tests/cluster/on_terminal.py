"""One command of `steward` on a terminal, which asks, and waits for an answer."""

from __future__ import annotations

import os
import pty
import subprocess

from tests.cluster.sidecar import COMMAND
from tests.shared import REPO

__all__ = ["OnTerminal"]


class OnTerminal:
    """`with` starts it, and ends it if it still runs."""

    def __init__(self, *words: str) -> None:
        self._words = words

    def __enter__(self) -> OnTerminal:
        self._terminal, self._stdin = pty.openpty()
        pipe = subprocess.PIPE
        command = [*COMMAND, *self._words]
        self._process = subprocess.Popen(command, stdin=self._stdin, stdout=pipe, stderr=pipe, cwd=REPO)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()
        for each in (self._terminal, self._stdin):
            os.close(each)

    def read_until(self, question: str) -> None:
        """What it says on standard error, up to this."""
        assert self._process.stderr is not None
        said = b""
        while not said.endswith(question.encode()):
            more = os.read(self._process.stderr.fileno(), 1)
            assert more, said
            said += more

    def answered(self, line: str) -> tuple[int, str, str]:
        """Its exit code, and what it says on standard output and standard error after that."""
        os.write(self._terminal, f"{line}\n".encode())
        out, err = self._process.communicate(timeout=60)
        return self._process.returncode, out.decode(), err.decode()
