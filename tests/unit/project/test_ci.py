"""What `.ci/run` calls, what the tiers are for, and that no target of the Makefile is in neither."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from docs.generator.support import generated
from tests.all_of import each_of
from tests.shared import REPO
from tests.tools.table import HERE, TOOLS
from tests.tools.tiers import RECORDS, SUPPORT, Tier, tiers

MAKEFILE = (REPO / "Makefile").read_text(encoding="utf-8")
PREREQUISITES = {
    target: rest.partition("##")[0].split() for target, rest in re.findall(r"^([a-z-]+):(.*)$", MAKEFILE, re.MULTILINE)
}
TIERS = tiers()
# Why a target is called by neither CI nor a tier.
NEITHER = {
    "help": "only prints",
    "parts": "what test and test-long build; CI has it built beside its first steps",
    "demo": "serves until it is stopped",
    "check": "CI calls its parts",
    "test-rules": "a part of test",
    "tiers": "runs the tiers",
    "generate": "writes what verify compares",
    "artifacts": "tests/unit/project/test_artifacts.py makes them",
    "lock": "writes what verify compares",
    "audit": "depends on the day, and asks others; before a release (docs/releasing.md)",
    "sbom": "tests/unit/release makes it",
    "krew": "tests/cluster/test_krew.py makes it",
    "site": "for a release; test_doc_links.py holds the links of the same files",
    "clean": "only removes",
}


def with_needed(targets: Iterable[str]) -> set[str]:
    found: set[str] = set()
    left = [*targets]
    while left:
        target = left.pop()
        if target in PREREQUISITES and target not in found:
            found.add(target)
            left += PREREQUISITES[target]
    return found


BY_TIERS = with_needed(word for tier in TIERS for word in shlex.split(tier.run)[1:])


@each_of("tier", TIERS, ids=lambda tier: tier.name)
def test_a_tier_makes_a_target_and_each_of_its_paths_is_there(tier: Tier) -> None:
    make, *words = shlex.split(tier.run)
    assert make == "make"
    assert {word for word in words if "=" not in word} <= set(PREREQUISITES)
    assert [path for path in tier.paths if not list(files([path]))] == []
    assert {RECORDS, SUPPORT} & set(files(tier.paths)) == set(), "its own record would put it behind"


def files(paths: Iterable[str]) -> Iterator[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--", *paths], cwd=REPO, capture_output=True, text=True, check=True
    )
    return filter(None, listed.stdout.split("\0"))


@pytest.mark.parametrize(
    ("row", "versions"),
    [
        ("kubernetes", {path.name for path in (HERE / "kube-apiserver").iterdir()} - {TOOLS["kube-apiserver"].version}),
        ("kubevirt", {path.name for path in (HERE / "kubevirt").iterdir()}),
        ("python", set(re.search(r"^PYTHONS \?= (.*)$", MAKEFILE, re.MULTILINE)[1].split())),  # type: ignore[index]
    ],
)
def test_each_version_that_ci_leaves_out_has_a_tier(row: str, versions: set[str]) -> None:
    assert {tier.name for tier in TIERS if tier.row == row} == {f"{row}-{version}" for version in versions}


def test_the_page_of_what_it_is_tested_with_has_the_records_of_each_tier(monkeypatch: pytest.MonkeyPatch) -> None:
    run = {
        "commit": "0123456789abcdef",
        "date": "2026-10-01",
        "minutes": 21.4,
        "counts": {"passed": 1101, "skipped": 2},
    }
    failed = {"result": "failed", **run, "commit": "fedcba9876543210", "counts": {"passed": 1100, "failed": 1}}
    given = {
        "networks": {"passed": {"result": "passed", **run}},
        "repairs": {"passed": {"result": "passed", **run}, "failed": failed},
        "python-3.14": {"not run": "python3.14"},
    }
    monkeypatch.setattr("docs.generator.support.records", lambda: given)
    text = generated()["docs/support.md"].partition("\n## Tiers\n")[2]
    rows = {row[1]: row[2] for row in re.finditer(r"^\| ([\w.-]+) \| `[^`]+` \| (.*) \|$", text, re.MULTILINE)}
    assert list(rows) == [tier.name for tier in TIERS]
    last = "`012345678`, 2026-10-01 | 1,101 passed, 2 skipped | 21.4"
    assert rows.pop("networks") == f"{last} | "
    assert rows.pop("repairs") == f"{last} | failed at fedcba987 on 2026-10-01: 1,100 passed, 1 failed"
    assert rows.pop("python-3.14") == "never recorded |  |  | not run: it needs python3.14"
    assert set(rows.values()) == {"never recorded |  |  | "}


@pytest.fixture
def ci(tmp_path: Path) -> Path:
    """`.ci/run` in a folder of its own, with programs in place of make, Python, `id` and what it installs."""
    (tmp_path / ".ci").mkdir()
    shutil.copy(REPO / ".ci/run", tmp_path / ".ci/run")
    programs = {"make": 'echo "making $*"; [ "$*" != "${BREAKS-}" ]', "id": 'echo "$USER_ID"'}
    installed = dict.fromkeys(("apt-get", "chromium", "crun", "ip", "mmdebstrap", "skopeo", "umoci"), "exit 1")
    for name, script in {**programs, **installed, "../.venv/bin/python": 'echo "python $*"'}.items():
        file = (tmp_path / "bin" / name).resolve()
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        file.chmod(0o755)
    return tmp_path


def ran(ci: Path, user: int, breaks: str = "") -> tuple[int, list[str], list[str]]:
    """Its exit code, what it prints, and the targets that it makes."""
    env = {**os.environ, "PATH": f"{ci / 'bin'}:{os.environ['PATH']}", "USER_ID": str(user), "BREAKS": breaks}
    done = subprocess.run([ci / ".ci/run"], env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    said = done.stdout.splitlines()
    made = [word for line in said if line.startswith("making ") for word in line.split()[1:] if "=" not in word]
    return done.returncode, said, made


def test_each_target_is_made_by_ci_or_a_tier_or_says_why_not(ci: Path) -> None:
    code, _, made = ran(ci, user=0)
    assert code == 0
    by_ci = with_needed(made)
    assert {*PREREQUISITES["check"], "wheel"} <= by_ci
    left = set(PREREQUISITES) - by_ci - BY_TIERS
    assert left == set(NEITHER), "what is in neither is a row of tests/tools/tiers.toml, or in NEITHER with the reason"


@pytest.mark.parametrize("user", [0, 1000])
def test_ci_says_how_long_each_step_took_and_how_far_the_tiers_are_behind(ci: Path, user: int) -> None:
    code, said, made = ran(ci, user)
    assert code == 0
    assert ("test-image" in made) is (user == 0)
    assert "python -m tests.tools.tiers --table" in said
    took = said[said.index("== time by step") + 1 :]
    assert [line.split()[0] for line in took] == made
    assert [line for line in took if not re.fullmatch(r"\S+ +0 min \d\d s", line)] == []
    assert {f"== {line}" for line in took} <= set(said), "each is said as it ends, too"


def test_ci_ends_with_the_step_that_fails_and_says_so(ci: Path) -> None:
    code, said, _ = ran(ci, user=0, breaks="contracts")
    assert code == 1
    took = said[said.index("== time by step") + 1 :]
    assert [line.split()[0] for line in took] == ["lint", "types", "contracts"]
    assert [line.endswith(" s, failed") for line in took] == [False, False, True]


def test_the_tests_that_ask_for_all_there_is_are_there() -> None:
    named = re.search(r"ASKS_FOR_ALL := \$\(addprefix tests/unit/,((?:.|\\\n)*?)\)\n", MAKEFILE)
    assert named
    folders = named[1].replace("\\", " ").replace(",", " ").split()
    assert [each for each in folders if not (REPO / "tests/unit" / each).is_dir()] == []
    assert len(folders) > 8
