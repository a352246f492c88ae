"""Child processes that tests start: on free ports of loopback, with a log file, and an end."""

from __future__ import annotations

import contextlib
import random
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.waiting import wait_until

__all__ = ["Process", "answers", "free_ports"]

PORTS = range(15_000, 32_000)  # below the ports that the system gives to clients: none of those can take ours meanwhile


def free_ports(count: int) -> list[int]:
    """Different ports of 127.0.0.1 that nothing listens on now."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"no {count} free ports on 127.0.0.1 between {PORTS.start} and {PORTS.stop}")


def answers(url: str) -> bool:
    """Whether a GET of an http URL on loopback is answered with success now."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:  # an HTTPError is one too, and holds the connection
        return False


class Process:
    """A program that is started, asked until it is ready, and stopped; its output goes to `log`, also over restarts."""

    def __init__(self, name: str, command: Sequence[str | Path], log: Path) -> None:
        self.name = name
        self.log = log
        self._command = [str(part) for part in command]
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    def start(self, ready: Callable[[], bool], timeout: float = 180) -> None:
        """Returns when `ready` answers true. Raises RuntimeError, with the end of the log, if it never does.

        The deadline is for VMs that are busy with other things: a server is ready in a few seconds.
        """
        if self.running:
            raise RuntimeError(f"{self.name} runs already")
        with self.log.open("ab") as log:
            self._child = subprocess.Popen(self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        child = self._child
        try:
            wait_until(lambda: child.poll() is not None or ready(), timeout, f"{self.name} is ready", every=0.2)
        except BaseException as err:
            self.kill()
            if isinstance(err, TimeoutError):
                raise RuntimeError(f"{self.name} did not get ready in {timeout:g} s; {self._tail()}") from err
            raise
        if child.returncode is not None:
            raise RuntimeError(f"{self.name} ended with status {child.returncode} at its start; {self._tail()}")

    def kill(self) -> None:
        """SIGKILL: no goodbye to clients, nothing written on the way out."""
        if self._child is not None:
            self._child.kill()
            self._child.wait()

    def stop(self, timeout: float = 15) -> None:
        """SIGTERM, and SIGKILL if it has not ended after `timeout` seconds."""
        if self._child is not None:
            self._child.terminate()
            try:
                self._child.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()

    def _tail(self, lines: int = 20) -> str:
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return f"the end of {self.log}:\n" + "\n".join(text.splitlines()[-lines:])
