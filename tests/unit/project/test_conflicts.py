"""What a merge left behind is found in every tracked file, and nothing else is taken for it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.shared import REPO
from tests.tools.conflicts import conflicts, main

BROKEN = "one\n{} HEAD\ntheirs\n{}\nours\n{} other\n".format("<" * 7, "=" * 7, ">" * 7)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    return tmp_path


def tracked(checkout: Path, name: str, text: str) -> None:
    (checkout / name).parent.mkdir(exist_ok=True)
    (checkout / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "add", name], cwd=checkout, check=True)


def test_each_line_of_a_merge_is_named(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tracked(checkout, "docs/a page.md", BROKEN)
    tracked(checkout, "fine.md", "fine\n")
    assert main(checkout) == 1
    said = capsys.readouterr().err.splitlines()
    assert [line.rpartition(": ")[0] for line in said[:3]] == [f"docs/a page.md:{number}" for number in (2, 4, 6)]
    assert said[-1].startswith("these lines are a merge's")


def test_what_is_not_of_a_merge_and_what_is_not_tracked_is_left_alone(checkout: Path) -> None:
    tracked(checkout, "page.md", "Title\n========\n\n    <<<<<<< in a quotation\ncat <<<<<<<x\n======= more\n")
    (checkout / "scratch.md").write_text(BROKEN, encoding="utf-8")
    tracked(checkout, "gone.md", BROKEN)
    (checkout / "gone.md").unlink()
    assert list(conflicts(checkout)) == []


def test_no_tracked_file_has_one() -> None:
    assert list(conflicts(REPO)) == []


def test_make_lint_asks() -> None:
    recipe = (REPO / "Makefile").read_text(encoding="utf-8").partition("\nlint:")[2].partition("\n\n")[0]
    assert "-m tests.tools.conflicts" in recipe
