"""Where the reference data is, which lies beside the repository on some machines: real objects and CRDs of KubeVirt and
its neighbours. The project is built and tested without it.

`STEWARD_SHARED` names the folder where it is not `../shared`; a name that is no folder means: do without. What only the
data can prove is a test of its own, marked by `reference`; nothing else asks for the data.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

__all__ = ["REPO", "data", "main", "missing", "reference"]

REPO = Path(__file__).resolve().parents[1]


def data() -> Path:
    """The folder. Raises LookupError where it is not there."""
    found = _find()
    if found is None:
        raise LookupError(
            "the reference data is not here, and the test that asks for it is not marked with reference()"
        )
    return found


def reference(proves: str) -> pytest.MarkDecorator:
    """The mark of a test, or as `pytestmark` of a module. Without the data it is skipped, and says what it would prove:
    `proves` goes on from "that".
    """
    return pytest.mark.reference(proves)


def missing(item: pytest.Item) -> str:
    """Why a test is skipped; empty for one that runs."""
    mark = item.get_closest_marker("reference")
    if mark is None or _find() is not None:
        return ""
    return f"needs the reference data beside the repository (STEWARD_SHARED); would prove that {mark.args[0]}"


def _find() -> Path | None:
    named = os.environ.get("STEWARD_SHARED")
    folder = Path(named) if named else REPO.parent / "shared"
    return folder if folder.is_dir() else None


def main() -> int:
    """Says where the data is; 1 where it is not there."""
    found = _find()
    if found is None:
        print("no reference data beside the repository, nor where STEWARD_SHARED says", file=sys.stderr)
        return 1
    print(f"the reference data is in {found}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
