"""The table of what the networks' controllers cause has every reason, and names tests that are there."""

from __future__ import annotations

import re

import pytest

from exporter.checks import all_checks
from tests.shared import REPO

PAGE = REPO / "docs/networks.md"
ROW = re.compile(r"^\| `(\w+)` \| (.+) \| (.+) \|$", re.MULTILINE)
CHECKS = [check for check in all_checks() if check.id.startswith("ipam_")]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_every_reason_is_in_the_table_of_its_check(check: object) -> None:
    _, _, section = PAGE.read_text("utf-8").partition(f"### {check.id}\n")  # type: ignore[attr-defined]
    rows = ROW.findall(section.partition("\n## ")[0].partition("\n### ")[0])
    assert [reason for reason, _, _ in rows] == list(check.reasons)  # type: ignore[attr-defined]


def test_the_tests_that_it_names_are_there() -> None:
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text("utf-8")))
    files = (REPO / "tests/networks").glob("test_*.py")
    there = {name for path in files for name in re.findall(r"^def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)}
    assert named
    assert named <= there, named - there
