"""What a second look says: who uses what was released, nobody, or that it can't be seen, which is neither."""

from __future__ import annotations

from typing import Any

import pytest

from reconcile.carry_out.confirm import look_again
from reconcile.plan.plan import Refused
from reconcile.plan.remediations import all_remediations

from ....confirming import MemoryReads
from ....evaluation import NOW
from ....remediation_cases import made
from ....rows import full

RELEASE = next(each for each in all_remediations() if each.id == "release_ipam_claim")
PLANNED = next(each for name, each in made(RELEASE) if name == "vm_is_gone")
NAD = {"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "tenantblue"}
RED = {"kind": "NetworkAttachmentDefinition", "namespace": "other", "name": "red", "network": "tenantred"}
SAME = {"kind": "Pod", "namespace": "other", "name": "web", "addresses": {"other/red": ["10.0.0.5/24"]}}
CAME = {"kind": "Pod", "name": "came", "claims": ["db.blue"]}


async def seen(*rows: dict[str, Any], fails: dict[str, int] | None = None) -> str | Refused:
    reads = MemoryReads([full(row) for row in (NAD, *rows)], fails)
    return await look_again(RELEASE, PLANNED.plan, PLANNED.whole, reads, NOW)


async def test_the_same_address_in_another_network_is_nobody() -> None:
    assert await seen(RED, SAME) == ""


@pytest.mark.parametrize(
    ("rows", "fails"),
    [
        ((RED, SAME), {"NetworkAttachmentDefinition": 503}),
        ((SAME,), None),
        (({**RED, "config": "{"}, SAME), None),
        ((RED, SAME), {"Pod": 403}),
        ((RED, SAME, {"kind": "VirtualMachine", "name": "x", "undecodable": True}), None),
    ],
    ids=["no NAD is read", "the NAD is gone", "the NAD is no JSON", "no pod is read", "a VM can't be decoded"],
)
async def test_of_what_may_use_it_and_can_t_be_read_nothing_is_known(rows: Any, fails: dict[str, int] | None) -> None:
    refused = await seen(*rows, fails=fails)
    assert isinstance(refused, Refused), refused
    assert refused.precondition == "everything_seen"
    assert refused.why.startswith("who uses what it released can't be seen: ")


@pytest.mark.parametrize("fails", [None, {"NetworkAttachmentDefinition": 503}], ids=["all is read", "no NAD is read"])
async def test_who_surely_uses_it_is_named_whatever_else_can_t_be_seen(fails: dict[str, int] | None) -> None:
    assert "Pod ns/came refers to it" in str(await seen(SAME, CAME, fails=fails))


async def test_a_pod_elsewhere_that_can_t_be_decoded_is_nobody() -> None:
    """Who may write pods in a namespace without a NAD of the network keeps nothing in the dark."""
    assert await seen({"kind": "Pod", "namespace": "other", "name": "odd", "undecodable": True}) == ""
