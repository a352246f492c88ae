"""The progress of reading a dump, as one line on a terminal; nothing without a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ....offline.source import Progress, Tally
from .terminal import one_line

_EVERY = 0.1  # seconds between two updates


@contextmanager
def progress_line(of: str = "") -> Iterator[Progress]:
    """The line disappears when the block ends. `of` is the name of the dump's cluster."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    shown_at = 0.0

    def show(tally: Tally) -> None:
        nonlocal shown_at
        if time.monotonic() - shown_at >= _EVERY:
            shown_at = time.monotonic()
            _write(f"\r\x1b[Kreading{f' {one_line(of)}' if of else ''}: {tally}")

    try:
        yield show
    finally:
        _write("\r\x1b[K")


def _write(text: str) -> None:
    """A terminal that is gone ends nothing."""
    with suppress(OSError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()
