"""The runbooks of the steward's own alerts, followed as they are written: on a real API server, with the exporter's
ServiceAccount and what `deploy/base/exporter` grants it. No pod runs there: `steward` runs here, with its token.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.case_files import read_yaml
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import ApiError, Client
from tests.cluster.conftest import MakeApiServer, Tools
from tests.cluster.exporter import ROLE, Exporter, without
from tests.cluster.resources import CRDS
from tests.cluster.shell import Shell
from tests.cluster.walk import Walk
from tests.manifests import Object
from tests.rules import RULES, steps
from tests.shared import REPO
from tests.waiting import wait_until

pytestmark = pytest.mark.long

STEWARD = "kubevirt-steward"
Follow = Callable[..., Walk]


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = module_api_server()
    client = made.client()
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": STEWARD}})
    for name in ("serviceaccount", "clusterrole", "clusterrolebinding", "deployment"):
        obj = read_yaml((REPO / f"deploy/base/exporter/{name}.yaml").read_text(encoding="utf-8"))
        if name in ("serviceaccount", "deployment"):
            obj["metadata"]["namespace"] = STEWARD
        for subject in obj.get("subjects", ()):
            subject["namespace"] = STEWARD  # as kustomize does
        client.apply(obj)
    return made


@pytest.fixture
def cluster(server: ApiServer) -> Iterator[Client]:
    """The admin's client; what a test takes from the role is put back."""
    client = server.client()
    yield client
    client.apply(read_yaml(ROLE.read_text(encoding="utf-8")))


@pytest.fixture
def kubeconfig(server: ApiServer, binary: Tools) -> Path:
    """That of the exporter's ServiceAccount."""
    command = [f"{binary('kubectl')}", f"--kubeconfig={server.kubeconfig('admin')}", "create", "token", "-n", STEWARD]
    token = subprocess.run([*command, "steward-exporter"], capture_output=True, text=True, check=True).stdout
    return server.kubeconfig("system:serviceaccount", token.strip())


@pytest.fixture
def follow(server: ApiServer, binary: Tools, kubeconfig: Path, tmp_path: Path) -> Follow:
    """`follow("StewardBlind", NAME="Pod")`: the way through a runbook, with the values of what is to be filled in."""
    (tmp_path / "deploy").symlink_to(REPO / "deploy")
    environment = ["env", f"KUBECONFIG={kubeconfig}", f"STEWARD_CONFIG={tmp_path}/config.yaml"]
    shell = Shell(binary("kubectl"), server, [*environment, sys.executable, "-m", "exporter"], tmp_path)

    def walk(alert: str, **values: str) -> Walk:
        return Walk(steps(RULES / f"runbooks/{alert}.md"), shell, {"NAMESPACE": STEWARD, **values})

    (tmp_path / "config.yaml").write_text("logLevel: error\n", encoding="utf-8")
    return walk


def take_permission(client: Client, plural: str) -> None:
    client.apply(without(read_yaml(ROLE.read_text(encoding="utf-8")), plural))


def test_a_permission_that_is_gone_comes_back_by_the_runbook(cluster: Client, follow: Follow, kubeconfig: Path) -> None:
    take_permission(cluster, "ipamclaims")
    blind = follow("StewardBlind", NAME="IPAMClaim")
    unknown = follow("StewardCheckUnknown", CHECK="ipam_claims")
    unready = follow("StewardNotReady")
    with Exporter(kubeconfig) as exporter:
        exporter.wait_state("IPAMClaim", "forbidden")
        for walk in (blind, unknown, unready):
            walk.diagnose()
            assert not walk.verified()

        blind.act("kubectl apply")

        exporter.wait_ready()
        exporter.wait_state("IPAMClaim", "live")
    for walk in (blind, unknown, unready):
        assert walk.verified()


def test_an_object_that_can_t_be_decoded_is_found_read_and_corrected(cluster: Client, follow: Follow) -> None:
    loosen(cluster, "ipamclaims.k8s.cni.cncf.io")
    name = "undecodable"
    cluster.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    made = cluster.create(
        {
            "apiVersion": "k8s.cni.cncf.io/v1alpha1",
            "kind": "IPAMClaim",
            "metadata": {"namespace": name, "name": "db.blue"},
            "spec": {"network": "blue", "interface": ""},
        }
    )
    odd = {**made, "status": {"ips": "10.0.0.5/24"}}
    claim = wait_until(lambda: taken(cluster, odd), 30, "the API server goes by the changed CRD")
    undecodable = follow(
        "StewardObjectUndecodable", KIND="IPAMClaim", NAMESPACEOFTHEOBJECT=name, NAMEOFTHEOBJECT="db.blue"
    )
    unknown = follow("StewardCheckUnknown", CHECK="ipam_claims")
    for walk in (undecodable, unknown):
        walk.diagnose()
        assert not walk.verified()

    cluster.update_status({**claim, "status": {"ips": ["10.0.0.5/24"]}})  # as its owner does

    assert undecodable.verified()
    assert unknown.verified()


def loosen(client: Client, name: str) -> None:
    """Makes a CRD accept what it should reject, some moments later."""
    crd = client.get(CRDS, None, name)
    for version in crd["spec"]["versions"]:
        version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    client.update(crd)


def taken(client: Client, obj: Object) -> Object | None:
    """The object with its status, None where the API server rejects that."""
    try:
        return client.update_status(obj)
    except ApiError as error:
        if error.code != 422:
            raise
        return None


def test_a_configuration_with_a_mistake_is_corrected(follow: Follow, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("checks: {ipam_claim: {enabled: false}}\n", encoding="utf-8")
    rejected = follow("StewardConfigRejected")
    rejected.diagnose()
    assert not rejected.verified()

    config.write_text("checks: {ipam_claims: {enabled: false}}\n", encoding="utf-8")

    assert rejected.verified()


@pytest.mark.parametrize(
    "alert", ["StewardDown", "StewardReplicaDown", "StewardScrapeSlow", "StewardCheckErrors", "StewardSeriesDropped"]
)
def test_what_can_be_asked_without_pods_is_answered(alert: str, follow: Follow) -> None:
    follow(alert, POD="steward-exporter-0", CHECK="ipam_claims").diagnose()
