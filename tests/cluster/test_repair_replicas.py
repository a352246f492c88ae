"""Two sidecars on one cluster: one writes, whatever their clocks say, and one that wakes up late writes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cluster import fleet
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_faults import FAULTS, LATER, Fault, settings
from tests.cluster.repair_ground import THOROUGH, Ground, ground_of
from tests.cluster.resources import IPAM_CLAIMS
from tests.cluster.sidecar import Sidecar
from tests.waiting import wait_until

pytestmark = THOROUGH
BY_ID = {each.id: each for each in FAULTS}
LEADING = "kubevirt_steward_repair_leading"


@pytest.fixture(scope="module")
def ground(module_api_server: MakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of(module_api_server, tmp_path_factory.mktemp("sidecars")) as made:
        yield made


def ends(*replicas: Sidecar) -> list[str]:
    return sorted(event for each in replicas for event in each.events())


def test_one_of_two_writes_though_the_other_clock_is_hours_ahead(ground: Ground) -> None:
    fault = BY_ID["unprotected_claim"]
    stage = ground.stage()
    namespace = stage.namespace
    auto = settings({(fault.remediation, namespace): "auto"}, verifyAfter="1s")
    with (
        ground.sidecar(namespace, auto, "-a", ahead=6 * 3600.0) as first,
        ground.sidecar(namespace, auto, "-b") as second,
    ):
        both = (first, second)
        wait_until(lambda: sorted(each.value(LEADING) or 0.0 for each in both) == [0.0, 1.0], 40, "one leads")
        leader = next(each for each in both if each.value(LEADING))
        other = next(each for each in both if each is not leader)
        fault.seed(stage)
        wait_until(lambda: "verified" in ends(*both), 60, "it is repaired", every=0.1)
        assert leader.events() == ["intended", "done", "verified"]
        assert other.events() == []

        leader.process.stop()
        ground.takes_over(namespace, other)  # which has a ledger of its own, and waits for a person
        vm = stage.client.create(fleet.vm(namespace, "web", {"blue": "blue"}))
        late = fleet.claim(vm, stage.network, "10.0.0.6/24")
        del late["metadata"]["finalizers"]
        stage.client.make(late)
        other.wait_for("verified")
        assert other.events() == ["accepted", "intended", "done", "verified"]
    assert ground.writes(namespace) == [("patch", "ipamclaims", "db.blue"), ("patch", "ipamclaims", "web.blue")]
    for name in ("db.blue", "web.blue"):
        assert stage.client.get(IPAM_CLAIMS, namespace, name)["metadata"]["finalizers"]
    assert len(ground.events(namespace)) == 2


@pytest.mark.parametrize("step", ["intended", "fenced"])
@pytest.mark.parametrize("fault", [BY_ID[each] for each in ("unprotected_claim", "orphan_claim", "lost_copy")], ids=str)
def test_one_that_was_stopped_before_its_write_writes_nothing_when_it_wakes_up(
    ground: Ground, fault: Fault, step: str
) -> None:
    stage = ground.stage()
    namespace = stage.namespace
    fault.seed(stage)
    name = fault.name(stage)
    ground.wait_found(namespace, fault.reason)
    auto = settings({(fault.remediation, namespace): "auto"}, verifyAfter="1s")
    ahead = LATER if fault.aged else 0.0
    first = ground.sidecar(namespace, auto, "-a", stop_at=step, ahead=ahead)
    first.fork.start(lambda: first.fork.stopped)
    try:
        with ground.sidecar(namespace, auto, "-b", ahead=ahead) as second:
            ground.takes_over(namespace, second)
            second.wait_for("verified")
            first.fork.proceed()
            first.wait_for("failed")
            assert first.events() == ["intended", "failed"]
            assert [each for each in second.events() if each != "accepted"] == ["intended", "done", "verified"]
    finally:
        first.fork.kill()
    assert ground.writes(namespace) == [(fault.verb, fault.resource.plural, name)]
    assert [each["reason"] for each in ground.events(namespace)] == ["Repaired"]
