"""The shell of a person who follows a runbook: its blocks run as they are written, one after the other."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..shared import REPO
from .apiserver import ApiServer
from .sidecar import COMMAND

__all__ = ["OnTerminal", "Shell", "fill", "put_steward"]

_TO_FILL = re.compile(r"'<([a-z][a-z -]*)>'")
# `kubectl exec -n NAMESPACE deploy/steward-exporter -- steward …` runs steward here, since no pod runs there.
_KUBECTL = """#!/bin/bash
if [[ "$1 $2 $4 $5 $6" == "exec -n deploy/steward-exporter -- steward" ]]; then
  exec {steward} "${{@:7}}"
fi
exec {kubectl} "$@"
"""
# Variables live on in the next block; a variable that nothing has set ends the block.
_BLOCK = """set -u
[[ ! -e {state} ]] || source {state}
trap 'declare -p | grep -v "^declare -[a-zA-Z]*r" > {state}
for each in $(compgen -A variable); do printf "%s=%s\\\\0" "$each" "${{!each-}}"; done > {values}' EXIT
{block}"""


def fill(text: str, values: Mapping[str, str]) -> str:
    """The block with what it leaves to the reader, `'<name>'`, in place. Raises KeyError for what has no value."""
    return _TO_FILL.sub(lambda found: shlex.quote(values[found[1].upper().translate({32: "", 45: ""})]), text)


def put_steward(folder: Path, command: Sequence[str]) -> None:
    """The program `steward` in the folder, which runs the command: `.venv/bin` is on nobody's PATH."""
    path = folder / "steward"
    path.write_text(f'#!/bin/bash\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


class Shell:
    """Runs blocks as the admin, in a folder of its own; `variables` are those that the blocks have set by now."""

    def __init__(self, kubectl: Path, server: ApiServer, steward: Sequence[str], folder: Path) -> None:
        """`steward` is the command that runs for `steward`, in the exporter's pod too."""
        self.folder = folder
        self._state, self._values = folder / ".state", folder / ".values"
        tools = folder / ".bin"
        tools.mkdir()
        wrapper = tools / "kubectl"
        wrapper.write_text(_KUBECTL.format(steward=shlex.join(steward), kubectl=kubectl), encoding="utf-8")
        wrapper.chmod(0o755)
        put_steward(tools, steward)  # of a person, who has no shell in the pod
        known = {"KUBECONFIG": str(server.kubeconfig("admin")), "PYTHONPATH": str(REPO)}
        self._env = {**os.environ, **known, "PATH": f"{tools}:{os.environ['PATH']}"}

    def __call__(self, block: str, **overruled: str) -> subprocess.CompletedProcess[str]:
        """Runs a block; `overruled` are variables that have another value, in this block alone."""
        kept = self._state.read_bytes() if self._state.exists() else b""
        first = "".join(f"{name}={shlex.quote(value)}\n" for name, value in overruled.items())
        script = _BLOCK.format(
            state=shlex.quote(str(self._state)), values=shlex.quote(str(self._values)), block=first + block
        )
        done = subprocess.run(
            ["bash", "-c", script], env=self._env, cwd=self.folder, capture_output=True, text=True, check=False
        )
        if overruled:
            self._state.write_bytes(kept)
        return done

    @property
    def variables(self) -> dict[str, str]:
        content = self._values.read_text(encoding="utf-8") if self._values.exists() else ""
        pairs = (each.partition("=") for each in content.split("\0") if each)
        return {name: value for name, _, value in pairs}

    def expanded(self, text: str) -> str:
        """The text with the values that its variables have now."""
        known = self.variables
        return re.sub(r"\$\{?([A-Z][A-Z0-9_]*)\}?", lambda found: known.get(found[1], found[0]), text)


# One command of `steward` on a terminal, which asks, and waits for an answer.


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
