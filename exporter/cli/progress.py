"""One line on a terminal that tells how far the reading of a dump has come; nothing where nobody looks."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ..offline.source import Progress, Tally

__all__ = ["progress_line"]

_EVERY = 0.1  # seconds


@contextmanager
def progress_line(of: str = "") -> Iterator[Progress]:
    """The line goes when the block ends. `of` is what the dump's cluster is called."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    reported = 0.0

    def tell(tally: Tally) -> None:
        nonlocal reported
        if time.monotonic() - reported >= _EVERY:
            reported = time.monotonic()
            sys.stderr.write(f"\r\x1b[Kreading{f' {of}' if of else ''}: {tally}")
            sys.stderr.flush()

    try:
        yield tell
    finally:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
