"""`steward vm`: what several failures ask for is said once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from demo.fleet.sample import sample_fleet
from exporter.__main__ import main
from tests.dumps import many


def test_the_next_step_of_several_failures_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "fleet.yaml"
    path.write_text(many(sample_fleet(datetime(2026, 11, 21, tzinfo=UTC)).objects), encoding="utf-8")
    main(["vm", "telecom/hss-legacy", "--from", str(path), "--complete"])
    migration = capsys.readouterr().out.partition("\n\nMigration\n")[2].partition("\n\n")[0]
    assert migration.count("  Failed at ") == 3
    assert migration.count("virtctl restart -n telecom hss-legacy") == 1
