"""Everything in deploy/ is what a real API server takes: every kustomization, and the chart with the same choices."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path

import pytest
import yaml

from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer, Tools
from tests.cluster.custom_resources import install
from tests.cluster.deployed import NAMESPACE, VARIANTS, charted, kustomized
from tests.cluster.resources import CLUSTER_ROLES, CONFIG_MAPS, DEPLOYMENTS
from tests.manifests import Object, load_all
from tests.shared import REPO
from tests.tools.crds import published

DEPLOY = REPO / "deploy"
CERT_MANAGER = Path(__file__).parent / "cert_manager_crds.yaml"
Apply = Callable[[list[Object]], subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    """One with the CRDs that the variants ask for, and the namespaces that they go into."""
    server = module_api_server(with_crds=False)
    client = server.client()
    install(client, [*published("prometheus-operator"), *load_all(CERT_MANAGER)])
    (namespace,) = load_all(DEPLOY / "base/namespace.yaml")
    client.create(namespace)
    for name in ("openshift-config-managed", "shop"):
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return server


@pytest.fixture
def apply(server: ApiServer, binary: Tools) -> Apply:
    """`apply(objects)`: as kubectl sends them, server-side, validated strictly, as a dry run."""
    account = f"--kubeconfig={server.kubeconfig('admin')}"
    how = ("--server-side", "--dry-run=server", "--validate=strict")

    def run(objects: list[Object]) -> subprocess.CompletedProcess[str]:
        command = [str(binary("kubectl")), account, "apply", *how, "-f", "-"]
        listed = {"apiVersion": "v1", "kind": "List", "items": objects}
        return subprocess.run(command, input=json.dumps(listed), capture_output=True, text=True, check=False)

    return run


def pods_of(objects: list[Object]) -> list[Object]:
    """The Pods that the Deployments would make: of them PodSecurity speaks, of a Deployment it only warns."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {key: each["metadata"][key] for key in ("name", "namespace")},
            "spec": each["spec"]["template"]["spec"],
        }
        for each in objects
        if each["kind"] == "Deployment"
    ]


@pytest.mark.parametrize("way", ["kustomize", "helm"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_cluster_takes_it_without_a_warning(
    variant: str, way: str, apply: Apply, binary: Tools, tmp_path: Path
) -> None:
    if way == "helm":
        objects = charted(binary("helm"), VARIANTS[variant], tmp_path)
    else:
        objects = kustomized(binary("kubectl"), DEPLOY / variant)
    pods = pods_of(objects)
    done = apply([*objects, *pods])
    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.splitlines()) == len(objects) + len(pods)


@pytest.mark.parametrize("variant", ["overlays/repairs", "overlays/repairs-one-pod"])
def test_pod_security_speaks_of_what_is_lax(variant: str, apply: Apply, binary: Tools) -> None:
    for pod in pods_of(kustomized(binary("kubectl"), DEPLOY / variant)):
        for kind in ("initContainers", "containers"):
            for index in range(len(pod["spec"].get(kind, ()))):
                lax = deepcopy(pod)
                del lax["spec"][kind][index]["securityContext"]["allowPrivilegeEscalation"]
                done = apply([lax])
                assert 'violates PodSecurity "restricted' in done.stderr


def test_the_example_of_a_tenant_is_taken(apply: Apply, binary: Tools, tmp_path: Path) -> None:
    objects = kustomized(binary("kubectl"), DEPLOY / "overlays/tenant")
    assert apply(objects).stderr == ""
    (binding,) = (each for each in objects if each["kind"] == "RoleBinding")
    assert (binding["metadata"]["namespace"], binding["subjects"][0]["name"]) == ("shop", "shop-team")
    charts = charted(binary("helm"), {"tenants": [{"namespace": "shop", "group": "shop-team"}]}, tmp_path)
    made = {each["kind"]: each for each in charts if each["metadata"].get("namespace") == "shop"}
    assert made["RoleBinding"]["subjects"] == binding["subjects"]
    assert {kind: each["metadata"]["name"] for kind, each in made.items()} == {
        each["kind"]: each["metadata"]["name"] for each in objects
    }


def test_one_command_installs_it_with_nothing_but_kubernetes(own_api_server: MakeApiServer, binary: Tools) -> None:
    server = own_api_server(with_crds=False)
    command = [
        str(binary("kubectl")),
        f"--kubeconfig={server.kubeconfig('admin')}",
        "apply",
        "-k",
        str(DEPLOY / "base"),
    ]
    for said in ("created", "unchanged"):  # applied again it changes nothing
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, "")
        assert {line.rpartition(" ")[2] for line in done.stdout.splitlines()} == {said}
    client = server.client()
    deployment = client.get(DEPLOYMENTS, NAMESPACE, "steward-exporter")
    assert deployment["spec"]["template"]["spec"]["automountServiceAccountToken"] is True
    mounted = deployment["spec"]["template"]["spec"]["volumes"][0]["configMap"]["name"]
    assert client.find(CONFIG_MAPS, NAMESPACE, mounted)
    assert {"steward-access", "steward-exporter", "steward-metrics-reader", "steward-viewer"} <= {
        each["metadata"]["name"] for each in client.list(CLUSTER_ROLES)["items"]
    }


ONE_POD = [
    (("ha", "reconcile-one-pod"), "spec/strategy/type|spec/replicas"),
    (("reconcile-one-pod", "ha"), "spec/strategy/type|spec/replicas"),
    (("cert-manager", "reconcile-one-pod"), "initContainers"),
    (("reconcile-one-pod", "cert-manager"), "serviceAccountName"),
    (("prometheus-operator", "reconcile-one-pod", "openshift"), "serviceAccountName"),
    (("certificate", "reconcile-one-pod"), "initContainers"),
    (("cert-manager", "certificate"), "initContainers"),
]


@pytest.mark.parametrize(("order", "said"), ONE_POD, ids=lambda each: "-".join(each) if isinstance(each, tuple) else "")
def test_one_pod_refuses_what_it_can_not_be_built_with(
    order: tuple[str, ...], said: str, binary: Tools, tmp_path: Path
) -> None:
    """Two replicas would want one ledger; where certificates can be verified there are two pods."""
    done = together(order, binary, tmp_path)
    assert done.returncode != 0
    assert re.search(rf"components/{order[-1]}\S*: .*test.*({said})", done.stderr), done.stderr


def test_one_pod_has_the_certificate_of_a_job_for_both_of_its_ports(binary: Tools, tmp_path: Path) -> None:
    done = together(("prometheus-operator", "reconcile-one-pod", "certificate"), binary, tmp_path)
    assert done.returncode == 0, done.stderr
    made = {each["kind"]: each for each in yaml.safe_load_all(done.stdout)}
    words = made["Job"]["spec"]["template"]["spec"]["containers"][0]["args"]
    named = {word.removeprefix("--name=") for word in words if word.startswith("--name=")}
    asked = {each["tlsConfig"]["serverName"] for each in made["ServiceMonitor"]["spec"]["endpoints"]}
    assert asked == {"steward-exporter", "steward-reconcile"} & named


def test_with_two_replicas_of_the_exporter_there_is_one_sidecar(binary: Tools, tmp_path: Path) -> None:
    done = together(("cert-manager", "reconcile", "ha"), binary, tmp_path)
    assert done.returncode == 0, done.stderr
    made = [each for each in yaml.safe_load_all(done.stdout) if each["kind"] == "Deployment"]
    assert {each["metadata"]["name"]: each["spec"]["replicas"] for each in made} == {
        "steward-exporter": 2,
        "steward-reconcile": 1,
    }


@pytest.mark.parametrize("overlay", ["repairs", "repairs-one-pod", "openshift-repairs"])
def test_a_kustomization_over_an_overlay_has_its_own_configuration_of_the_sidecar(
    overlay: str, binary: Tools, tmp_path: Path
) -> None:
    shutil.copytree(DEPLOY, tmp_path / "deploy", ignore=shutil.ignore_patterns("templates"))
    shutil.copytree(REPO / "dashboards", tmp_path / "dashboards")
    (tmp_path / "reconcile.yaml").write_text("mode: approve\n", encoding="utf-8")
    own = {"name": "steward-reconcile", "namespace": NAMESPACE, "behavior": "replace", "files": ["reconcile.yaml"]}
    parts = {"resources": [f"deploy/overlays/{overlay}"], "configMapGenerator": [own]}
    (tmp_path / "kustomization.yaml").write_text(json.dumps(parts), encoding="utf-8")
    objects = kustomized(binary("kubectl"), tmp_path)
    (made,) = (each for each in objects if each["metadata"]["name"].startswith("steward-reconcile-") and "data" in each)
    assert made["data"] == {"reconcile.yaml": "mode: approve\n"}
    specs = [each["spec"]["template"]["spec"] for each in objects if each["kind"] == "Deployment"]
    mounted = {volume["configMap"]["name"] for spec in specs for volume in spec["volumes"] if "configMap" in volume}
    assert made["metadata"]["name"] in mounted


def together(components: tuple[str, ...], binary: Tools, folder: Path) -> subprocess.CompletedProcess[str]:
    """deploy/base with components in an order, built in a copy of deploy/."""
    shutil.copytree(DEPLOY, folder / "deploy", ignore=shutil.ignore_patterns("templates"))
    parts = {"resources": ["deploy/base"], "components": [f"deploy/components/{each}" for each in components]}
    (folder / "kustomization.yaml").write_text(json.dumps(parts), encoding="utf-8")
    command = [str(binary("kubectl")), "kustomize", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
