"""What the exporter makes of an API server whose etcd was restored from a backup: it then lacks what was seen of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from exporter.kube.client import Client as KubeClient
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import QUICK, Exporter
from tests.cluster.fleet import claimed_vm, delete_vm, nad, release
from tests.waiting import wait_until

pytestmark = pytest.mark.long

NS = "tenant"
FOUND = {"db.blue": "StuckTerminatingOwnerGone"}
AHEAD = 300  # writes after the backup, far more than the server itself needs to start again
OBJECTS = 'kubevirt_steward_kind_objects{kind="VirtualMachine"}'
SYNCED = 'kubevirt_steward_kind_synced{kind="VirtualMachine"}'


async def no_look(*_: Any) -> bytes:
    return b'{"metadata":{}}'


@pytest.mark.parametrize("counted", ["went_back", "silent"])
def test_what_went_with_a_restore_is_not_shown_as_live(
    own_api_server: MakeApiServer, monkeypatch: pytest.MonkeyPatch, counted: str
) -> None:
    if counted == "silent":  # the look at the version before a watch is resumed would see it first
        monkeypatch.setattr(KubeClient, "newest", no_look)
    server = own_api_server()
    client = server.client()
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NS}})
    client.create(nad(NS, "blue", subnets="10.0.0.0/24"))
    claimed_vm(client, NS, "db")
    delete_vm(client, NS, "db")
    backup = server.backup()

    # As an administrator: who needs RBAC gets a 403 from a server that has just started, and lists again for that.
    with Exporter(server.kubeconfig("admin"), replace(QUICK, watch=8.0, quiet=10.0), graces=0.0) as exporter:
        exporter.wait_ready().wait_found(NS, FOUND)
        release(client, NS, "db")
        claimed_vm(client, NS, "web", ip="10.0.0.6/24")
        for number in range(AHEAD):
            client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"after-{number}"}})
        exporter.wait_found(NS, {})
        assert exporter.value(OBJECTS) == 1
        bookmark = 'kubevirt_steward_kind_last_bookmark_timestamp_seconds{kind="VirtualMachine"}'
        wait_until(lambda: exporter.value(bookmark) > 0, 60, "a bookmark has come")

        server.restore(backup)
        wait_until(lambda: exporter.value(OBJECTS) == 0, 60, "the VM that the backup lacks is gone")
        exporter.wait_found(NS, FOUND)
        assert (
            f'kubevirt_steward_kind_errors_total{{error="{counted}",kind="VirtualMachine"}} 1.0'
            in (exporter.get("/metrics")[1])
        )
        wait_until(lambda: exporter.value(SYNCED) == 1, 30, "VMs are seen again")
