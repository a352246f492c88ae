"""How the examples of docs/ are put into place, and that the pages for contributors name each of their files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.shared import REPO
from tests.tools.examples import EXAMPLES, MisfitError, main, placed, tracked, with_what_is_known

PAGES = {"example_check": "docs/architecture.md", "example_remediation": "CONTRIBUTING.md"}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """With a tracked file, one that is new, one that is ignored, and an example."""
    top = tmp_path / "checkout"
    files = {
        "a.py": "a = 1\n",
        "new.py": "",
        "ignored.log": "",
        "gone.py": "",
        ".gitignore": "*.log\n",
        "docs/example_check/checks/b.py": "b = 1\n",
    }
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "--quiet", str(top)], check=True)
    subprocess.run(["git", "add", "a.py", "gone.py", ".gitignore"], cwd=top, check=True)
    (top / "gone.py").unlink()
    return top


def test_the_work_tree_is_copied_and_the_example_over_it(checkout: Path, tmp_path: Path) -> None:
    (checkout / "a.py").write_text("a = 2\n", encoding="utf-8")  # not committed
    found = placed(checkout, tmp_path / "copy", ["example_check"])
    assert found == {Path("checks/b.py"): "example_check"}
    files = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*") if path.is_file()}
    assert files == {"a.py", "new.py", ".gitignore", "checks/b.py", "docs/example_check/checks/b.py"}
    assert (tmp_path / "copy/a.py").read_text(encoding="utf-8") == "a = 2\n"


def test_an_example_may_bring_no_file_that_is_there(checkout: Path, tmp_path: Path) -> None:
    (checkout / "checks").mkdir()
    (checkout / "checks/b.py").write_text("", encoding="utf-8")
    with pytest.raises(MisfitError, match=r"checks/b\.py already"):
        placed(checkout, tmp_path / "copy", ["example_check"])


def test_the_copy_has_what_mypy_found_with_the_times_by_which_it_is_believed(checkout: Path, tmp_path: Path) -> None:
    found = checkout / ".mypy_cache/3.11/a.meta.json"
    found.parent.mkdir(parents=True)
    found.write_text("{}", encoding="utf-8")
    (checkout / ".mypy_cache/.gitignore").write_text("*\n", encoding="utf-8")  # as mypy does itself
    os.utime(found, (1, 1))
    os.utime(checkout / "a.py", (2, 2))
    placed(checkout, tmp_path / "copy", [])
    with_what_is_known(checkout, tmp_path / "copy")
    assert (tmp_path / "copy/.mypy_cache/3.11/a.meta.json").stat().st_mtime == 1
    assert (tmp_path / "copy/a.py").stat().st_mtime == 2


def test_make_calls_it() -> None:
    recipe = (REPO / "Makefile").read_text(encoding="utf-8").partition("\ntest-examples:")[2].partition("\n\n")[0]
    assert "-m tests.tools.examples" in recipe


def test_it_says_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert "--check-alone" in capsys.readouterr().out


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_page_names_each_file_of_an_example(example: str) -> None:
    text = (REPO / PAGES[example]).read_text(encoding="utf-8")
    folder = REPO / "docs" / example
    files = [path.relative_to(folder) for path in folder.rglob("*.*") if path.suffix in (".py", ".yaml", ".md")]
    assert len(files) >= 4
    assert {str(path) for path in files if f"`{path}`" not in text} == set()


def test_each_example_of_docs_is_one_that_is_tried() -> None:
    assert {path.name for path in (REPO / "docs").glob("example_*")} == set(EXAMPLES) == set(PAGES)
    assert list(tracked(REPO))
