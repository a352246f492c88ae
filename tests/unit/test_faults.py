"""After every fault the findings are the truth again, and on the way nothing that lasts has vanished."""

from __future__ import annotations

from pathlib import Path

import pytest

from .fault_table import TABLE, Row, run


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fault)
async def test_fault(row: Row, tmp_path: Path) -> None:
    await run(row, tmp_path)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fault)
def test_the_docs_have_the_row(row: Row) -> None:
    text = (Path(__file__).parents[2] / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert f"| {row.fault} | {row.does} | " in text
