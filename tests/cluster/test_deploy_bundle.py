"""The bundle for Operator Lifecycle Manager, by its own validators, and against deploy/overlays/openshift."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from copy import deepcopy
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.artifacts import artifact
from tests.case_files import read_yaml
from tests.cluster.conftest import Tools
from tests.cluster.deployed import NAMESPACE, kustomized
from tests.manifests import Object, load_all
from tests.shared import REPO

BUNDLE = artifact("olm")
CSV = "manifests/kubevirt-steward.clusterserviceversion.yaml"


@pytest.fixture
def csv() -> Object:
    (found,) = load_all(BUNDLE / CSV)
    return found


@pytest.fixture
def overlay(binary: Tools) -> dict[tuple[str, str], Object]:
    objects = kustomized(binary("kubectl"), REPO / "deploy/overlays/openshift")
    return {(each["kind"], each["metadata"]["name"]): each for each in objects}


def verify(binary: Path, bundle: Path) -> str:
    """What the validators say, that of OperatorHub too: errors and warnings."""
    command = [str(binary), "manifests", "--object_validate", "--operatorhub_validate", str(bundle / "manifests")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.long
def test_the_validators_of_olm_take_it(binary: Tools, tmp_path: Path) -> None:
    known = (
        "example annotations not found",  # of custom resources, of which there is none
        "APIs which were deprecated",  # by the resource's name: the validator does not look at versions that are served
        'The \\"operatorhub\\" validator is deprecated',
    )
    said = verify(binary("operator-verify"), BUNDLE).splitlines()
    assert said
    assert [line for line in said if not any(each in line for each in known)] == []

    broken = tmp_path / "olm"
    shutil.copytree(BUNDLE, broken)
    text = (broken / CSV).read_text(encoding="utf-8")
    (broken / CSV).write_text(text.replace("mediatype: image/svg", "mediatype: image/none"), encoding="utf-8")
    assert "level=error" in verify(binary("operator-verify"), broken)


def test_olm_starts_what_overlay_openshift_starts(csv: Object, overlay: dict[tuple[str, str], Object]) -> None:
    of_overlay = overlay["Deployment", "steward-exporter"]
    (deployment,) = csv["spec"]["install"]["spec"]["deployments"]
    for spec in (of_overlay["spec"], deployment["spec"]):
        spec["template"]["spec"]["volumes"].sort(key=lambda each: str(each["name"]))
    wanted = {"label": of_overlay["metadata"]["labels"], "spec": of_overlay["spec"]}
    assert deployment == {"name": "steward-exporter", **wanted}


def test_olm_grants_what_the_overlay_binds(csv: Object, overlay: dict[tuple[str, str], Object]) -> None:
    bindings = [each for (kind, _), each in overlay.items() if kind == "ClusterRoleBinding"]
    bound = {"steward-exporter": "steward-exporter", "steward-scraper": "default"}  # its ServiceAccount here and there
    wanted = {
        bound[account]: sorted(
            str(rule)
            for each in bindings
            if each["subjects"][0]["name"] == account
            for rule in overlay["ClusterRole", each["roleRef"]["name"]]["rules"]
        )
        for account in bound
    }
    granted = csv["spec"]["install"]["spec"]["clusterPermissions"]
    assert {each["serviceAccountName"]: sorted(map(str, each["rules"])) for each in granted} == wanted


def test_olm_applies_what_the_overlay_has_of_everything_else(overlay: dict[tuple[str, str], Object]) -> None:
    compared = set()
    for file in sorted((BUNDLE / "manifests").iterdir()):
        (each,) = load_all(file)
        key = each["kind"], each["metadata"]["name"]
        if each["kind"] in ("ClusterServiceVersion", "Secret"):
            continue
        wanted = deepcopy(overlay[key])
        assert wanted["metadata"].pop("namespace", NAMESPACE) == NAMESPACE
        assert each == wanted, key
        compared.add(key)
    # The Deployment and what binds its ServiceAccount are in the ClusterServiceVersion; dashboards are elsewhere.
    left = {key for key in overlay if key not in compared and overlay[key]["metadata"].get("namespace") == NAMESPACE}
    assert {kind for kind, _ in left} == {"Deployment", "NetworkPolicy", "Secret", "ServiceAccount"}


def test_the_token_of_the_bundle_is_of_a_service_account_that_is_there_before(csv: Object) -> None:
    (secret,) = load_all(BUNDLE / "manifests/steward-scraper-token.secret.yaml")
    account = secret["metadata"]["annotations"]["kubernetes.io/service-account.name"]
    (permissions,) = (
        each
        for each in csv["spec"]["install"]["spec"]["clusterPermissions"]
        if each["serviceAccountName"] == account == "default"
    )
    assert permissions["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]


def test_a_catalog_has_what_it_shows(csv: Object) -> None:
    annotations, spec = csv["metadata"]["annotations"], csv["spec"]
    assert annotations["operatorframework.io/cluster-monitoring"] == "true"
    assert datetime.fromisoformat(annotations["createdAt"]).tzinfo is not None
    template = json.loads(annotations["operatorframework.io/suggested-namespace-template"])
    assert template["metadata"]["labels"] == {"openshift.io/cluster-monitoring": "true"}
    assert template["metadata"]["name"] == annotations["operatorframework.io/suggested-namespace"] == NAMESPACE
    assert annotations["olm.skipRange"] == f">=0.0.0 <{spec['version']}"
    required = ("disconnected", "fips-compliant", "proxy-aware", "tls-profiles", "token-auth-aws", "token-auth-azure")
    features = {key.rpartition("/")[2] for key in annotations if key.startswith("features.operators.openshift.io/")}
    assert features >= {*required, "token-auth-gcp"}
    (icon,) = spec["icon"]
    assert ElementTree.fromstring(base64.b64decode(icon["base64data"])).tag == "{http://www.w3.org/2000/svg}svg"
    assert [set(each) for each in spec["maintainers"]] == [{"name", "email"}]
    assert spec["relatedImages"] == [{"name": "steward", "image": annotations["containerImage"]}]


def test_labels_of_the_image_are_the_annotations() -> None:
    annotations = read_yaml((BUNDLE / "metadata/annotations.yaml").read_text(encoding="utf-8"))["annotations"]
    lines = (BUNDLE / "bundle.Containerfile").read_text(encoding="utf-8").splitlines()
    assert [line.removeprefix("LABEL ") for line in lines if line.startswith("LABEL ")] == [
        f"{key}={value}" for key, value in annotations.items()
    ]
