"""Tests that need the reference data are marked, and say what they would prove; all others pass without it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.shared import REPO, data, missing, reference

HOMES = ("tests/shared.py", "tests/tools/examples.py", "tests/unit/project/test_reference.py")
FILES = {
    str(path.relative_to(REPO)): path.read_text(encoding="utf-8") for path in sorted((REPO / "tests").rglob("*.py"))
}


def test_the_data_is_found_by_one_module() -> None:
    found = [
        name for name, text in FILES.items() if re.search(r"STEWARD_SHARED|\.\./shared", text) and name not in HOMES
    ]
    assert found == ["tests/unit/exporter/config/test_config.py"]  # the exporter takes no notice of the variable


def test_no_test_skips_itself_for_the_data() -> None:
    skips = re.compile(
        r"(?:skipif|pytest\.skip|importorskip)\((?:[^()]|\([^()]*\))*(?:reference|data\(|SHARED|shared)", re.DOTALL
    )
    assert [name for name, text in FILES.items() if name not in HOMES and skips.search(text)] == []


def test_what_asks_for_the_data_has_marked_tests() -> None:
    asks = re.compile(r"^from tests\.(?:corpus import|shared import .*\bdata\b)", re.MULTILINE)
    asking = {name: text for name, text in FILES.items() if asks.search(text) and Path(name).name.startswith("test_")}
    assert len(asking) > 3
    assert [
        name for name, text in asking.items() if not re.search(r"^(?:@|pytestmark = )reference\(", text, re.MULTILINE)
    ] == []


def test_a_test_that_is_not_marked_finds_no_data(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEWARD_SHARED", "no folder")
    with pytest.raises(LookupError, match="not marked with reference"):
        data()
    assert missing(request.node) == ""


@reference("a marked test runs where the data is")
def test_a_marked_test_says_what_it_would_prove(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert missing(request.node) == ""
    assert (data() / "corpus").is_dir()
    monkeypatch.setenv("STEWARD_SHARED", "no folder")
    assert missing(request.node).endswith("would prove that a marked test runs where the data is")


@pytest.mark.parametrize("there", [True, False])
def test_ci_runs_everything_without_the_data_and_then_what_needs_it(there: bool, tmp_path: Path) -> None:
    """By the script itself, with a `make` that writes down what it is called with, and where no container is built."""
    (tmp_path / "data").mkdir()
    programs = tmp_path / "bin"
    for folder in (tmp_path / ".ci", tmp_path / ".venv/bin", programs):
        folder.mkdir(parents=True)
    shutil.copy(REPO / ".ci/run", tmp_path / ".ci/run")
    for name in ("bash", "dirname", "env", "id"):
        (programs / name).symlink_to(shutil.which(name) or "")
    (tmp_path / ".venv/bin/python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n', encoding="utf-8")
    (programs / "make").write_text(f'#!/bin/sh\necho "$*: $STEWARD_SHARED" >> {tmp_path}/made\n', encoding="utf-8")
    for program in (tmp_path / ".venv/bin/python", programs / "make"):
        program.chmod(0o755)
    given = str(tmp_path / "data") if there else "elsewhere"
    environment = {"PATH": str(programs), "PYTHONPATH": str(REPO), "STEWARD_SHARED": given}
    subprocess.run([tmp_path / ".ci/run"], env=environment, check=True, capture_output=True)
    made = (tmp_path / "made").read_text("utf-8").splitlines()
    without = ("lint", "types", "contracts", "verify", "test", "test-long")
    assert made == [*(f"{each}: none" for each in without), *([f"test-reference: {given}"] if there else [])]
