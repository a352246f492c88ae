"""The rules in the eyes of every promtool that is here: Debian 12's of Prometheus 2, and the built one of 3."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.case_files import read_yaml
from tests.cluster.conftest import Tools
from tests.rules import FILES, RULES, TESTS, recorded_first
from tests.tools.build import every


def promtool(binary: Tools, *arguments: str | Path) -> None:
    binary("promtool")  # built where there is none
    for path in every("promtool"):
        done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{path}: {done.stdout}{done.stderr}"


def test_promtool_has_nothing_to_say_of_the_rules(binary: Tools) -> None:
    promtool(binary, "check", "rules", "--lint=all", "--lint-fatal", *FILES)


@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_rules_fire_wait_and_stay_quiet(binary: Tools, file: Path, tmp_path: Path) -> None:
    """Groups are evaluated in the order in which they stand: left to itself, promtool takes them in any order."""
    content = read_yaml(file.read_text(encoding="utf-8"))
    stems = [Path(each).stem for each in content["rule_files"]]
    content |= {"rule_files": [str(RULES / f"{stem}.yaml") for stem in stems]}
    ordered = tmp_path / file.name
    ordered.write_text(json.dumps({**content, "group_eval_order": recorded_first(stems)}), encoding="utf-8")
    promtool(binary, "test", "rules", ordered)
