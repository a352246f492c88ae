"""What the process of a benchmark has used so far."""

from __future__ import annotations

import resource
from pathlib import Path

__all__ = ["cpu", "rss"]


def cpu() -> float:
    """User and system CPU, in seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def rss() -> float:
    """Resident memory, in MiB."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20
