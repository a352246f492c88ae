"""The image by itself: what is in it, what is not, and a container of it without any cluster."""

from __future__ import annotations

import tarfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.image.conftest import FILE
from tests.image.runtime import Container, How, Image
from tests.shared import REPO

IMPORTS = """
import exporter, pkgutil, reconcile, ssl
from importlib import import_module
from zoneinfo import ZoneInfo
for package in (exporter, reconcile):
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.name.endswith("__main__"):
            import_module(found.name)
ZoneInfo("Europe/Vienna")
print(len(ssl.create_default_context().get_ca_certs()))
"""


def entries(image: Image) -> Iterator[tarfile.TarInfo]:
    for layer in image.layers:
        with tarfile.open(layer) as tar:
            yield from tar


def test_it_has_no_shell_no_package_manager_and_no_compiler(image: Image) -> None:
    found = {entry.name.rpartition("/")[2] for entry in entries(image) if "/bin/" in f"/{entry.name}"}
    assert found == {"python", "python3", "python3.13", "steward"}
    packages = {path.name for path in image.root.glob("opt/kubevirt-steward/lib/python3*/site-packages/*")}
    assert not packages & {"pip", "setuptools", "wheel"}


def test_all_files_are_root_s_and_none_is_writable_or_set_user_id(image: Image) -> None:
    for entry in entries(image):
        assert (entry.uid, entry.gid) == (0, 0), entry.name
        assert not entry.mode & 0o6000, entry.name
        assert entry.issym() or not entry.mode & 0o022 or entry.name == "tmp", entry.name


def test_its_packages_and_its_version_are_on_it(image: Image) -> None:
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert image.config["Labels"]["org.opencontainers.image.version"] == project["version"]
    listed = {path.name for path in image.root.glob("var/lib/dpkg/status.d/*")}
    assert listed == set((REPO / "image/packages.txt").read_text(encoding="utf-8").split())


def test_every_module_is_there_as_byte_code(image: Image) -> None:
    sources = [path for path in image.root.rglob("*.py") if not path.is_symlink()]
    assert len(sources) > 1000
    assert [path for path in sources if not [*path.parent.glob(f"__pycache__/{path.stem}.cpython-*.pyc")]] == []


def test_it_stays_below_50_megabytes(image: Image) -> None:
    assert FILE.stat().st_size < 50_000_000


def test_all_that_the_steward_imports_is_there(image: Image, tmp_path: Path) -> None:
    python = "/opt/kubevirt-steward/bin/python"
    container = Container(image, How([python, "-c", IMPORTS], read_only=True, drops_all=True), "imports", tmp_path)
    assert container.run(120) == 0, container.says()
    assert int(container.says()) > 100  # authorities that a webhook's or Alertmanager's certificate may be of


@pytest.mark.parametrize("user", [(65532, 65532), (1000660000, 0)])
def test_it_runs_as_any_user(image: Image, tmp_path: Path, user: tuple[int, int]) -> None:
    """OpenShift chooses one who is in no list of users."""
    container = Container(image, How(["steward", "--version"], user=user, read_only=True), "version", tmp_path)
    assert container.run() == 0, container.says()
    assert container.says().strip().endswith(image.config["Labels"]["org.opencontainers.image.version"])


def test_the_demo_is_not_in_it(image: Image, tmp_path: Path) -> None:
    container = Container(image, How(["steward", "demo"], read_only=True), "demo", tmp_path)
    assert container.run() == 2
    assert "no command is called 'demo'" in container.says()
