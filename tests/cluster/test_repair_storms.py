"""So many findings at once that nothing is repaired, until a person has repaired most; and then all that is left.

It is over a restart, in which the sidecar knows no more than the Lease says, that the storm lasts.
"""

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
NAMESPACES, VMS_OF_EACH, BAD, LEFT = 6, 160, 50, 2  # a tenth is a storm
RUN = 5
PERSIST = "persist_firmware_uuid"
BUDGETS = {"run": RUN, "hour": 10_000, "namespaceHour": 10_000, "fleetShare": 1.0}


@pytest.fixture
def ground(own_api_server: MakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of(own_api_server, tmp_path_factory.mktemp("sidecars")) as made:
        yield made


def storm(sidecar: Sidecar) -> str:
    found = re.search(r'kubevirt_steward_repair_storm\{state="(\w+)"\} 1\.0', sidecar.metrics())
    assert found is not None
    return found[1]


def test_a_third_of_the_fleet_is_a_storm_and_a_few_are_not(ground: Ground) -> None:
    stages = [ground.stage() for _ in range(NAMESPACES)]
    stage, namespaces = stages[0], [each.namespace for each in stages]
    # Names are unique: without a UUID KubeVirt derives one from the name alone.
    names = {namespace: [f"vm{at}-{each}" for each in range(VMS_OF_EACH)] for at, namespace in enumerate(namespaces)}
    uuids = {(namespace, name): str(uuid.uuid4()) for namespace in namespaces for name in names[namespace]}

    def firmware(key: tuple[str, str], value: object) -> None:
        body = {"spec": {"template": {"spec": {"domain": {"firmware": value}}}}}
        stage.client.patch(VMS, *key, body)

    def bad() -> int:
        return sum(each["reason"] == "NotPersisted" for each in ground.exporter.report()["findings"])

    bad_ones = [(namespace, names[namespace][each]) for each in range(BAD) for namespace in namespaces]
    settings = {
        "remediations": {PERSIST: {"mode": "auto", "minAge": "10s"}},
        "budgets": BUDGETS,
        "storm": {"cooldown": "5s"},
        "verifyAfter": "1s",
    }
    with ThreadPoolExecutor(4) as hands:
        made = [fleet.vm(*key, firmware={"uuid": value}) for key, value in uuids.items()]
        list(hands.map(stage.client.create, made))
        with ground.sidecar(stage.namespace, settings) as sidecar:
            wait_until(lambda: sidecar.value("kubevirt_steward_repair_leading"), 40, "it leads")
            sidecar.runs_again()
            list(hands.map(lambda key: firmware(key, None), bad_ones))
            wait_until(lambda: bad() == len(bad_ones), 30, "all are found")
            wait_until(lambda: storm(sidecar) == "storm", 30, "a storm")
            annotations = stage.client.get(LEASES, stage.namespace, "steward")["metadata"]["annotations"]
            assert annotations["steward.kubevirt-steward.io/storm"].startswith("storm from")
            assert len(annotations["steward.kubevirt-steward.io/storm-known"]) < 16_384
        with ground.sidecar(stage.namespace, settings) as sidecar:
            wait_until(lambda: storm(sidecar) == "storm", 60, "the storm lasts over a restart")
            wait_until(lambda: old(sidecar), 240, "the storm alone holds them back")
            assert len(ground.writes()) <= RUN

            for key in bad_ones[LEFT * NAMESPACES :]:
                firmware(key, {"uuid": uuids[key]})
            before = len(ground.writes())
            wait_until(lambda: storm(sidecar) == "cooldown", 30, "the storm is over")
            assert len(ground.writes()) == before
            wait_until(lambda: storm(sidecar) == "normal", 30, "the cooldown is over")
            wait_until(lambda: bad() == 0, 120, "the few are repaired")
            sidecar.wait_for("verified", LEFT * NAMESPACES)
    written = ground.writes()
    assert sorted(name for _, _, name in written) == sorted(name for _, name in bad_ones[: LEFT * NAMESPACES])
    assert {(verb, resource) for verb, resource, _ in written} == {("patch", "virtualmachines")}


def old(sidecar: Sidecar) -> bool:
    gates = [{gate["gate"] for gate in each.get("blocked", ())} for each in sidecar.plans()]
    return len(gates) >= BAD * NAMESPACES and all(each == {"storm"} for each in gates)
