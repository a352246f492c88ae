"""Who holds the addresses of a network is the same in whatever order its objects came."""

from __future__ import annotations

import random
from typing import Any

import pytest

from exporter.checks.networks.ipam_networks import CHECK
from tests.amounts import drawn, rounds
from tests.evaluation import Evaluation
from tests.rows import full

NAD = {"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "tenantblue", "subnets": "10.0.0.0/28"}


def claim(namespace: str, vm: str, address: int) -> dict[str, Any]:
    return {
        "kind": "IPAMClaim",
        "namespace": namespace,
        "name": f"{vm}.blue",
        "vm": vm,
        "owner": f"u-{namespace}-{vm}",
        "ips": [f"10.0.0.{address}/28"],
    }


def holders(rows: list[dict[str, Any]]) -> list[object]:
    evaluation = Evaluation([CHECK])
    for row in rows:
        evaluation.seen(full(row))
    evaluation.evaluate()
    return [each.evidence["namespaces"] for each in evaluation.engine.findings() if each.reason == "PoolPressure"]


@drawn
@pytest.mark.parametrize("seed", range(rounds(4, 20)))
def test_an_address_that_two_hold_counts_for_the_first_namespace(seed: int) -> None:
    rows = [NAD, *(claim("ns", f"vm-{number}", number + 2) for number in range(12)), claim("other", "copy", 2)]
    random.Random(seed).shuffle(rows)
    assert holders(rows) == [{"ns": 12}]
