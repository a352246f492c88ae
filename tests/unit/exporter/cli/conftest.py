"""What the commands are given: a dump of the sample fleet, and what is found in it."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from demo.fleet.sample import sample_fleet
from exporter.__main__ import main
from tests.dumps import plain_list

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture(scope="session")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As JSON, which is read in a third of the time of YAML."""
    path = tmp_path_factory.mktemp("dump") / "fleet.json"
    path.write_text(json.dumps(plain_list(list(sample_fleet(NOW).objects))), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def look(dump: Path) -> Sequence[str]:
    """The words of `steward check` at the time of the dump."""
    return ("check", "--from", str(dump), "--complete", "--now", NOW.isoformat().replace("+00:00", "Z"))


@pytest.fixture(scope="session")
def _report(look: Sequence[str]) -> str:
    with redirect_stdout(io.StringIO()) as out:
        main([*look, "-o", "json"])
    return out.getvalue()


@pytest.fixture
def report(_report: str) -> Any:
    """What `steward check` says of the dump, as JSON."""
    return json.loads(_report)
