"""docs/gitops.md: an API server with their CRDs takes what Argo CD and Flux are given, and what they would make of it.

Neither of the two is here: what they do with it, a kustomization or `helm template`, is done by kubectl and Helm.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.locks import pyproject
from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer, Tools
from tests.cluster.custom_resources import install
from tests.cluster.deployed import NAMESPACE, charted, kustomized
from tests.manifests import Object, load_all
from tests.manuals import blocks_of
from tests.shared import REPO
from tests.tools.crds import published

CRDS = Path(__file__).parent / "gitops_crds.yaml"
UPSTREAM = "https://github.com/kubevirt-steward/kubevirt-steward"
TAG = f"v{pyproject()['project']['version']}"
OBJECTS: list[Object] = [
    each
    for block in blocks_of(REPO / "docs/gitops.md")
    for each in yaml.safe_load_all(block.text)
    if isinstance(each, dict)
]


def of_kind(kind: str) -> list[Object]:
    return [each for each in OBJECTS if each["kind"] == kind]


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    server = module_api_server(with_crds=False)
    client = server.client()
    install(client, [*load_all(CRDS), *published("prometheus-operator")])
    for name in ("argocd", "flux-system", NAMESPACE):
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return server


def applied(server: ApiServer, kubectl: Path, objects: list[Object]) -> tuple[int, str]:
    """As a dry run, validated strictly: the exit code, and what kubectl says besides."""
    command = [str(kubectl), f"--kubeconfig={server.kubeconfig('admin')}", "apply", "--server-side", "--dry-run=server"]
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    done = subprocess.run([*command, "--validate=strict", "-f", "-"], input=listed, capture_output=True, text=True)
    return done.returncode, done.stderr


def test_an_api_server_with_their_crds_takes_each_object(server: ApiServer, binary: Tools) -> None:
    kinds = [each["kind"] for each in OBJECTS]
    assert sorted(kinds) == [
        *("Application", "Application", "GitRepository", "GitRepository", "HelmRelease", "Kustomization", "Namespace")
    ]
    assert applied(server, binary("kubectl"), OBJECTS) == (0, "")


def test_a_field_that_there_is_not_would_be_refused(server: ApiServer, binary: Tools) -> None:
    (release,) = of_kind("HelmRelease")
    wrong = {**release, "spec": {**release["spec"], "chartName": "steward"}}
    code, said = applied(server, binary("kubectl"), [wrong])
    assert code == 1
    assert 'unknown field "chartName"' in said


def charts() -> list[tuple[str, str, Any]]:
    """Where each chart is, of which release, and its values."""
    found = []
    for application in of_kind("Application"):
        source = application["spec"]["source"]
        if "helm" in source:
            assert source["repoURL"] == UPSTREAM
            found.append((source["path"], source["targetRevision"], source["helm"]["valuesObject"]))
    (release,) = of_kind("HelmRelease")
    chart = release["spec"]["chart"]["spec"]
    (source,) = (each for each in of_kind("GitRepository") if each["metadata"]["name"] == chart["sourceRef"]["name"])
    assert source["spec"]["url"] == UPSTREAM
    found.append((chart["chart"], source["spec"]["ref"]["tag"], release["spec"]["values"]))
    return found


def test_a_chart_with_these_values_is_what_the_server_takes(server: ApiServer, binary: Tools, tmp_path: Path) -> None:
    assert len(charts()) == 2
    for path, tag, values in charts():
        assert (REPO / path / "Chart.yaml").is_file()
        assert tag == TAG
        objects = charted(binary("helm"), values, tmp_path)
        assert {"ServiceMonitor", "PrometheusRule", "Deployment"} <= {each["kind"] for each in objects}
        (deployment,) = (each for each in objects if each["kind"] == "Deployment")
        (container,) = deployment["spec"]["template"]["spec"]["containers"]
        assert container["image"].startswith("registry.example/kubevirt-steward:")
        assert applied(server, binary("kubectl"), objects) == (0, "")


def test_the_kustomization_of_the_own_repository_builds(binary: Tools, tmp_path: Path) -> None:
    """That of docs/install.md, with the release's folders in place of what kustomize would download."""
    (block,) = (each for each in blocks_of(REPO / "docs/install.md") if "kind: Kustomization" in each.text)
    assert block.text.count(f"{UPSTREAM}//deploy/") == block.text.count(f"?ref={TAG}\n") == 4
    (tmp_path / "deploy").symlink_to(REPO / "deploy")
    folder = tmp_path / "kubevirt-steward"
    folder.mkdir()
    digest = f"sha256:{'0' * 64}"
    text = block.text.replace(f"{UPSTREAM}//", "../").replace(f"?ref={TAG}", "").replace("sha256:…", digest)
    (folder / "kustomization.yaml").write_text(text, encoding="utf-8")
    (folder / "config.yaml").write_text("{}\n", encoding="utf-8")
    objects = kustomized(binary("kubectl"), folder)
    images = {
        container["image"]
        for each in objects
        if each["kind"] == "Deployment"
        for container in each["spec"]["template"]["spec"]["containers"]
    }
    assert images == {f"registry.example/kubevirt-steward@{digest}"}
