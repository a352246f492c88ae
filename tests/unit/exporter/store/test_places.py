"""Where objects stand in the indexes follows from what there is, and not from the order in which it came."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.store.cluster import Cluster
from exporter.store.indexes.networks import ADDRESS, address
from tests.evaluation import Evaluation
from tests.rows import full

Row = dict[str, Any]

VMI: Row = {
    "kind": "VirtualMachineInstance",
    "name": "db",
    "uid": "i1",
    "networks": {"blue": "blue"},
    "requested": {"blue": ["10.0.0.5"]},
}
CLAIM: Row = {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "network": "tenantblue", "ips": ["10.0.0.5/16"]}
NAD: Row = {"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "tenantblue"}
ELSEWHERE = CLAIM | {"network": "tenantred"}


def seen(evaluation: Evaluation, row: Row) -> None:
    evaluation.seen(full({"namespace": "ns", **row}))


def listening(cluster: Cluster, network: str) -> list[str]:
    """Which VMIs are under the address."""
    return [each.name for each in cluster.dependents(ADDRESS, address(network, "10.0.0.5"))]


@pytest.mark.parametrize("persistent", [True, False], ids=["persistent", "not persistent"])
@pytest.mark.parametrize(
    "order", list(permutations((VMI, CLAIM, NAD))), ids=lambda rows: ",".join(r["kind"] for r in rows)
)
def test_a_vmi_is_under_the_address_that_it_requests(order: tuple[Row, ...], persistent: bool) -> None:
    """And leaves it with its claim, whenever its NAD came and whatever that says of persistence."""
    evaluation = Evaluation(all_checks())
    cluster = evaluation.engine.cluster
    for row in order:
        seen(evaluation, row | ({"persistent": persistent} if row is NAD else {}))
    assert listening(cluster, "tenantblue") == ["db"]
    seen(evaluation, ELSEWHERE)
    assert (listening(cluster, "tenantblue"), listening(cluster, "tenantred")) == ([], ["db"])
    evaluation.gone("IPAMClaim", "ns", "db.blue")
    assert (listening(cluster, "tenantblue"), listening(cluster, "tenantred")) == ([], [])
    seen(evaluation, CLAIM)
    evaluation.gone("NetworkAttachmentDefinition", "ns", "blue")
    assert listening(cluster, "tenantblue") == ["db"]
    evaluation.gone("VirtualMachineInstance", "ns", "db")
    assert listening(cluster, "tenantblue") == []
