"""How many VMs there are, as a real API server says it."""

from __future__ import annotations

import pytest

from exporter.kube.transport import Transport
from exporter.model.kinds import virtual_machine
from reconcile.reading import ApiReads
from reconcile.vm_counts import VMCounts
from tests.cluster import fleet
from tests.cluster.conftest import MakeApiServer


@pytest.mark.parametrize("count", [0, 1, 2, 7])
async def test_vms_are_counted_in_all_and_in_a_namespace(module_api_server: MakeApiServer, count: int) -> None:
    server = module_api_server()
    admin = server.client()
    for namespace in (f"some-{count}", f"others-{count}"):
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    transport = Transport.from_environment(str(server.kubeconfig("admin")))
    try:
        before = await VMCounts(ApiReads(transport), lambda: 0.0).total()
        for each in range(count):
            admin.create(fleet.vm(f"some-{count}", f"vm{each}"))
        admin.create(fleet.vm(f"others-{count}", "vm"))
        counts = VMCounts(ApiReads(transport), lambda: 0.0)
        assert before is not None
        assert await counts.total() == before + count + 1
        assert await counts.within(f"some-{count}") == count
        assert await counts.within("nowhere") == 0
        kind = virtual_machine.KIND
        assert await ApiReads(transport).counted(kind, kind.versions[0], f"some-{count}") == count
    finally:
        await transport.close()
