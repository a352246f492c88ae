"""Tests stand in the rooms that they test, and share helpers, not tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.shared import REPO

UNIT = REPO / "tests" / "unit"
APART = {"project", "reports", "tools"}  # of the repository, of what was reported, and of what builds its parts


def imported(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_no_test_imports_from_another() -> None:
    wrong = {
        f"{file.relative_to(REPO)} imports from {module}; put what both need into a module of tests/"
        for file in UNIT.rglob("*.py")
        for module in imported(file)
        if module.startswith("tests.") and (".test_" in module or module.endswith(".conftest"))
    }
    assert wrong == set()


def test_a_folder_of_tests_is_a_room() -> None:
    rooms = {file.parent.relative_to(UNIT) for file in UNIT.rglob("test_*.py")}
    there = {room for room in rooms if (REPO / room).is_dir() or (REPO / f"{room}.py").is_file()}
    assert {str(room) for room in rooms - there if room.parts[0] not in APART} == set()


def test_a_comment_names_modules_that_are_there() -> None:
    """Such as `(addresses.py)`; of others' sources the last folder is named, too, and none of ours has it."""
    product = [file for top in ("exporter", "reconcile", "demo") for file in (REPO / top).rglob("*.py")]
    there = {file.name for file in (*product, *(REPO / "tests").rglob("*.py"))}
    stale = [
        f"{file.relative_to(REPO)}: {name}"
        for file in product
        for name in re.findall(r"(?<![\w/])(?:[a-z_]+/)*([a-z_]+\.py)\b", file.read_text(encoding="utf-8"))
        if name not in there | {"x.py"}
    ]
    assert stale == [], "write the name that the module has now"
