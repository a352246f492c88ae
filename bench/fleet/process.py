"""What the kernel knows of a process: CPU to the nanosecond, memory now and at most."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.children import environment

__all__ = ["Child"]

_SCHEDULED = 2  # of the clocks of another process, the one of its CPU (clock_getcpuclockid(3))


class Child:
    """A process that is measured; `with` ends it. Its output goes to `log`, lines of standard output to `line`."""

    def __init__(self, command: Sequence[str], log: Path, **env: str) -> None:
        self.log = log
        self.began = time.monotonic()
        with log.open("ab") as file:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, text=True, env=environment(**env)
            )
        self._clock = (~self._process.pid << 3) | _SCHEDULED

    def __enter__(self) -> Child:
        return self

    def finish(self, timeout: float = 60) -> None:
        """Ends its standard input, and waits until it has ended by that, with whatever it started."""
        stdin: Any = self._process.stdin
        stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout)
        self._process.stdin = None

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._process.communicate()

    @property
    def cpu(self) -> float:
        """Seconds so far, of all its threads. Raises SystemExit, with the end of its log, once it has ended."""
        if self._process.poll() is not None:
            tail = "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
            raise SystemExit(f"{self._process.args!r} ended with {self._process.returncode}:\n{tail}")
        return time.clock_gettime(self._clock)

    @property
    def waited(self) -> float:
        """Seconds so far that its threads could have run and had no CPU, since others had it."""
        waited = 0
        for task in Path(f"/proc/{self._process.pid}/task").iterdir():
            with suppress(OSError):  # it has ended
                waited += int((task / "schedstat").read_text(encoding="ascii").split()[1])
        return waited / 1e9

    def memory(self) -> dict[str, float]:
        """Resident now, and at most since its start, in MiB."""
        rows = Path(f"/proc/{self._process.pid}/status").read_text(encoding="ascii").splitlines()
        sizes = {name: value for name, _, value in (row.partition(":") for row in rows)}
        return {key: int(sizes[name].split()[0]) / 1024 for key, name in (("rss", "VmRSS"), ("peak", "VmHWM"))}

    def say(self, line: str) -> None:
        stdin: Any = self._process.stdin
        stdin.write(f"{line}\n")
        stdin.flush()

    def line(self) -> str:
        """The next line that it prints; waits for it. Raises SystemExit if it ends first."""
        stdout: Any = self._process.stdout
        line: str = stdout.readline()
        if not line:
            self._process.wait(10)
            _ = self.cpu
        return line

    def signal(self, number: int) -> None:
        self._process.send_signal(number)
