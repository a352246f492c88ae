"""After every fault the findings are right again, and no lasting finding has closed on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.all_of import each_of
from tests.shared import REPO
from tests.unit.exporter.kube.fault_table import TABLE, Row, run


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.fault)
async def test_fault(row: Row, tmp_path: Path) -> None:
    await run(row, tmp_path)


@each_of("row", TABLE, ids=lambda row: row.fault)
def test_the_row_is_documented(row: Row) -> None:
    text = (REPO / "docs" / "reliability.md").read_text(encoding="utf-8")
    assert f"| {row.fault} | {row.does} | " in text
