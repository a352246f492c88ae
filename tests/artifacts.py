"""What only an installer needs, as `make artifacts` writes it: made once in a process."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from docs.generator import artifacts, exporter
from docs.generator.files import written

__all__ = ["artifact"]


def artifact(name: str) -> Path:
    """The folder of one: mixin, perses or olm."""
    folder = _all() / name
    assert folder.is_dir(), name
    return folder


@cache
def _all() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="steward-artifacts-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    written(folder, artifacts.of(exporter.generated()))
    return folder
