"""Repairs of IPAMClaims on a real API server: what it takes, and what is left."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from reconcile.carry_out.attempt import AttemptState
from reconcile.decide.repair import Hint
from reconcile.plan.remediations.networks import (
    delete_orphan_ipam_claim,
    release_ipam_claim,
    repair_ipam_claim_metadata,
)
from reconcile.plan.remediations.networks.release_ipam_claim import NUDGED
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.resources import IPAM_CLAIMS, VMS
from tests.confirming import hint_of
from tests.manifests import Object
from tests.repairing import Repairing, repairing
from tests.rows import full

RELEASE, DELETE = release_ipam_claim.REMEDIATION, delete_orphan_ipam_claim.REMEDIATION
DAY = 86_400.0
REPAIR = repair_ipam_claim_metadata.REMEDIATION


class Stage:
    """One namespace with the NAD `blue`, whose network no other one has, and repairs of the IPAMClaim `db.blue`."""

    def __init__(self, client: Client, made: Repairing, namespace: str) -> None:
        self.client, self.made, self.namespace = client, made, namespace
        self.make(kind="NetworkAttachmentDefinition", name="blue")

    def make(self, **row: Any) -> Object:
        obj = full(row | {"namespace": self.namespace, "network": f"{self.namespace}-blue"})
        for field in ("uid", "creationTimestamp"):
            obj["metadata"].pop(field, None)
        return self.client.make(obj)

    def claim(self, **row: Any) -> Object:
        return self.make(kind="IPAMClaim", name="db.blue", ips=["10.0.0.5/24"], **row)

    def hint(self, reason: str, claim: Object) -> Hint:
        about = {"check": "ipam_claims", "reason": reason, "kind": "IPAMClaim", "subject": "db.blue"}
        return hint_of(about | {"namespace": self.namespace}, [claim])

    def now(self) -> Object | None:
        return self.client.find(IPAM_CLAIMS, self.namespace, "db.blue")

    def later(self, claim: Object) -> None:
        """Eleven minutes after the claim's deletion."""
        self.made.now = datetime.fromisoformat(claim["metadata"]["deletionTimestamp"]).timestamp() + 660


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    return module_api_server()


@pytest.fixture
async def stage(server: ApiServer, tmp_path: Path) -> AsyncIterator[Stage]:
    name = f"test-{uuid.uuid4().hex[:10]}"
    async with repairing(str(server.kubeconfig("admin")), tmp_path / "ledger") as made:
        with server.client() as client:
            client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            yield Stage(client, made, name)


async def test_an_orphan_is_deleted_and_then_released(stage: Stage) -> None:
    claim = stage.claim(vm="db", owner="gone", finalizers=["example.org/x", "kubevirt.io/persistent-ipam"])
    young = await stage.made.repair(DELETE, stage.hint("OrphanClaim", claim))
    assert young.refused == "an_hour_old", young

    stage.made.now = datetime.fromisoformat(claim["metadata"]["creationTimestamp"]).timestamp() + 3601
    result = await stage.made.repair(DELETE, stage.hint("OrphanClaim", claim))
    assert result.state == AttemptState.DONE, result
    terminating = stage.now()
    assert terminating is not None
    assert terminating["metadata"]["finalizers"] == ["example.org/x", "kubevirt.io/persistent-ipam"]

    stage.later(terminating)
    result = await stage.made.repair(RELEASE, stage.hint("StuckTerminatingOwnerGone", claim))
    assert result.state == AttemptState.DONE, result
    left = stage.now()
    assert left is not None
    assert left["metadata"]["finalizers"] == ["example.org/x"]
    assert left["status"]["ips"] == ["10.0.0.5/24"]


async def test_with_the_last_finalizer_the_ipam_claim_is_gone(stage: Stage) -> None:
    claim = stage.claim(vm="db", owner="gone")
    stage.client.delete(IPAM_CLAIMS, stage.namespace, "db.blue")
    stage.later(stage.now() or {})

    result = await stage.made.repair(RELEASE, stage.hint("StuckTerminatingOwnerGone", claim))

    assert result.state == AttemptState.DONE, result
    assert result.plan is not None
    assert result.plan.loses == ("10.0.0.5/24",)
    assert stage.now() is None


async def test_a_vm_in_deletion_is_annotated_before_its_ipam_claim_is_released(stage: Stage) -> None:
    vm = stage.make(kind="VirtualMachine", name="db", over={"metadata": {"finalizers": ["foregroundDeletion"]}})
    claim = stage.claim(vm="db", owner=vm["metadata"]["uid"])
    stage.client.delete(VMS, stage.namespace, "db")
    stage.client.delete(IPAM_CLAIMS, stage.namespace, "db.blue")
    before = stage.now()
    assert before is not None
    stage.later(before)
    hint = stage.hint("StuckTerminatingBlocksOwnerDeletion", claim)

    first = await stage.made.repair(RELEASE, hint)
    assert first.state == AttemptState.DONE, first
    assert stage.client.get(VMS, stage.namespace, "db")["metadata"]["annotations"] == {NUDGED: claim["metadata"]["uid"]}
    assert stage.now() == before

    second = await stage.made.repair(RELEASE, hint)
    assert second.state == AttemptState.DONE, second
    assert stage.now() is None


@pytest.mark.parametrize("missing", ["finalizers", "labels", "ownerReferences"])
async def test_what_ipam_extensions_wrote_is_there_again(stage: Stage, missing: str) -> None:
    vm = stage.make(kind="VirtualMachine", name="db")
    claim = stage.claim(vm="db", owner=vm["metadata"]["uid"])
    stage.made.now = time.time() + 2 * DAY
    whole = claim["metadata"][missing]
    del claim["metadata"][missing]
    claim = stage.client.update(claim)
    reasons = {"finalizers": "UnprotectedClaim", "labels": "UnlabelledClaim", "ownerReferences": "OwnerlessClaim"}

    result = await stage.made.repair(REPAIR, stage.hint(reasons[missing], claim))

    assert result.state == AttemptState.DONE, result
    now = stage.now()
    assert now is not None
    assert now["metadata"][missing] == whole
    assert now["status"] == claim["status"]
    again = await stage.made.repair(REPAIR, stage.hint(reasons[missing], claim))
    assert again.refused == "finding_holds"
