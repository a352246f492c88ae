"""The workflow that publishes a release: its commands are the project's own, and those that can be run here are."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.notes import main, notes
from tests.all_of import each_of
from tests.shared import REPO

FILE = REPO / ".github/workflows/release.yaml"
WORKFLOW: Any = yaml.safe_load(FILE.read_text(encoding="utf-8"))
(JOB,) = WORKFLOW["jobs"].values()
STEPS = {step["name"]: step["run"] for step in JOB["steps"] if "run" in step}
CHANGELOG = "## Unreleased\n\n## 1.2.3 - 2026-01-31\n\n### Added\n- a\n\n## 1.2.2 - 2026-01-01\n\n### Fixed\n- b\n"


def test_it_begins_with_a_tag_and_may_write_nothing_but_the_release_and_the_image() -> None:
    assert WORKFLOW[True] == {"push": {"tags": ["v*"]}}  # YAML takes `on` for true
    assert WORKFLOW["permissions"] == {"contents": "write", "packages": "write"}
    assert "permissions" not in JOB


def test_what_others_wrote_is_pinned_by_its_commit() -> None:
    used = [step["uses"] for step in JOB["steps"] if "uses" in step]
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []


@each_of("name", STEPS)
def test_a_step_is_a_script_of_targets_modules_and_files_that_are_there(name: str) -> None:
    script = STEPS[name]
    assert "${{" not in script, "a value comes in by the environment: in a script it would be code"
    subprocess.run(["bash", "-n", "-c", script], check=True)
    targets = re.findall(
        r"^([a-z-]+|\.venv/\.\w+|\$\(VENV\)/\.\w+):", (REPO / "Makefile").read_text("utf-8"), re.MULTILINE
    )
    for line in re.findall(r"^make (.*?)(?: \||$)", script, re.MULTILINE):
        wanted = [word.replace(".venv", "$(VENV)") for word in line.split() if "=" not in word]
        assert set(wanted) <= set(targets), line
    for module in re.findall(r"python -m ([\w.]+)", script):
        assert (REPO / f"{module.replace('.', '/')}.py").is_file()
    for file in re.findall(r"^(\.\w+/\S+)$", script, re.MULTILINE):
        assert os.access(REPO / file, os.X_OK)


def test_sums_and_release_are_of_what_was_built(tmp_path: Path) -> None:
    """By the steps themselves, with `gh` as a program that writes down what it is called with."""
    (tmp_path / "dist").mkdir()
    (tmp_path / "build/site").mkdir(parents=True)
    (tmp_path / "build/site/index.html").write_text("<h1>steward</h1>", encoding="utf-8")
    for name in ("a.whl", "a.tar.gz", "a.cdx.json", "steward.yaml"):
        (tmp_path / "dist" / name).write_text(name, encoding="utf-8")
    (tmp_path / "dist/notes.md").write_text("### Added\n- a\n", encoding="utf-8")
    pushed = "ghcr.io/a/b:1.2.3@sha256:0123"
    (tmp_path / "dist/image.txt").write_text(f"dist/image.oci.tar\npushed {pushed}\n\nName it …\n", encoding="utf-8")
    gh = tmp_path / "bin/gh"
    gh.parent.mkdir()
    gh.write_text('#!/bin/bash\nprintf "%s\\n" "$@" > called\n', encoding="utf-8")
    gh.chmod(0o755)
    env = {**os.environ, "TAG": "v1.2.3", "PATH": f"{gh.parent}:{os.environ['PATH']}", "GIT_DIR": git_dir()}
    for name in ("sums", "the release"):
        subprocess.run(["bash", "-euo", "pipefail", "-c", STEPS[name]], cwd=tmp_path, env=env, check=True)

    sums = dict(line.split()[::-1] for line in (tmp_path / "dist/SHA256SUMS").read_text("utf-8").splitlines())
    assert set(sums) == {"a.whl", "a.tar.gz", "site-1.2.3.tar.gz", "a.cdx.json", "steward.yaml"}
    for name, digest in sums.items():
        assert hashlib.sha256((tmp_path / "dist" / name).read_bytes()).hexdigest() == digest
    with tarfile.open(tmp_path / "dist/site-1.2.3.tar.gz") as packed:
        assert "site/index.html" in packed.getnames()
    assert (tmp_path / "dist/notes.md").read_text("utf-8") == f"### Added\n- a\nImage: {pushed}\n"
    called = (tmp_path / "called").read_text("utf-8").splitlines()
    assert called[:4] == ["release", "create", "v1.2.3", "--verify-tag"]
    assert {word for word in called if word.startswith("dist/")} == {
        "dist/notes.md",
        "dist/SHA256SUMS",
        *(f"dist/{name}" for name in sums),
    }


def git_dir() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "--absolute-git-dir"], cwd=REPO, capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


def test_the_notes_are_the_section_of_the_changelog() -> None:
    assert notes("v1.2.3", "1.2.3", CHANGELOG) == "### Added\n- a\n"


@pytest.mark.parametrize(
    ("tag", "version", "why"),
    [
        ("v1.2.4", "1.2.3", "has to be v1.2.3"),
        ("1.2.3", "1.2.3", "has to be v1.2.3"),
        ("v1.2.4", "1.2.4", "no section `## 1.2.4"),
    ],
)
def test_a_tag_that_is_not_the_version_and_a_version_without_a_section_are_refused(
    tag: str, version: str, why: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        notes(tag, version, CHANGELOG)


def test_a_refusal_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["v0.0.0"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
