"""Repairs on a real API server: planned, approved, carried out, kept, seen, and taken back."""

from __future__ import annotations

from pathlib import Path

from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.exporter import Exporter, grant
from tests.cluster.resources import IPAM_CLAIMS
from tests.cluster.sidecar import Sidecar
from tests.waiting import wait_until

AUTO = {"mode": "auto", "minAge": "0s"}


def test_an_orphaned_claim_is_deleted_and_then_released(api_server: ApiServer, tmp_path: Path) -> None:
    admin = api_server.client()
    namespace = "repair-orphan"
    admin.create(fleet.namespace(namespace))
    grant(admin)
    vm = fleet.vm(namespace, "db", {"blue": "blue"})
    vm["metadata"]["uid"] = "11111111-1111-4111-8111-111111111111"
    claim = fleet.claim(vm, f"net-{namespace}", "10.0.0.5/24")
    admin.make(claim)
    settings = {"remediations": {"delete_orphan_ipam_claim": AUTO, "release_ipam_claim": AUTO}}
    with (
        Exporter(api_server.kubeconfig("steward-exporter"), graces=0) as exporter,
        Sidecar(tmp_path, api_server.kubeconfig("admin"), exporter.url, settings) as sidecar,
    ):
        exporter.wait_ready()
        wait_until(
            lambda: admin.find(IPAM_CLAIMS, namespace, "db.blue") is None, 60, "the claim is released", every=0.2
        )
        sidecar.wait_for("verified", 2)
        assert sidecar.events() == ["intended", "done", "verified"] * 2
        assert exporter.found(namespace) == {}
