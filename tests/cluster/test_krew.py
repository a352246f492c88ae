"""The plugin of kubectl as krew installs it: its manifest by krew's own rules, and its commands by kubectl.

The lock of the archive is empty here: what it names comes from a package index. `steward version` needs none of it.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from release.krew import NAME, archive, manifest
from release.locks import PROJECT, TOP, pyproject
from tests.cluster.conftest import Tools

pytestmark = pytest.mark.long
VERSION = str(pyproject()["project"]["version"])
NOWHERE = f"nowhere==1 --hash=sha256:{'0' * 64}\n"
Done = subprocess.CompletedProcess[str]


@dataclass(frozen=True)
class Krew:
    """Of somebody with a home of their own, who has installed nothing yet."""

    program: Path
    kubectl: Path
    home: Path
    content: bytes

    def install(self, text: str, content: bytes) -> Done:
        (self.home / f"{NAME}.yaml").write_text(text, encoding="utf-8")
        (self.home / "steward.tar.gz").write_bytes(content)
        words = ("install", f"--manifest={self.home}/{NAME}.yaml", f"--archive={self.home}/steward.tar.gz")
        return self._run(self.program, *words)

    def uninstall(self) -> Done:
        return self._run(self.program, "uninstall", NAME)

    def steward(self, *words: str, **given: str) -> Done:
        """`kubectl steward …`."""
        return self._run(self.kubectl, NAME, *words, **given)

    @property
    def folder(self) -> Path:
        return self.home / "krew/store" / NAME / f"v{VERSION}"

    def _run(self, *words: str | Path, **given: str) -> Done:
        own = {"HOME": str(self.home), "KREW_ROOT": str(self.home / "krew"), "KREW_NO_UPGRADE_CHECK": "1"}
        own |= {"PATH": f"{self.home}/krew/bin:{os.environ['PATH']}", "STEWARD_PYTHON": sys.executable} | given
        return subprocess.run(words, env=os.environ | own, stdin=subprocess.DEVNULL, capture_output=True, text=True)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=TOP, check=True, capture_output=True)
    return folder / f"{PROJECT.replace('-', '_')}-{VERSION}-py3-none-any.whl"


def packed(wheel: Path, folder: Path, lock: str = "") -> bytes:
    (folder / "requirements.lock").write_text(lock, encoding="utf-8")
    return archive(wheel, folder / "requirements.lock", 1_700_000_000)


@pytest.fixture
def krew(binary: Tools, wheel: Path, tmp_path: Path) -> Krew:
    index = tmp_path / "krew/index/default"  # krew takes nothing away without one, and asks for no more than that
    subprocess.run(["git", "init", "--quiet", index], check=True)
    return Krew(binary("krew"), binary("kubectl"), tmp_path, packed(wheel, tmp_path))


@pytest.mark.parametrize(
    ("right", "wrong", "says"),
    [
        ("", "", ""),
        (f"version: v{VERSION}", f"version: {VERSION}", "failed to parse plugin version"),
        ("key: arch", "key: cpu", 'key "cpu" not supported'),
        (f"name: {NAME}", "name: other", "plugin should be named"),
        ("bin: kubectl-steward", "bin: ''", "`bin` has to be set"),
    ],
)
def test_krews_own_rules_hold_for_the_manifest(
    right: str, wrong: str, says: str, binary: Tools, tmp_path: Path
) -> None:
    text = manifest(VERSION, b"content")
    assert text.count(right) == 1 or not right
    file = tmp_path / f"{NAME}.yaml"
    file.write_text(text.replace(right, wrong) if right else text, encoding="utf-8")
    done = subprocess.run(
        [binary("validate-krew-manifest"), f"-manifest={file}", "-skip-install"], capture_output=True, text=True
    )
    assert (done.returncode == 0) is not bool(says), done.stderr
    assert says in done.stderr


def test_the_archive_is_that_of_the_manifest_and_the_same_twice(wheel: Path, tmp_path: Path) -> None:
    content = packed(wheel, tmp_path)
    assert content == packed(wheel, tmp_path)
    assert f"sha256: {hashlib.sha256(content).hexdigest()}\n" in manifest(VERSION, content)


def test_kubectl_runs_what_krew_has_installed_and_nothing_is_left_after_it(krew: Krew) -> None:
    installed = krew.install(manifest(VERSION, krew.content), krew.content)
    assert installed.returncode == 0, installed.stderr
    assert "Its first command installs its Python packages" in installed.stderr
    assert (krew.folder / "LICENSE").is_file()
    first = krew.steward("version")
    assert (first.returncode, first.stdout) == (0, f"steward {VERSION}\n"), first.stderr
    says = f"kubectl steward: installing its Python packages into {krew.folder}/python, once\n"
    assert first.stderr.partition("WARNING: Requirements file")[0].startswith(says)
    again = krew.steward("--help")
    assert (again.returncode, again.stderr) == (0, "")
    assert again.stdout.startswith("usage: kubectl steward ")
    assert krew.uninstall().returncode == 0
    assert not krew.folder.parent.exists()
    assert list((krew.home / "krew/bin").iterdir()) == []


def test_another_archive_than_that_of_the_manifest_is_refused(krew: Krew) -> None:
    done = krew.install(manifest(VERSION, b"another"), krew.content)
    assert done.returncode == 1
    assert "checksum" in done.stderr


@pytest.mark.parametrize(
    ("lock", "given", "says"),
    [
        ("", {"STEWARD_PYTHON": "/nowhere/python"}, "Python 3.11 or newer with venv is needed as /nowhere/python; "),
        (
            f"nowhere==1 --hash=sha256:{'0' * 64}\n",
            {"PIP_NO_INDEX": "1"},
            "its Python packages could not be installed: ",
        ),
    ],
)
def test_what_keeps_it_from_its_packages_is_a_sentence(
    lock: str, given: dict[str, str], says: str, krew: Krew, wheel: Path
) -> None:
    content = packed(wheel, krew.home, lock)
    assert krew.install(manifest(VERSION, content), content).returncode == 0
    done = krew.steward("version", **given)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].startswith(f"kubectl steward: {says}")
    assert not (krew.folder / "made-with").exists()
