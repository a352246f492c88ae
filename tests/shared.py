"""Where the reference data is that lies beside the repository on some VMs: real CRDs, for one.

`STEWARD_SHARED` names the folder where it is not `../shared`; a name that is no folder means: do without.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["REPO", "SHARED"]

REPO = Path(__file__).resolve().parents[1]


def _find() -> Path | None:
    named = os.environ.get("STEWARD_SHARED")
    folder = Path(named) if named else REPO.parent / "shared"
    return folder if folder.is_dir() else None


SHARED: Path | None = _find()
