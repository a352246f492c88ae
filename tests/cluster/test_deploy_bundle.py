"""The bundle for Operator Lifecycle Manager, by its own validator, and against deploy/base."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.case_files import read_yaml
from tests.cluster.conftest import Tools
from tests.cluster.deployed import kustomized
from tests.manifests import Object, load_all
from tests.shared import REPO

BUNDLE = REPO / "deploy/olm"
CSV = "manifests/kubevirt-steward.clusterserviceversion.yaml"


@pytest.fixture
def csv() -> Object:
    (found,) = load_all(BUNDLE / CSV)
    return found


def verify(binary: Path, bundle: Path) -> str:
    """What the validator says: errors and warnings."""
    command = [str(binary), "manifests", "--object_validate", str(bundle / "manifests")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_the_validator_of_olm_takes_it(binary: Tools, tmp_path: Path) -> None:
    said = verify(binary("operator-verify"), BUNDLE).splitlines()
    assert len(said) == 1
    assert "example annotations not found" in said[0]  # of custom resources, of which there is none

    broken = tmp_path / "olm"
    shutil.copytree(BUNDLE, broken)
    text = (broken / CSV).read_text(encoding="utf-8")
    (broken / CSV).write_text(text.replace("minKubeVersion: 1", "minKubeVersion: x"), encoding="utf-8")
    assert "level=error" in verify(binary("operator-verify"), broken)


def test_olm_starts_what_the_base_starts(csv: Object, binary: Tools) -> None:
    objects = kustomized(binary("kubectl"), REPO / "deploy/base")
    (base,) = (each for each in objects if each["kind"] == "Deployment")
    (deployment,) = csv["spec"]["install"]["spec"]["deployments"]
    assert deployment == {"name": "steward-exporter", "label": base["metadata"]["labels"], "spec": base["spec"]}


def test_olm_grants_what_the_base_binds(csv: Object, binary: Tools) -> None:
    objects = kustomized(binary("kubectl"), REPO / "deploy/base")
    roles = {each["metadata"]["name"]: each for each in objects if each["kind"] == "ClusterRole"}
    bound = [each["roleRef"]["name"] for each in objects if each["kind"] == "ClusterRoleBinding"]
    (granted,) = csv["spec"]["install"]["spec"]["clusterPermissions"]
    assert granted["serviceAccountName"] == "steward-exporter"
    assert sorted(map(str, granted["rules"])) == sorted(str(rule) for name in bound for rule in roles[name]["rules"])


def test_labels_of_the_image_are_the_annotations() -> None:
    annotations = read_yaml((BUNDLE / "metadata/annotations.yaml").read_text(encoding="utf-8"))["annotations"]
    lines = (BUNDLE / "bundle.Containerfile").read_text(encoding="utf-8").splitlines()
    assert [line.removeprefix("LABEL ") for line in lines if line.startswith("LABEL ")] == [
        f"{key}={value}" for key, value in annotations.items()
    ]
