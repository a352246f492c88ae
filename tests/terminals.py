"""A terminal, for what the command line shows on one."""

from __future__ import annotations

import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from fcntl import ioctl

__all__ = ["on_terminal"]


def on_terminal(words: Sequence[str], columns: int, **environment: str) -> str:
    """What somebody sees on a terminal of so many columns who calls `steward` with the words."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    command = [sys.executable, "-m", "exporter", *words]
    env |= {"TERM": "xterm", **environment}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, env=env):
        os.close(slave)
        seen = b""
        try:
            while read := os.read(master, 65536):
                seen += read
        except OSError:  # the other end is closed
            pass
        os.close(master)
    return seen.decode().replace("\r\n", "\n")
