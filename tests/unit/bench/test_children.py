"""A process that is measured compiles nothing, whatever the environment of who starts it asks for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from bench import children
from bench.fleet.process import Child


@pytest.fixture(autouse=True)
def asked_to_keep_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")


def test_a_child_keeps_what_it_compiles(tmp_path: Path) -> None:
    says = "import sys; print(sys.dont_write_bytecode, flush=True); sys.stdin.read()"
    with Child([sys.executable, "-c", says], tmp_path / "log") as child:
        assert child.line() == "False\n"


def test_all_is_compiled_before_it_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("exporter", "reconcile", "library"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "late.py").write_text("A = 1\n", encoding="utf-8")
    monkeypatch.setattr(children, "REPOSITORY", tmp_path)
    children.warmed.__wrapped__(sys.executable, "library.late")
    compiled = sorted(path.parts[-3] for path in tmp_path.rglob("late.*.pyc"))
    assert compiled == ["exporter", "library", "reconcile"]
