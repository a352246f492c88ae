"""What a release is: built twice it has the same bytes, and it runs with the locked packages alone."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest

from release.licences import runtime
from release.locks import TOP, pyproject
from tests.waiting import wait_until

pytestmark = pytest.mark.long

EPOCH = 1_700_000_000
VERSION = pyproject()["project"]["version"]
WHEEL = f"kubevirt_steward-{VERSION}-py3-none-any.whl"
ARCHIVE = f"kubevirt_steward-{VERSION}.tar.gz"
FILES = (
    "demo",
    "exporter",
    "reconcile",
    "rules/runbooks",
    "docs/adr",
    "pyproject.toml",
    "README.md",
    "CHANGELOG.md",
    "LICENSE",
)
VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"namespace": "ns", "name": "db", "uid": "u1"},
    "spec": {"template": {"spec": {"domain": {"firmware": {"uuid": "no-uuid"}}}}},
}


def checkout(folder: Path, *, moment: int, umask: int, backwards: bool) -> Path:
    """A copy of the checkout, whose files were made at another time, in another order, with another umask."""
    sources = [path for name in FILES for path in (TOP / name, *sorted((TOP / name).rglob("*"))) if path.is_file()]
    sources = [path for path in sources if "__pycache__" not in path.parts]
    before = os.umask(umask)
    try:
        for source in reversed(sources) if backwards else sources:
            file = folder / source.relative_to(TOP)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source.read_bytes())
            os.utime(file, (moment, moment))
    finally:
        os.umask(before)
    return folder


def build(folder: Path, umask: int) -> dict[str, bytes]:
    """The wheel and the source archive of a checkout, by their names."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", "out"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": str(EPOCH), "TZ": f"UTC{umask}"}
    environment.pop("PYTHONPATH", None)
    done = subprocess.run(command, cwd=folder, env=environment, umask=umask, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_bytes() for path in (folder / "out").iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return build(checkout(tmp_path_factory.mktemp("one"), moment=EPOCH, umask=0o022, backwards=False), 0o022)


def test_the_same_sources_give_the_same_bytes(built: dict[str, bytes], tmp_path: Path) -> None:
    folder = tmp_path / "somewhere else" / "deeper"
    again = build(checkout(folder, moment=EPOCH + 99_999, umask=0o077, backwards=True), 0o077)
    assert sorted(built) == sorted(again) == [WHEEL, ARCHIVE]
    for name, content in built.items():
        assert content == again[name], name


def test_whoever_may_read_the_wheel_may_read_its_files(built: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / WHEEL).write_bytes(built[WHEEL])
    (tmp_path / ARCHIVE).write_bytes(built[ARCHIVE])
    with zipfile.ZipFile(tmp_path / WHEEL) as wheel:
        modes = {each.filename: each.external_attr >> 16 & 0o777 for each in wheel.infolist()}
        assert wheel.infolist()[0].date_time == (2023, 11, 14, 22, 13, 20)
    with tarfile.open(tmp_path / ARCHIVE) as archive:
        modes |= {each.name: each.mode for each in archive if each.isfile()}
    assert {name: mode for name, mode in modes.items() if mode != 0o644} == {}


def test_the_wheel_has_what_is_compiled_of_the_pages_of_checks_and_no_page(built: dict[str, bytes]) -> None:
    with zipfile.ZipFile(io.BytesIO(built[WHEEL])) as wheel:
        names = wheel.namelist()
    assert "exporter/findings/pages.json" in names
    assert [name for name in names if name.startswith("exporter/checks/") and not name.endswith(".py")] == []


@pytest.fixture(scope="module")
def steward(built: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command, installed from the wheel into an environment with the locked packages and nothing else."""
    folder = tmp_path_factory.mktemp("fresh")
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    packages = next((folder / "venv" / "lib").glob("python*/site-packages"))
    for package in runtime():
        for name, path in tops(package.name):
            (packages / name).symlink_to(path)
    (folder / WHEEL).write_bytes(built[WHEEL])
    command = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-index", "--no-deps"]
    subprocess.run([*command, "--no-compile", str(folder / WHEEL)], check=True, capture_output=True)
    return folder / "venv" / "bin" / "steward"


def tops(name: str) -> Iterator[tuple[str, Path]]:
    """The modules, packages and metadata of an installed package, as far as they are its own."""
    found = distribution(name)
    names = {path.parts[0] for path in found.files or ()} - {"..", "__pycache__"}
    return ((each, Path(str(found.locate_file(each)))) for each in sorted(names))


def run(steward: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(steward.parent), "PYTHONWARNINGS": "error"}
    return subprocess.run([steward, *words], cwd=steward.parent, env=environment, capture_output=True, text=True)


def test_the_wheel_says_its_version(steward: Path) -> None:
    said = run(steward, "--version")
    assert (said.returncode, said.stdout, said.stderr) == (0, f"steward {VERSION}\n", "")


def test_the_wheel_is_a_plugin_of_kubectl(steward: Path) -> None:
    said = run(steward.with_name("kubectl-steward"), "--help")
    assert (said.returncode, said.stderr) == (0, "")
    assert said.stdout.startswith("usage: kubectl steward ")


def test_the_wheel_has_the_runbooks_and_the_commands_of_the_sidecar(steward: Path) -> None:
    rules = run(steward, "rules", "render")
    assert f"/blob/v{VERSION}/rules/runbooks/StewardDown.md" in rules.stdout, rules.stderr
    packages = next((steward.parents[1] / "lib").glob("python*/site-packages"))
    assert (packages / "exporter/runbooks/StewardDown.md").is_file()
    assert "kind: ClusterRole" in run(steward, "reconcile", "role", "-n", "monitoring").stdout


def test_the_wheel_checks_a_dump(steward: Path, tmp_path: Path) -> None:
    (tmp_path / "vms.json").write_text(json.dumps(VM), encoding="utf-8")
    checked = run(steward, "check", "--from", str(tmp_path), "--complete", "-o", "json")
    assert checked.returncode == 1, checked.stderr
    found = json.loads(checked.stdout)["findings"]
    assert "InvalidUUID" in {each["reason"] for each in found}


def test_the_wheel_shows_the_demo(steward: Path, tmp_path: Path) -> None:
    command = [str(steward), "demo", "--listen", "127.0.0.1:0", "--pace", "600"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(steward.parent), "PYTHONWARNINGS": "error"}
    said = tmp_path / "said"
    with said.open("w") as out, subprocess.Popen(command, cwd=steward.parent, env=environment, stdout=out) as process:
        try:
            wait_until(lambda: "\nWeb UI: http://127.0.0.1:" in said.read_text(), 60, "the demo says where its page is")
        finally:
            process.terminate()
        assert process.wait(30) == 0
