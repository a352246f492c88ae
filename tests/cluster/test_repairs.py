"""Repairs on a real API server: planned, approved, carried out, kept, seen, and taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import STEADY, Exporter, grant
from tests.cluster.resources import IPAM_CLAIMS
from tests.cluster.sidecar import Sidecar, steward
from tests.waiting import wait_until

HOUR = 3600.0
AUTO = {"mode": "auto", "minAge": "0s"}
KUBEVIRT = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "KubeVirt",
    "metadata": {"namespace": "kubevirt", "name": "kubevirt"},
    "spec": {},
    "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.7.0", "targetKubeVirtVersion": "v1.7.0"},
}


@pytest.fixture(scope="module")
def cluster(module_api_server: MakeApiServer) -> ApiServer:
    """With KubeVirt deployed, as far as its object says, and the exporter's permissions."""
    server = module_api_server()
    admin = server.client()
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
    admin.make(KUBEVIRT)
    grant(admin)
    return server


def test_an_orphaned_claim_is_deleted_and_then_released(cluster: ApiServer, tmp_path: Path) -> None:
    admin = cluster.client()
    namespace = "repair-orphan"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    vm = fleet.vm(namespace, "db", {"blue": "blue"})
    vm["metadata"]["uid"] = "11111111-1111-4111-8111-111111111111"
    claim = fleet.claim(vm, f"net-{namespace}", "10.0.0.5/24")
    admin.make(claim)
    settings = {"remediations": {"delete_orphan_ipam_claim": AUTO, "release_ipam_claim": AUTO}}
    with (
        Exporter(cluster.kubeconfig("steward-exporter"), STEADY, graces=0) as exporter,
        Sidecar(tmp_path, cluster.kubeconfig("admin"), exporter.url, settings, ahead=HOUR) as sidecar,
    ):
        exporter.wait_ready()
        sidecar.wait_for("verified", 2)
        assert admin.find(IPAM_CLAIMS, namespace, "db.blue") is None
        assert sidecar.events() == ["intended", "done", "verified"] * 2
        assert exporter.found(namespace) == {}


def test_check_shows_the_plan_and_what_approves_it(cluster: ApiServer, tmp_path: Path) -> None:
    admin = cluster.client()
    namespace = "repair-shown"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    vm = fleet.vm(namespace, "db", {"blue": "blue"})
    vm["metadata"]["uid"] = "22222222-2222-4222-8222-222222222222"
    admin.make(fleet.claim(vm, f"net-{namespace}", "10.0.0.5/24"))
    kubeconfig = cluster.kubeconfig("steward-exporter")
    with (
        Exporter(kubeconfig, graces=0) as exporter,
        Sidecar(tmp_path, cluster.kubeconfig("admin"), exporter.url, ahead=HOUR) as sidecar,
    ):
        exporter.wait_ready()
        shown = wait_until(
            lambda: [each for each in sidecar.plans() if each["namespace"] == namespace and each.get("hash")],
            30,
            f"the plan is shown; {sidecar}",
        )
        config = tmp_path / "exporter.yaml"
        config.write_text(f"reconcile: {{url: {sidecar.url}}}\n", encoding="utf-8")
        words = ["--config", str(config), "--kubeconfig", str(kubeconfig), "-n", namespace, "--commands"]
        report = steward("check", *words).stdout

    (repair,) = shown
    lines = [line.strip() for line in report.splitlines()]
    (said,) = (line for line in lines if line.startswith("repair: "))
    assert said.startswith(
        "repair: delete_orphan_ipam_claim, planned (mode plan); delete IPAMClaim repair-shown/db.blue"
    )
    assert "undo: none" in said
    chosen = f"--remediation delete_orphan_ipam_claim --plan {repair['hash']}"
    assert f"$ steward reconcile apply --kubeconfig {kubeconfig} {repair['fingerprint']} {chosen}" in lines
