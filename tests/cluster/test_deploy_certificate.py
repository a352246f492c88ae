"""The Job that makes a certificate: on a real API server, as its own ServiceAccount, with its own arguments."""

from __future__ import annotations

import base64
import ssl
import subprocess
import sys
from pathlib import Path

import pytest

from exporter.kube.get_json import JSONServer
from exporter.serve.server.certificates import Certificates
from reconcile.carry_out.finding_source import ExporterSource
from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer, Tools
from tests.cluster.deployed import NAMESPACE, kustomized
from tests.cluster.resources import SECRETS
from tests.manifests import Object
from tests.served import served
from tests.shared import REPO

FILES = ("ca.crt", "tls.crt", "tls.key")
NAME = "steward-exporter-tls"
APPLIED = ("Namespace", "Secret", "Role", "RoleBinding", "ServiceAccount")


class Job:
    """Runs the Job's command, by a token of its ServiceAccount."""

    def __init__(self, server: ApiServer, objects: list[Object]) -> None:
        (job,) = (each for each in objects if each["kind"] == "Job")
        pod = job["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        self.words = [word.replace("$(NAMESPACE)", NAMESPACE) for word in container["args"]]
        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{pod['serviceAccountName']}/token"
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = server.client().connection.request("POST", path, asked)["status"]["token"]
        self.kubeconfig = server.kubeconfig("certificate", token)

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "exporter", *(words or self.words), "--kubeconfig", str(self.kubeconfig)]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=REPO)


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    return module_api_server(with_crds=False)


@pytest.fixture
def objects(binary: Tools) -> list[Object]:
    made = kustomized(binary("kubectl"), REPO / "deploy/overlays/prometheus-operator")
    return sorted(
        (each for each in made if each["kind"] in (*APPLIED, "Job")), key=lambda each: each["kind"] != "Namespace"
    )


def data(server: ApiServer) -> dict[str, bytes]:
    found = server.client().get(SECRETS, NAMESPACE, NAME).get("data") or {}
    return {key: base64.b64decode(value) for key, value in found.items()}


def apply(server: ApiServer, objects: list[Object]) -> None:
    for each in objects:
        if each["kind"] in APPLIED:
            server.client().apply(each)


async def test_it_writes_its_secret_once_and_prometheus_can_verify_the_steward_by_it(
    server: ApiServer, objects: list[Object], tmp_path: Path
) -> None:
    apply(server, objects)
    assert data(server) == {}
    job = Job(server, objects)
    done = job()
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    first = data(server)
    assert set(first) == set(FILES)
    assert first["tls.key"].decode().splitlines()[1] not in done.stdout
    for name in FILES:
        (tmp_path / name).write_bytes(first[name])
    trusts = ssl.create_default_context(cafile=str(tmp_path / "ca.crt"))
    async with served(tls=(Certificates(tmp_path / "tls.crt", tmp_path / "tls.key"), trusts)) as answering:
        for name in ("steward-exporter", "steward-reconcile"):  # by which the ServiceMonitor asks
            source = ExporterSource(JSONServer(answering.url, "", str(tmp_path / "ca.crt"), name), lambda: 0.0)
            assert (await source.observed()).findings

    apply(server, objects)  # again, as with the next release
    assert "it stays" in job().stdout
    assert data(server) == first


def test_what_is_for_other_names_or_broken_is_made_anew(server: ApiServer, objects: list[Object]) -> None:
    apply(server, objects)
    job = Job(server, objects)
    assert job().returncode == 0
    first = data(server)
    done = job("certificate", f"--secret={NAMESPACE}/{NAME}", "--name=elsewhere")
    assert (done.returncode, done.stderr) == (0, "")
    second = data(server)
    assert not set(first.values()) & set(second.values())
    broken = {"tls.crt": base64.b64encode(b"nothing").decode()}
    server.client().patch(SECRETS, NAMESPACE, NAME, {"data": broken})
    assert "Wrote" in job().stdout
    assert data(server)["tls.crt"] != b"nothing"


def test_it_may_write_no_other_secret(server: ApiServer, objects: list[Object]) -> None:
    apply(server, objects)
    other = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "other", "namespace": NAMESPACE}}
    server.client().apply(other)
    job = Job(server, objects)
    for name in ("other", "absent"):
        done = job("certificate", f"--secret={NAMESPACE}/{name}", "--name=a")
        assert done.returncode == 2
        assert f"cannot write the certificate to Secret {NAMESPACE}/{name}: 403" in done.stderr
    assert not server.client().get(SECRETS, NAMESPACE, "other").get("data")


@pytest.mark.parametrize("name", ["a", "/a", "a/", "a/b/c"])
def test_what_names_no_secret_is_refused(name: str, server: ApiServer, objects: list[Object]) -> None:
    apply(server, objects)
    done = Job(server, objects)("certificate", f"--secret={name}", "--name=a")
    assert done.returncode == 2
    assert "a Secret is written as NAMESPACE/NAME" in done.stderr
