"""`make image PUSH=…`: what is pushed to a real registry is what was built, by the digest that is printed."""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import tarfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from image.oci import Layer, write
from image.push import push_archive, repository
from tests.cluster.conftest import Tools
from tests.cluster.process import Process, answers, free_ports

MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@pytest.fixture(scope="module")
def registry(binary: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if shutil.which("skopeo") is None:
        pytest.fail("there is no skopeo; on Debian install the package of that name", pytrace=False)
    (port,) = free_ports(1)
    running = Process("registry", [binary("registry"), f"-port={port}"], tmp_path_factory.mktemp("registry") / "log")
    running.start(lambda: answers(f"http://127.0.0.1:{port}/v2/"))
    yield f"localhost:{port}"
    running.kill()


def archive(folder: Path) -> Path:
    (folder / "root").mkdir()
    (folder / "root/hello").write_text("hello\n", encoding="utf-8")
    file = folder / "image.oci.tar"
    labels = {"org.opencontainers.image.version": "1.2.3"}
    write(file, [Layer(folder / "root", Path("opt"))], {"Labels": labels}, 1_700_000_000)
    return file


def built(file: Path) -> str:
    """The digest of the image in an archive."""
    with tarfile.open(file) as tar:
        index = tar.extractfile("index.json")
        assert index is not None
        (entry,) = json.load(index)["manifests"]
        return str(entry["digest"])


def test_what_is_pushed_is_what_was_built_and_is_named_by_its_digest(registry: str, tmp_path: Path) -> None:
    file, to = archive(tmp_path), f"{registry}/team/kubevirt-steward"
    said = push_archive(file, to, "1.2.3", verify=False)
    digest = built(file)
    assert said.splitlines()[0] == f"pushed {to}:1.2.3@{digest}"
    (named,) = yaml.safe_load(
        "\n".join(line for line in said.splitlines() if line.startswith("  ") and "--" not in line)
    )
    assert named == {"name": "kubevirt-steward", "newName": to, "digest": digest}
    assert f"--set image.repository={to} --set image.digest={digest}" in said
    for reference in ("1.2.3", digest):
        url = f"http://{registry}/v2/team/kubevirt-steward/manifests/{reference}"
        with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": MANIFEST})) as answer:
            assert f"sha256:{hashlib.sha256(answer.read()).hexdigest()}" == digest


def test_a_registry_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        push_archive(archive(tmp_path), f"localhost:{free_ports(1)[0]}/kubevirt-steward", "1.2.3", verify=False)


@pytest.mark.parametrize(
    "name",
    ["registry.example/kubevirt-steward", "localhost:5000/a", "registry.example:5000/team/a-b/c_d", "reg:5000/a"],
)
def test_a_repository_is_a_registry_and_a_path(name: str) -> None:
    assert repository(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "kubevirt-steward",
        "team/steward",
        "registry.example",
        "registry.example/A",
        "registry.example/a:1.2",
        "a.b/c@sha256:1",
    ],
)
def test_what_is_no_repository_is_refused_before_anything_is_built(name: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="REGISTRY/PATH"):
        repository(name)
