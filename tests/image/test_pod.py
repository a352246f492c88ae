"""The pod of deploy/overlays/repairs-one-pod: its own commands, users and mounts, against a real API server."""

from __future__ import annotations

import json

import pytest

from tests.image.conftest import CA, TWINS, StartPod
from tests.image.pod import Node, Pod
from tests.waiting import wait_until

from ..cluster.client import account

BOTH = ("exporter", "reconcile")
PYTHON = ("/usr/bin/python3", "-c")
PRIVILEGES = "print(open('/proc/1/status').read())"
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
    started = start_pod("deploy/overlays/repairs-one-pod")
    started.wait_ready()
    return started


def own_token(pod: Pod) -> str:
    return (pod.folder / "service-account/token").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def scraper(node: Node) -> str:
    """The token of a ServiceAccount that may read the metrics, as Prometheus has one."""
    made = account(node.server.client())
    made.grant("steward-metrics-reader")
    return made.token


@pytest.mark.parametrize("name", BOTH)
def test_prometheus_scrapes_with_a_verified_certificate_and_its_token(
    pod: Pod, node: Node, scraper: str, name: str
) -> None:
    answer = node.ask(f"{pod.url(name)}/metrics", ca=pod.file(CA, name), token=scraper)
    assert answer.status == 200, answer.text
    assert "kubevirt_steward_build_info" in answer.text or "kubevirt_steward_repair_source_up" in answer.text


@pytest.mark.parametrize("name", BOTH)
def test_without_a_token_there_is_health_and_nothing_else(pod: Pod, node: Node, name: str) -> None:
    ca = pod.file(CA, name)
    assert node.ask(f"{pod.url(name)}/healthz", ca=ca).status == 200
    assert node.ask(f"{pod.url(name)}/metrics", ca=ca).status == 401
    assert node.ask(f"{pod.url(name)}/", ca=ca).status == 401


def test_a_plan_of_the_sidecar_is_shown_by_the_exporter(pod: Pod, node: Node) -> None:
    """Each of the two asks the other with the pod's token, and verifies the certificate of the init container."""

    def plans() -> list[str]:
        url = f"{pod.url('exporter')}/api/v1/findings?namespace={TWINS}"
        answer = node.ask(url, ca=pod.file(CA, "exporter"), token=own_token(pod))
        assert answer.status == 200, answer.text
        findings = json.loads(answer.text)["findings"]
        return [repair["write"] for finding in findings for repair in finding.get("repairs", ()) if repair["hash"]]

    wait_until(plans, 60, "the exporter shows a plan", every=0.5)
    assert all("/spec/template/spec/domain/firmware/uuid" in write for write in plans())


@pytest.mark.parametrize("name", BOTH)
def test_a_runbook_s_commands_run_in_the_container(pod: Pod, name: str) -> None:
    done = pod.containers[name].exec("steward", "check", "--namespace", TWINS)
    assert (done.returncode, done.stderr) == (1, ""), done.stdout  # 1: there are findings
    assert "LatentDuplicate" in done.stdout


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


def test_sigterm_ends_the_sidecar_within_its_grace(pod: Pod) -> None:  # the last of those that need this pod
    assert pod.containers["reconcile"].stop(pod.grace) == 0
    assert pod.probe("exporter", "livenessProbe").status == 200  # which goes on
    assert pod.containers["exporter"].stop(pod.grace) == 0
