"""After every fault the findings are the truth again, and on the way nothing that lasts has vanished."""

from __future__ import annotations

from pathlib import Path

import pytest

from .fault_table import TABLE, Row, run


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fault)
async def test_fault(row: Row, tmp_path: Path) -> None:
    await run(row, tmp_path)
