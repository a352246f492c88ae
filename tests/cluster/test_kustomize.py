"""What `plan -o kustomize` proposes is taken by kustomize, and what comes of it has the effect of the plan."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from exporter.facts.firmware import legacy
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer, Tools
from tests.cluster.resources import KUBEVIRTS, VMS
from tests.cluster.sidecar import steward
from tests.cluster.test_repairs import KUBEVIRT
from tests.manifests import Object

pytestmark = pytest.mark.long

GATES = ["spec", "configuration", "developerConfiguration", "featureGates"]


@dataclass
class Repository:
    """The manifests of a VM and of KubeVirt in a directory, and applied by Argo CD and Flux, as far as one sees."""

    client: Client
    kubectl: Path
    kubeconfig: Path
    namespace: str
    folder: Path

    def __post_init__(self) -> None:
        vm = fleet.vm(self.namespace, "db", firmware={})
        tracked = f"shop:kubevirt.io/VirtualMachine:{self.namespace}/db"
        vm["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": tracked}
        vm.pop("status", None)
        gates = {"configuration": {"developerConfiguration": {"featureGates": ["HostDisk", "LiveMigration"]}}}
        flux = {f"kustomize.toolkit.fluxcd.io/{key}": "infra" for key in ("name", "namespace")}
        meta = {"namespace": "kubevirt", "name": "kubevirt", "labels": flux}
        kubevirt = {**{key: KUBEVIRT[key] for key in ("apiVersion", "kind")}, "metadata": meta, "spec": gates}
        self.manifests = {"vm.yaml": vm, "kubevirt.yaml": kubevirt}
        for name in self.manifests:
            self.write(name)
        for each, manager in ((vm, "argocd-controller"), (kubevirt, "kustomize-controller")):
            self.client.apply(each, manager=manager)
        made = self.client.get(KUBEVIRTS, "kubevirt", "kubevirt")
        self.client.update_status({**made, "status": KUBEVIRT["status"]})

    def write(self, name: str) -> None:
        (self.folder / name).write_text(json.dumps(self.manifests[name]), encoding="utf-8")

    def plan(self, *words: str) -> str:
        done = steward("reconcile", "plan", *words, "--kubeconfig", str(self.kubeconfig))
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def built(self, more: str) -> subprocess.CompletedProcess[str]:
        """What kustomize makes of the manifests with something more in the kustomization."""
        text = f"resources: {json.dumps([*self.manifests])}\n{more}"
        (self.folder / "kustomization.yaml").write_text(text, encoding="utf-8")
        return subprocess.run([self.kubectl, "kustomize", self.folder], capture_output=True, text=True, timeout=60)


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = module_api_server()
    made.client().create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
    return made


@pytest.fixture
def repository(server: ApiServer, binary: Tools, tmp_path: Path) -> Iterator[Repository]:
    name = f"git-{uuid.uuid4().hex[:8]}"
    client = server.client()
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    folder = tmp_path / "repository"
    folder.mkdir()
    yield Repository(client, binary("kubectl"), server.kubeconfig("admin"), name, folder)
    client.remove(VMS, name, "db")  # what is planned is of all namespaces
    client.remove(KUBEVIRTS, "kubevirt", "kubevirt")


def proposals(repository: Repository) -> list[Object]:
    found: list[Object] = json.loads(repository.plan("-o", "json"))
    return found


def gates(whole: Any) -> Any:
    for name in GATES:
        whole = whole[name]
    return whole


def test_kustomize_takes_the_patches_and_they_have_the_effect_of_the_plans(repository: Repository) -> None:
    found = proposals(repository)
    assert [(each["remediation"], each.get("refused")) for each in found] == [
        ("clean_feature_gates", None),
        ("persist_firmware_uuid", None),
    ]
    directory = repository.folder / "steward"
    said = repository.plan("-o", "kustomize", "--directory", str(directory))
    assert said.startswith(f"{directory / 'kustomization.yaml'} has a component with:\n")
    snippet = repository.plan("-o", "kustomize")
    assert "# owner: Argo CD application `shop`" in snippet
    assert "# owner: Flux Kustomization `infra/infra`" in snippet
    assert f"# field /{'/'.join(GATES)}: written by kustomize-controller" in snippet
    assert "above it: written by argocd-controller" in snippet

    made = repository.built("components: [steward]\n")
    assert made.returncode == 0, made.stderr
    inline = repository.built(snippet)
    assert inline.returncode == 0, inline.stderr
    assert list(yaml.safe_load_all(inline.stdout)) == list(yaml.safe_load_all(made.stdout))

    for each in yaml.safe_load_all(made.stdout):
        manager = "argocd-controller" if each["kind"] == "VirtualMachine" else "kustomize-controller"
        repository.client.apply(each, manager=manager)
    vm = repository.client.get(VMS, repository.namespace, "db")
    assert vm["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"] == legacy("db")
    assert gates(repository.client.get(KUBEVIRTS, "kubevirt", "kubevirt")) == ["HostDisk"]
    assert proposals(repository) == []


def test_a_manifest_that_says_something_else_fails_loudly(repository: Repository) -> None:
    snippet = repository.plan("-o", "kustomize")
    other = repository.manifests["kubevirt.yaml"]
    gates(other).append("Snapshot")
    repository.write("kubevirt.yaml")
    made = repository.built(snippet)
    assert made.returncode != 0
    assert "featureGates" in made.stderr

    gates(other).pop()
    repository.write("kubevirt.yaml")
    repository.manifests["vm.yaml"]["metadata"]["name"] = "another"
    repository.write("vm.yaml")
    made = repository.built(snippet)
    assert made.returncode != 0
    assert "no resource matches" in made.stderr or "no matches" in made.stderr
