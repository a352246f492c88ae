"""On a real API server: what forbids to change a serial, a MAC address or a UUID, each of it between the finding and
the plan, as somebody brings it about who does not know of the repair.
"""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from exporter.facts.firmware import group_id
from reconcile.carry_out.confirm import Confirmed
from reconcile.plan.plan import Patch, Refused
from reconcile.plan.plan import Test as Holds
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations.identity import reassign_mac_address, reassign_serial, replace_invalid_uuid
from reconcile.plan.remediations.identity._identities import ALLOWED
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_faults import KUBEVIRT
from tests.cluster.repair_faults._fault import cloned
from tests.cluster.resources import NAMESPACES, VMS
from tests.cluster.stage import NETWORKS, Stage
from tests.confirming import hint_of
from tests.manifests import Object
from tests.repairing import Repairing, repairing
from tests.rows import full
from tests.waiting import wait_until

MAC, PLACEHOLDER = "02:00:00:aa:00:01", "03000200-0400-0500-0006-000700080009"
RESTORED = "restore.kubevirt.io/lastRestoreUID"


@dataclass
class Copy:
    """VM `twin`, which is off, and VM `db`, which it is a copy of."""

    stage: Stage
    repairing: Repairing
    remediation: Remediation
    about: dict[str, str]
    twin: Object

    @property
    def client(self) -> Client:
        return self.stage.client

    async def planned(self) -> Confirmed | Refused:
        about = {"kind": "VirtualMachine", "subject": "twin", "namespace": self.stage.namespace} | self.about
        hint = hint_of(about, [self.twin])
        answer: Confirmed | Refused = await self.repairing.make(self.remediation, hint)()
        return answer

    def patch(self, **patch: Any) -> None:
        self.client.patch(VMS, self.stage.namespace, "twin", patch)

    def create(self, row: Object) -> None:
        made = full({"namespace": self.stage.namespace} | row)
        for field in ("uid", "creationTimestamp"):
            made["metadata"].pop(field, None)
        self.client.make(made)

    async def new(self) -> str:
        """What it would get."""
        answer = await self.planned()
        assert isinstance(answer, Confirmed), answer
        assert isinstance(answer.plan.step, Patch)
        return str(next(op.value for op in answer.plan.step.ops if not isinstance(op, Holds)))  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = module_api_server()
    made.client().create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
    made.client().make(KUBEVIRT)
    return made


@pytest.fixture
async def copy(server: ApiServer, tmp_path: Path, request: pytest.FixtureRequest) -> AsyncIterator[Copy]:
    made_of = MADE[request.param]
    name = f"copy-{uuid.uuid4().hex[:8]}"
    async with repairing(str(server.kubeconfig("admin")), tmp_path / "ledger") as repairs:
        with server.client() as client:
            client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            copied = made_of(Stage(client, name), repairs)
            repairs.now = _created(copied.twin) + 3600
            yield copied
            copied.client.delete(NAMESPACES, None, name)


def _created(vm: Object) -> float:
    return datetime.fromisoformat(vm["metadata"]["creationTimestamp"]).timestamp()


def _twins(stage: Stage, make: Callable[[str], Object]) -> Object:
    """The second one is made in a later second: in less no API server tells which one is older."""
    first = stage.client.create(make("db"))

    def younger() -> Object | None:
        second = make("twin")
        second["metadata"]["annotations"] = {RESTORED: "r"}
        made = stage.client.create(second)
        if _created(made) > _created(first):
            return made
        stage.client.remove(VMS, stage.namespace, "twin")
        return None

    found = wait_until(younger, 10, "the copy is younger")
    cloned(stage, "db", "twin")
    assert found is not None
    return found


def _serial(stage: Stage, repairs: Repairing) -> Copy:
    serial = str(uuid.uuid4())

    def vm(name: str) -> Object:
        return fleet.vm(stage.namespace, name, firmware={"uuid": str(uuid.uuid4()), "serial": serial})

    about = {"check": "firmware_serials", "reason": "SerialDuplicate", "group": group_id(serial)}
    return Copy(stage, repairs, reassign_serial.REMEDIATION, about, _twins(stage, vm))


def _mac(stage: Stage, repairs: Repairing) -> Copy:
    stage.nad()

    def vm(name: str) -> Object:
        made = fleet.vm(stage.namespace, name, NETWORKS)
        made["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][0]["macAddress"] = MAC
        return made

    group = group_id(f"layer2 {stage.network} {MAC}")
    about = {"check": "mac_duplicates", "reason": "LatentDuplicateMAC", "group": group}
    return Copy(stage, repairs, reassign_mac_address.REMEDIATION, about, _twins(stage, vm))


def _uuid(stage: Stage, repairs: Repairing) -> Copy:
    twin = stage.client.create(fleet.vm(stage.namespace, "twin", firmware={"uuid": PLACEHOLDER}))
    about = {"check": "firmware_vms", "reason": "InvalidUUID", "group": group_id(PLACEHOLDER)}
    return Copy(stage, repairs, replace_invalid_uuid.REMEDIATION, about, twin)


MADE: dict[str, Callable[[Stage, Repairing], Copy]] = {"serial": _serial, "mac": _mac, "uuid": _uuid}
EACH = pytest.mark.parametrize("copy", MADE, indirect=True)
OF_COPIES = pytest.mark.parametrize("copy", ["serial", "mac"], indirect=True)


async def refused(copy: Copy, precondition: str) -> str:
    answer = await copy.planned()
    assert isinstance(answer, Refused), answer
    assert answer.precondition == precondition, answer.why
    return answer.why


@EACH
async def test_nothing_is_in_the_way(copy: Copy) -> None:
    answer = await copy.planned()
    assert isinstance(answer, Confirmed), answer
    assert answer.plan.proposal is None
    result = await copy.repairing.repair(copy.remediation, _hint(copy))
    assert result.state == "done", result
    assert await refused(copy, "finding_holds")


def _hint(copy: Copy) -> Any:
    about = {"kind": "VirtualMachine", "subject": "twin", "namespace": copy.stage.namespace} | copy.about
    return hint_of(about, [copy.twin])


@EACH
async def test_it_was_started(copy: Copy) -> None:
    copy.stage.running(copy.twin)
    assert "in phase Running" in await refused(copy, "stopped")


@EACH
async def test_its_launcher_pod_is_left(copy: Copy) -> None:
    copy.create({"kind": "Pod", "name": "virt-launcher-twin-x", "domain": "twin", "vmi": "gone"})
    assert "virt-launcher-twin-x" in await refused(copy, "stopped")


@EACH
async def test_it_starts_by_itself(copy: Copy) -> None:
    copy.patch(spec={"runStrategy": "Always"})
    assert "can start at any moment" in await refused(copy, "stopped")


@EACH
async def test_a_pool_made_it(copy: Copy) -> None:
    owner = {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "name": "p", "uid": "p"}
    copy.patch(metadata={"ownerReferences": [owner]})
    await refused(copy, "stands_alone")


@EACH
async def test_it_is_cloned_itself(copy: Copy) -> None:
    copy.create({"kind": "VirtualMachineClone", "name": "again", "source": "twin", "target": "third"})
    await refused(copy, "no_snapshot_or_restore")


@EACH
async def test_it_is_to_migrate(copy: Copy) -> None:
    copy.create({"kind": "VirtualMachineInstanceMigration", "name": "m", "vmi": "twin", "phase": "Pending"})
    await refused(copy, "not_migrating")


@EACH
async def test_its_namespace_is_being_deleted(copy: Copy) -> None:
    copy.client.delete(NAMESPACES, None, copy.stage.namespace)
    await refused(copy, "namespace_active")


@EACH
async def test_git_has_its_spec(copy: Copy) -> None:
    of = f"shop:kubevirt.io/VirtualMachine:{copy.stage.namespace}/twin"
    copy.patch(metadata={"annotations": {"argocd.argoproj.io/tracking-id": of}})
    answer = await copy.planned()
    assert isinstance(answer, Confirmed), answer
    assert answer.plan.proposal is not None
    assert (await copy.repairing.repair(copy.remediation, _hint(copy))).refused == "ours_to_write"


@EACH
async def test_another_vm_has_what_it_would_get(copy: Copy) -> None:
    new = await copy.new()
    free = {"reassign_serial": "new_serial_is_free", "reassign_mac_address": "new_mac_is_free"}
    vm = fleet.vm(
        copy.stage.namespace, "other", NETWORKS if ":" in new else None, firmware={"uuid": new, "serial": new}
    )
    if ":" in new:
        vm["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"][0]["macAddress"] = new.upper()
    copy.client.create(vm)
    await refused(copy, free.get(copy.remediation.id, "new_uuid_is_free"))


@OF_COPIES
async def test_its_mark_is_gone(copy: Copy) -> None:
    copy.patch(metadata={"annotations": {RESTORED: None}})
    await refused(copy, "surely_the_copy")
    copy.patch(metadata={"annotations": {ALLOWED: "true"}})
    assert isinstance(await copy.planned(), Confirmed)


@OF_COPIES
async def test_the_original_is_a_copy_itself(copy: Copy) -> None:
    cloned(copy.stage, "gone", "db")
    await refused(copy, "keeper_known")


@OF_COPIES
async def test_the_original_is_deleted(copy: Copy) -> None:
    copy.client.remove(VMS, copy.stage.namespace, "db")
    await refused(copy, "finding_holds")


@pytest.mark.parametrize("copy", ["uuid"], indirect=True)
async def test_it_has_a_persistent_tpm(copy: Copy) -> None:
    copy.patch(spec={"template": {"spec": {"domain": {"devices": {"tpm": {"persistent": True}}}}}})
    await refused(copy, "keeps_no_state")


@pytest.mark.parametrize("copy", ["mac"], indirect=True)
async def test_cloud_init_goes_by_the_address(copy: Copy) -> None:
    volume = {"name": "init", "cloudInitNoCloud": {"networkData": f"match: {{macaddress: '{MAC}'}}"}}
    copy.patch(spec={"template": {"spec": {"volumes": [volume]}}})
    await refused(copy, "not_known_by_mac")


@pytest.mark.parametrize("copy", ["mac"], indirect=True)
async def test_two_interfaces_have_the_address(copy: Copy) -> None:
    interfaces: list[Object] = [{"name": name, "bridge": {}, "macAddress": MAC} for name in ("blue", "red")]
    networks = [{"name": name, "multus": {"networkName": "blue"}} for name in ("blue", "red")]
    copy.patch(spec={"template": {"spec": {"domain": {"devices": {"interfaces": interfaces}}, "networks": networks}}})
    await refused(copy, "one_interface")


@OF_COPIES
async def test_a_vmi_alone_has_it(copy: Copy) -> None:
    vmi = fleet.vmi(copy.twin)
    vmi["metadata"] |= {"name": "lone", "ownerReferences": []}
    made = copy.client.make(vmi)
    copy.about |= {"kind": "VirtualMachineInstance", "subject": "lone"}
    copy.twin = made
    await refused(copy, "is_a_vm")


@EACH
async def test_another_one_of_its_name(copy: Copy) -> None:
    copy.client.remove(VMS, copy.stage.namespace, "twin")
    again = {**copy.twin, "metadata": {"namespace": copy.stage.namespace, "name": "twin"}}
    copy.client.create(again)
    await refused(copy, "same_object")
