"""How many VMs there are, as a real API server says it."""

from __future__ import annotations

from exporter.kube.transport import Transport
from reconcile.carry_out.fresh_reads import ApiReads
from reconcile.carry_out.situation import VMCounts
from tests.cluster import fleet
from tests.cluster.conftest import MakeApiServer


async def test_vms_are_counted_in_all_and_in_a_namespace(module_api_server: MakeApiServer) -> None:
    server = module_api_server()
    admin = server.client()
    transport = Transport.from_environment(str(server.kubeconfig("admin")))
    try:
        for count in (0, 1, 2, 7):
            namespace = f"some-{count}"
            admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
            before = await VMCounts(ApiReads(transport), lambda: 0.0).total()
            assert before is not None
            for each in range(count):
                admin.create(fleet.vm(namespace, f"vm{each}"))
            counts = VMCounts(ApiReads(transport), lambda: 0.0)
            assert await counts.total() == before + count
            assert await counts.within(namespace) == count
            assert await counts.within("nowhere") == 0
    finally:
        await transport.close()
