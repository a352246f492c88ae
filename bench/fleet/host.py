"""On what it was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from pathlib import Path
from typing import Any

__all__ = ["host", "python_build"]

_ASK = """
import platform, sysconfig
asked = sysconfig.get_config_var("CONFIG_ARGS") or ""
print(platform.python_version(), "with" if "--enable-optimizations" in asked else "without")
"""


def python_build(python: str) -> str:
    """Its version, and whether it was configured to be built by profile, which makes a fifth of the CPU. Debian's says
    nothing of how its packages are built.
    """
    version, said = subprocess.run([python, "-c", _ASK], check=True, capture_output=True, text=True).stdout.split()
    return f"CPython {version}, configured {said} --enable-optimizations"


def host() -> dict[str, Any]:
    rows = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((row.partition(":")[2].strip() for row in rows if row.startswith("model name")), "unknown")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {"cores": os.cpu_count(), "model": model, "memory": round(memory), "kernel": platform.release()}
