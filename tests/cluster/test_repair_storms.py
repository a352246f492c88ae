"""So many findings at once that nothing is repaired, until a person has repaired most; and then all that is left."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.cluster import fleet
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_ground import THOROUGH, Ground, ground_of
from tests.cluster.resources import LEASES, VMS
from tests.cluster.sidecar import Sidecar
from tests.waiting import wait_until

pytestmark = THOROUGH
VMS_IN_ALL, BAD, LEFT = 1000, 300, 15  # a tenth is a storm
RUN = 5
PERSIST = "persist_firmware_uuid"
BUDGETS = {"run": RUN, "hour": 10_000, "namespaceHour": 10_000, "fleetShare": 1.0}


@pytest.fixture
def ground(module_api_server: MakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of(module_api_server, tmp_path_factory.mktemp("sidecars")) as made:
        yield made


def storm(sidecar: Sidecar) -> str:
    found = re.search(r'kubevirt_steward_repair_storm\{state="(\w+)"\} 1\.0', sidecar.metrics())
    assert found is not None
    return found[1]


def test_a_third_of_the_fleet_is_a_storm_and_a_few_are_not(ground: Ground) -> None:
    stage = ground.stage()
    namespace, uuids = stage.namespace, {f"vm{each}": str(uuid.uuid4()) for each in range(VMS_IN_ALL)}

    def firmware(name: str, value: object) -> None:
        body = {"spec": {"template": {"spec": {"domain": {"firmware": value}}}}}
        stage.client.patch(VMS, namespace, name, body)

    def bad() -> int:
        return sum(each["reason"] == "NotPersisted" for each in ground.exporter.report()["findings"])

    bad_ones = [f"vm{each}" for each in range(BAD)]
    settings = {
        "remediations": {PERSIST: {"mode": "auto", "minAge": "10s"}},
        "budgets": BUDGETS,
        "storm": {"cooldown": "5s"},
        "verifyAfter": "1s",
    }
    with ThreadPoolExecutor(4) as hands:
        made = [fleet.vm(namespace, name, firmware={"uuid": value}) for name, value in uuids.items()]
        list(hands.map(stage.client.create, made))
        with ground.sidecar(namespace, settings) as sidecar:
            wait_until(lambda: sidecar.value("kubevirt_steward_repair_leading"), 40, "it leads")
            list(hands.map(lambda name: firmware(name, None), bad_ones))
            wait_until(lambda: bad() == BAD, 30, "all are found")
            wait_until(lambda: storm(sidecar) == "storm", 30, "a storm")
            annotations = stage.client.get(LEASES, namespace, "steward")["metadata"]["annotations"]
            assert annotations["steward.kubevirt-steward.io/storm"].startswith("storm from")
            young = {each["state"] for each in sidecar.plans()}
            assert young <= {"blocked", "planned", "refused"}
            wait_until(lambda: old(sidecar), 60, "the storm alone holds them back")
            assert len(ground.writes(namespace)) <= RUN

            for name in bad_ones[LEFT:]:
                firmware(name, {"uuid": uuids[name]})
            before = len(ground.writes(namespace))
            wait_until(lambda: storm(sidecar) == "cooldown", 30, "the storm is over")
            assert len(ground.writes(namespace)) == before
            wait_until(lambda: storm(sidecar) == "normal", 30, "the cooldown is over")
            wait_until(lambda: bad() == 0, 120, "the few are repaired")
            sidecar.wait_for("verified", LEFT)
    written = ground.writes(namespace)
    assert sorted(name for _, _, name in written) == sorted(bad_ones[:LEFT])
    assert {(verb, resource) for verb, resource, _ in written} == {("patch", "virtualmachines")}


def old(sidecar: Sidecar) -> bool:
    gates = [{gate["gate"] for gate in each.get("blocked", ())} for each in sidecar.plans()]
    return len(gates) >= BAD and all(each == {"storm"} for each in gates)
