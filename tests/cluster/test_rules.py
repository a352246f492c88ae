"""The rules in the eyes of every promtool that is here: Debian 12's of Prometheus 2, and the built one of 3."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tests.case_files import read_yaml
from tests.cluster.conftest import Tools
from tests.rules import FILES, RULES, TESTS, recorded_first
from tests.tools.build import every


def promtool(binary: Tools, *arguments: str | Path) -> None:
    binary("promtool")  # built where there is none
    for path in every("promtool"):
        done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{path}: {done.stdout}{done.stderr}"


def marked(file: Path) -> ParameterSet:
    """A day of evaluations, one a minute, takes promtool up to a minute of CPU."""
    return pytest.param(file, id=file.stem, marks=[pytest.mark.tier] if file.stem.endswith("_for_hours") else [])


def test_promtool_has_nothing_to_say_of_the_rules(binary: Tools) -> None:
    promtool(binary, "check", "rules", "--lint=all", "--lint-fatal", *FILES)


@pytest.mark.parametrize("file", [marked(file) for file in TESTS])
def test_rules_fire_wait_and_stay_quiet(binary: Tools, file: Path, tmp_path: Path) -> None:
    """Groups are evaluated in the order in which they stand: left to itself, promtool takes them in any order."""
    text = file.read_text(encoding="utf-8")
    order = json.dumps(recorded_first(Path(each).stem for each in read_yaml(text)["rule_files"]))
    ordered = tmp_path / file.name  # as text: of `0x30` a parser makes a number
    ordered.write_text(f"group_eval_order: {order}\n{text.replace('../', f'{RULES}/')}", encoding="utf-8")
    promtool(binary, "test", "rules", ordered)
