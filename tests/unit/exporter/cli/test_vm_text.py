"""`steward vm`: what several failures ask for is said once."""

from __future__ import annotations

from pathlib import Path

import pytest

from exporter.__main__ import main


def test_the_next_step_of_several_failures_is_said_once(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["vm", "telecom/hss-legacy", "--from", str(dump), "--complete"])
    migration = capsys.readouterr().out.partition("\n\nMigration\n")[2].partition("\n\n")[0]
    assert migration.count("  Failed at ") == 3
    assert migration.count("virtctl restart -n telecom hss-legacy") == 1
