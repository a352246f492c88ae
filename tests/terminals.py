"""A terminal, for what the command line shows on one."""

from __future__ import annotations

import os
import pty
import struct
import sys
import termios
import threading
from collections.abc import Sequence
from fcntl import ioctl
from unittest import mock

from exporter.__main__ import main

__all__ = ["on_terminal"]


def on_terminal(words: Sequence[str], columns: int, **environment: str) -> str:
    """What somebody sees on a terminal of so many columns who calls `steward` with the words."""
    master, slave = pty.openpty()
    ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    seen: list[bytes] = []
    reader = threading.Thread(target=_read, args=(master, seen))
    reader.start()
    unset = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS")}
    with (
        open(slave, "w", encoding="utf-8") as terminal,
        open(os.devnull, "w", encoding="utf-8") as nowhere,
        mock.patch.dict(os.environ, unset | {"TERM": "xterm", **environment}, clear=True),
        mock.patch.multiple(sys, stdout=terminal, __stdout__=terminal, stderr=nowhere),
    ):
        main(words)
    reader.join()
    os.close(master)
    return b"".join(seen).decode().replace("\r\n", "\n")


def _read(master: int, seen: list[bytes]) -> None:
    """A terminal holds some kilobytes, and then its writer waits."""
    try:
        while read := os.read(master, 65536):
            seen.append(read)
    except OSError:  # the other end is closed
        pass
