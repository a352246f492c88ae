"""A restore, snapshot, clone or backup that begins while a repair is carried out, on a real API server.

What begins after everything was read for the last time is not seen: the write is bound to the object, and there is no
precondition about another one. What stays open is the time between that read and the arrival of the write, of which the
sidecar allows 5 seconds.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from reconcile.carry_out.attempt import AttemptState
from reconcile.plan.remediations.networks.delete_orphan_ipam_claim import REMEDIATION
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.test_ipam_repairs import Stage
from tests.manifests import Object
from tests.repairing import repairing
from tests.rows import full

Made = Callable[..., AbstractAsyncContextManager[Stage]]
BEGUN = {
    "a restore": {"kind": "VirtualMachineRestore", "name": "r", "target": "db"},
    "a snapshot": {"kind": "VirtualMachineSnapshot", "name": "s", "source": "db"},
    "a clone": {"kind": "VirtualMachineClone", "name": "c", "source": "other", "target": "db"},
    "a backup": {"kind": "VirtualMachineBackup", "name": "b", "source": "db"},
    "a restore by Velero": {"kind": "Restore"},
    "a backup by Velero": {"kind": "Backup"},
}


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = module_api_server()
    made.client().create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "velero"}})
    return made


@pytest.fixture
def stage(server: ApiServer, tmp_path: Path) -> Made:
    @asynccontextmanager
    async def made(reached: Callable[[str], None]) -> AsyncIterator[Stage]:
        name = f"test-{uuid.uuid4().hex[:10]}"
        kubeconfig = str(server.kubeconfig("admin"))
        async with repairing(kubeconfig, tmp_path / "ledger", reached=reached) as repairs:
            with server.client() as client:
                client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
                yield Stage(client, repairs, name)

    return made


def begin(client: Client, namespace: str, row: Object) -> Object:
    """Velero's are in Velero's namespace, and name this one."""
    row = {"namespace": namespace, "name": namespace, "included": [namespace]} | row
    obj = full(row)
    for field in ("uid", "creationTimestamp"):
        obj["metadata"].pop(field, None)
    return client.make(obj)


async def repaired(stage: Stage) -> Any:
    claim = stage.claim(vm="db", owner="gone")
    stage.made.now = datetime.fromisoformat(claim["metadata"]["creationTimestamp"]).timestamp() + 3601
    return await stage.made.repair(REMEDIATION, stage.hint("OrphanClaim", claim))


@pytest.mark.parametrize("row", BEGUN.values(), ids=BEGUN)
async def test_what_begins_between_the_two_plans_is_seen(stage: Made, row: Object) -> None:
    def reached(step: str) -> None:
        if step == "dry_run":
            begin(at.client, at.namespace, row)

    async with stage(reached) as at:
        result = await repaired(at)
        assert (result.state, result.refused) == (AttemptState.REFUSED, "no_snapshot_or_restore"), result
        assert f"{row['kind']} " in result.why
        assert at.made.reached == ["made", "dry_run", "made_again"]
        left = at.now()
        assert left is not None
        assert "deletionTimestamp" not in left["metadata"]


async def test_what_begins_after_the_last_read_is_not_seen_and_the_claim_keeps_its_addresses(stage: Made) -> None:
    def reached(step: str) -> None:
        if step == "fenced":
            begin(at.client, at.namespace, BEGUN["a restore"])

    async with stage(reached) as at:
        result = await repaired(at)
        assert result.state == AttemptState.DONE, result
        left = at.now()
        assert left is not None  # its finalizer holds it: what is left of it waits for the restore
        assert left["metadata"]["finalizers"] == ["kubevirt.io/persistent-ipam"]
