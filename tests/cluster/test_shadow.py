"""Mode `shadow` on a real API server: nothing at all is written, and the ledger has what mode `auto` then writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from reconcile.ledger import Event
from tests.cluster import resources
from tests.cluster.client import ApiError, Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_faults import FAULTS, LATER, Fault, settings
from tests.cluster.repair_ground import Ground, ground_of
from tests.cluster.resources import Resource
from tests.cluster.sidecar import Sidecar
from tests.cluster.stage import Stage
from tests.waiting import wait_until

pytestmark = pytest.mark.long

Written = set[tuple[str, str, str]]
"""A remediation, what it writes, and the plan's hash."""
_RESOURCES = [each for each in vars(resources).values() if isinstance(each, Resource)]


@pytest.fixture
def ground(own_api_server: MakeApiServer, tmp_path: Path) -> Iterator[Ground]:
    with ground_of(own_api_server, tmp_path) as made:
        yield made


def versions(client: Client) -> dict[str, str]:
    """The resourceVersion of each object by its UID, but for what the API server writes of itself."""
    found: dict[str, str] = {}
    for resource in _RESOURCES:
        try:
            items = client.list(resource)["items"]
        except ApiError:  # it is not served here
            continue
        own = (each["metadata"] for each in items if each["metadata"].get("namespace") != "kube-system")
        found |= {meta["uid"]: meta["resourceVersion"] for meta in own}
    return found


def kept(sidecar: Sidecar, event: Event) -> Written:
    entries = (each for each in sidecar.entries() if each.event is event)
    return {(each.plan.remediation, str(each.plan.target), each.plan.hash) for each in entries if each.plan is not None}


def test_what_shadow_reports_auto_then_writes(ground: Ground) -> None:
    stages: dict[Fault, Stage] = {fault: ground.stage() for fault in FAULTS}
    for fault, stage in stages.items():
        fault.seed(stage)
    for fault, stage in stages.items():
        ground.wait_found(stage.namespace, fault.reason)
    where = stages[FAULTS[0]].namespace
    before = versions(ground.client)
    assert len(before) > len(FAULTS)

    def in_mode(mode: str) -> Sidecar:
        modes = {(fault.remediation, stage.namespace): mode for fault, stage in stages.items()}
        return ground.sidecar(where, settings(modes, verifyAfter="1s"), ahead=LATER)

    with in_mode("shadow") as sidecar:
        sidecar.wait_for("shadowed", len(FAULTS))
        sidecar.runs_again(3)
        shadowed = kept(sidecar, Event.SHADOWED)
        states = {each["state"] for each in sidecar.plans()}
        counted = sum(
            sidecar.value(f'kubevirt_steward_repairs_shadowed_total{{remediation="{each}"}}') or 0
            for each in {fault.remediation for fault in FAULTS}
        )
    assert ground.sent() == []
    assert versions(ground.client) == before
    assert ground.asked()  # it reads, and is seen there
    assert "shadowed" in states
    assert {each[0] for each in shadowed} == {fault.remediation for fault in FAULTS}
    assert counted == len(shadowed) == len(FAULTS)

    with in_mode("auto") as sidecar:
        sidecar.wait_for("intended", len(FAULTS), seconds=120)
        assert kept(sidecar, Event.INTENDED) >= shadowed
        wait_until(lambda: len(ground.writes()) >= len(FAULTS), 30.0, "what is intended is written")
