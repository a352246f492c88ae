"""The pods of deploy/, with their own commands, users and mounts, as containers against a real API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.image.conftest import StartPod
from tests.image.pod import Node, Pod
from tests.waiting import wait_until

CA = "/run/kubevirt-steward/tls/ca.crt"
BOTH = ("exporter", "reconcile")
PYTHON = ("/usr/bin/python3", "-c")
PRIVILEGES = "print(open('/proc/self/status').read())"
WRITABLE = """
import os
own = {"/proc", "/dev", "/sys"}  # the runtime's
for folder, folders, files in os.walk("/"):
    folders[:] = [each for each in folders if os.path.join(folder, each) not in own]
    for path in [folder, *(os.path.join(folder, each) for each in files)]:
        if os.access(path, os.W_OK) and not os.path.islink(path):
            print(path)
            folders[:] = []
"""


@pytest.fixture(scope="module")
def pod(start_pod: StartPod) -> Pod:
    """The exporter with the sidecar, once both are ready."""
    started = start_pod("deploy/overlays/repairs")
    started.wait_ready()
    return started


def token_of(pod: Pod) -> str:
    return (pod.folder / "service-account/token").read_text(encoding="utf-8")


def scraper(node: Node, pod: Pod) -> str:
    """The token of a ServiceAccount that may read the metrics, as Prometheus has one."""
    admin = node.server.client()
    account = {"name": "prometheus", "namespace": pod.namespace}
    admin.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
    admin.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "prometheus"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "steward-metrics-reader",
            },
            "subjects": [{"kind": "ServiceAccount", **account}],
        }
    )
    path = f"/api/v1/namespaces/{pod.namespace}/serviceaccounts/prometheus/token"
    body: dict[str, Any] = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(admin.connection.request("POST", path, body)["status"]["token"])


@pytest.mark.parametrize("name", BOTH)
def test_prometheus_scrapes_with_a_verified_certificate_and_its_token(pod: Pod, node: Node, name: str) -> None:
    answer = node.ask(f"{pod.url(name)}/metrics", ca=pod.file(CA, name), token=scraper(node, pod))
    assert answer.status == 200, answer.text
    assert "kubevirt_steward_build_info" in answer.text or "kubevirt_steward_repair_source_up" in answer.text


@pytest.mark.parametrize("name", BOTH)
def test_without_a_token_there_is_health_and_nothing_else(pod: Pod, node: Node, name: str) -> None:
    ca = pod.file(CA, name)
    assert node.ask(f"{pod.url(name)}/healthz", ca=ca).status == 200
    assert node.ask(f"{pod.url(name)}/metrics", ca=ca).status == 401
    assert node.ask(f"{pod.url(name)}/", ca=ca).status == 401


def test_exporter_and_sidecar_read_each_other(pod: Pod, node: Node) -> None:
    ca, token = pod.file(CA, "exporter"), scraper(node, pod)

    def source_up() -> bool:
        return (
            "kubevirt_steward_repair_source_up 1.0"
            in node.ask(f"{pod.url('reconcile')}/metrics", ca=ca, token=token).text
        )

    wait_until(source_up, 60, "the sidecar reads the findings", every=0.5)
    answer = node.ask(f"{pod.url('exporter')}/api/v1/findings", ca=ca, token=token_of(pod))
    assert answer.status == 200
    assert json.loads(answer.text)["sources"]


@pytest.mark.parametrize("name", BOTH)
def test_a_runbook_s_commands_run_in_the_container(pod: Pod, name: str) -> None:
    done = pod.containers[name].exec("steward", "check")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


@pytest.mark.parametrize("name", BOTH)
def test_nothing_is_writable_but_what_the_manifest_mounts_so(pod: Pod, name: str) -> None:
    manifest = next(each for each in pod.spec["containers"] if each["name"] == name)
    wanted = {each["mountPath"] for each in manifest["volumeMounts"] if not each.get("readOnly")}
    done = pod.containers[name].exec(*PYTHON, WRITABLE)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.split()) == wanted


@pytest.mark.parametrize("name", BOTH)
def test_it_has_no_privileges_and_gets_none(pod: Pod, name: str) -> None:
    rows = dict(
        line.split(":\t", 1) for line in pod.containers[name].exec(*PYTHON, PRIVILEGES).stdout.splitlines() if line
    )
    assert {int(rows[each], 16) for each in ("CapBnd", "CapEff", "CapInh", "CapPrm", "CapAmb")} == {0}
    assert rows["NoNewPrivs"] == "1"
    assert set(rows["Uid"].split()) == {"65532"}


@pytest.fixture(params=[65532, 1000660000])
def exporter(request: pytest.FixtureRequest, start_pod: StartPod) -> Iterator[Pod]:
    """The exporter alone, as the manifest's user, and as one that OpenShift chooses, who is in no list of users."""
    pod = start_pod("deploy/base", request.param)
    pod.wait_ready()
    yield pod
    pod.remove()


def test_sigterm_ends_the_exporter_within_its_grace(exporter: Pod) -> None:
    assert exporter.containers["exporter"].stop(exporter.grace) == 0
    assert "Traceback" not in exporter.containers["exporter"].says()


def test_sigterm_ends_the_sidecar_within_its_grace(pod: Pod) -> None:  # the last of those that need this pod
    assert pod.containers["reconcile"].stop(pod.grace) == 0
    assert pod.probe("exporter", "livenessProbe").status == 200  # which goes on
    assert pod.containers["exporter"].stop(pod.grace) == 0
