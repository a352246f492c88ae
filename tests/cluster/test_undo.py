"""Taking back on a real API server what others rest on by then: refused, or done once the loss is accepted."""

from __future__ import annotations

import asyncio
import subprocess
import time
import uuid
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from demo.fleet import instancetypes as its
from exporter.facts.firmware import group_id
from reconcile.carry_out.attempt import AttemptState
from reconcile.carry_out.confirm import Confirmed, confirm_undo
from reconcile.carry_out.ledger_in_lease import cluster_uid
from reconcile.ledger import Entry, Event, Ledger
from reconcile.ledger.attempts import taken
from reconcile.ledger.manual import folder
from reconcile.plan.annotations import PAUSED
from reconcile.plan.plan import Refused
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_undos
from reconcile.plan.remediations.identity import reassign_firmware_uuid
from reconcile.plan.remediations.instancetypes import guard_instancetype, restash_missing_revision
from reconcile.plan.remediations.instancetypes.guard_instancetype import ALLOWED, FINALIZER
from reconcile.plan.remediations.networks import repair_ipam_claim_metadata
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_faults import KIND, KUBEVIRT, SIZE
from tests.cluster.repair_ground import deployed
from tests.cluster.resources import (
    CLUSTER_INSTANCETYPES,
    CONTROLLER_REVISIONS,
    INSTANCETYPES,
    IPAM_CLAIMS,
    KUBEVIRTS,
    VMS,
)
from tests.cluster.sidecar import steward, unaimed
from tests.cluster.stage import Stage
from tests.confirming import hint_of
from tests.manifests import Object
from tests.repairing import Repairing, repairing

pytestmark = pytest.mark.long

DAY = 86_400.0


class Ground(Stage):
    """A namespace in which something is repaired, and then taken back by the command of a person."""

    repairing: Repairing
    ledger: Path
    kubeconfig: Path

    async def repaired(self, remediation: Remediation, about: dict[str, str], of: Object) -> str:
        """The attempt that repaired it."""
        result = await self.repairing.repair(remediation, hint_of({"namespace": self.namespace} | about, [of]))
        assert result.state == AttemptState.DONE, result
        return result.attempt

    async def undo(self, attempt: str, *words: str) -> subprocess.CompletedProcess[str]:
        own = ("--ledger", str(self.ledger), "--kubeconfig", str(self.kubeconfig))
        return await asyncio.to_thread(steward, "reconcile", "undo", attempt, "--yes", *own, *words)

    def undone(self) -> list[Entry]:
        """The entries of what people took back."""
        return list(Ledger.read(folder(self.ledger))) if folder(self.ledger).is_dir() else []


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    return deployed(module_api_server)


@pytest.fixture
async def ground(server: ApiServer, tmp_path: Path) -> AsyncIterator[Ground]:
    name = f"undo-{uuid.uuid4().hex[:8]}"
    kubeconfig = server.kubeconfig("admin")
    async with repairing(str(kubeconfig), tmp_path / "ledger") as made:
        made.now = time.time() + 2 * DAY  # no grace is in the way
        with server.client() as client:
            client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            found = Ground(client, name)
            for field, value in (("repairing", made), ("ledger", tmp_path / "ledger"), ("kubeconfig", kubeconfig)):
                object.__setattr__(found, field, value)
            yield found


async def protected_claim(ground: Ground) -> tuple[Object, str]:
    """A VM whose IPAMClaim got back its finalizer, and the attempt."""
    ground.nad()
    vm = ground.vm()
    claim = ground.claim(vm, finalizers=None)
    about = {"check": "ipam_claims", "reason": "UnprotectedClaim", "kind": "IPAMClaim", "subject": "db.blue"}
    return vm, await ground.repaired(repair_ipam_claim_metadata.REMEDIATION, about, claim)


async def test_a_finalizer_under_which_a_vm_runs_stays_while_a_deletion_waits(ground: Ground) -> None:
    vm, attempt = await protected_claim(ground)
    ground.running(vm)
    ground.pod()
    ground.delete_claim()

    for words in ((), ("--accept", "address")):
        refused = await ground.undo(attempt, *words)
        assert refused.returncode == 1
        assert "refused, no_user: " in refused.stderr
        assert "--accept address" not in refused.stderr  # the address is another VM's by then: that is nobody's to give
        there = ground.client.get(IPAM_CLAIMS, ground.namespace, "db.blue")
        assert there["metadata"]["finalizers"] == ["kubevirt.io/persistent-ipam"]
    assert ground.undone() == []


async def test_an_address_that_nobody_uses_goes_once_that_is_accepted(ground: Ground) -> None:
    _, attempt = await protected_claim(ground)
    ground.delete_claim()

    refused = await ground.undo(attempt)
    assert refused.returncode == 1
    assert "refused, address_kept: " in refused.stderr
    assert f"steward reconcile undo {attempt} --ledger {ground.ledger} --accept address" in unaimed(refused.stderr)
    wrong = await ground.undo(attempt, "--accept", "identity")
    assert wrong.returncode == 1
    assert "the undo would lose no identity" in wrong.stderr
    both = await ground.undo(attempt, "--accept", "address", "--accept", "identity")
    assert both.returncode == 1
    assert ground.client.find(IPAM_CLAIMS, ground.namespace, "db.blue") is not None
    assert ground.undone() == []

    done = await ground.undo(attempt, "--accept", "address")
    assert done.returncode == 0, done.stderr
    assert "risk     address" in done.stdout
    assert "10.0.0.5" in done.stdout
    assert ground.client.find(IPAM_CLAIMS, ground.namespace, "db.blue") is None
    intended, end = ground.undone()
    assert (intended.undoes, end.event) == (attempt, Event.DONE)
    assert intended.plan is not None
    assert intended.plan.accepted == ("address",)
    assert any("10.0.0.5" in each for each in intended.plan.loses)
    shown = steward("reconcile", "ledger", attempt, "--ledger", str(ground.ledger))
    assert "accepted as lost: address" in shown.stdout


async def test_who_comes_between_the_two_looks_keeps_the_address(ground: Ground) -> None:
    _, attempt = await protected_claim(ground)
    ground.delete_claim()
    own = replace(taken(ground.repairing.entries(), attempt), by="alice", accepted=("address",))
    undo = all_undos()[own.plan.remediation]
    came: list[Object] = []

    async def make() -> Confirmed | Refused:
        return await confirm_undo(own, undo, ground.repairing.reads, now=time.time())

    async def permit(_: Confirmed) -> Refused | None:
        came.append(ground.pod())
        return None

    result = await ground.repairing.attempts.run(make, permit, mode="undo", undoes=attempt)
    assert (result.state, result.refused, len(came)) == (AttemptState.REFUSED, "no_user", 1)
    there = ground.client.get(IPAM_CLAIMS, ground.namespace, "db.blue")
    assert there["metadata"]["finalizers"] == ["kubevirt.io/persistent-ipam"]


async def test_a_finalizer_is_taken_back_where_no_deletion_waits(ground: Ground) -> None:
    vm, attempt = await protected_claim(ground)
    ground.running(vm)
    ground.pod()

    wrong = await ground.undo(attempt, "--accept", "address")
    assert wrong.returncode == 1
    assert "the undo would lose no address" in wrong.stderr
    done = await ground.undo(attempt)
    assert done.returncode == 0, done.stderr
    there = ground.client.get(IPAM_CLAIMS, ground.namespace, "db.blue")["metadata"]
    assert "finalizers" not in there
    assert there["annotations"][PAUSED].startswith("undone by ")


async def test_an_undo_that_was_killed_is_settled_by_the_next_one(ground: Ground) -> None:
    vm, attempt = await protected_claim(ground)
    ground.running(vm)
    own = replace(taken(ground.repairing.entries(), attempt), by="alice")
    made = await confirm_undo(own, all_undos()[own.plan.remediation], ground.repairing.reads, now=time.time())
    assert isinstance(made, Confirmed), made
    killed = time.time() - 600
    cluster = await cluster_uid(ground.repairing.reads)
    with Ledger.open(folder(ground.ledger), clock=lambda: killed, cluster=cluster) as ledger:
        ledger.append(Event.INTENDED, plan=made.plan, whole=dict(made.whole), mode="undo", undoes=attempt)

    done = await ground.undo(attempt)
    assert done.returncode == 0, done.stderr
    first, settled, second, end = ground.undone()
    assert (first.attempt, settled.event, settled.happened) == (settled.attempt, Event.RESOLVED, False)
    assert (second.undoes, end.event) == (attempt, Event.DONE)


async def test_an_instancetype_under_vms_without_a_copy_stays_while_its_deletion_waits(ground: Ground) -> None:
    size = its.kept(KIND, ground.namespace, "small", SIZE, annotations={ALLOWED: "true"})
    of = ground.client.create(size)
    vm = fleet.vm(ground.namespace, "db")
    vm["spec"]["instancetype"] = {"name": "small", "kind": KIND}
    ground.client.create(vm)
    about = {"check": "instancetype_objects", "reason": "DeletableInUse", "kind": KIND, "subject": "small"}
    attempt = await ground.repaired(guard_instancetype.REMEDIATION, about, of)
    ground.client.delete(INSTANCETYPES, ground.namespace, "small")

    refused = await ground.undo(attempt)
    assert refused.returncode == 1
    assert "refused, no_vm_without_copy: " in refused.stderr
    assert f"VirtualMachine {ground.namespace}/db" in refused.stderr
    there = ground.client.get(INSTANCETYPES, ground.namespace, "small")
    assert there["metadata"]["finalizers"] == [FINALIZER]

    done = await ground.undo(attempt, "--accept", "copy")
    assert done.returncode == 0, done.stderr
    assert ground.client.find(INSTANCETYPES, ground.namespace, "small") is None


async def test_an_instancetype_of_all_namespaces_stays_under_a_vm_of_any(ground: Ground) -> None:
    kind, name = "VirtualMachineClusterInstancetype", ground.namespace
    of = ground.client.create(its.kept(kind, "", name, SIZE, annotations={ALLOWED: "true"}))
    vm = fleet.vm(ground.namespace, "db")
    vm["spec"]["instancetype"] = {"name": name}
    ground.client.create(vm)
    about = {"check": "instancetype_objects", "reason": "DeletableInUse", "kind": kind, "subject": name}
    attempt = await ground.repaired(guard_instancetype.REMEDIATION, about | {"namespace": ""}, of)
    ground.client.delete(CLUSTER_INSTANCETYPES, None, name)

    refused = await ground.undo(attempt)
    assert refused.returncode == 1
    assert "refused, no_vm_without_copy: " in refused.stderr
    ground.client.remove(VMS, ground.namespace, "db")
    done = await ground.undo(attempt)
    assert done.returncode == 0, done.stderr
    assert ground.client.find(CLUSTER_INSTANCETYPES, None, name) is None


async def test_a_uuid_with_which_the_guest_runs_by_now_stays(ground: Ground) -> None:
    same = {"uuid": str(uuid.uuid4())}
    for name in ("db", "twin"):
        twin = ground.client.create(fleet.vm(ground.namespace, name, firmware=same))
    about = {"check": "firmware_duplicates", "reason": "LatentDuplicate", "kind": "VirtualMachine", "subject": "twin"}
    about["group"] = group_id(same["uuid"])
    attempt = await ground.repaired(reassign_firmware_uuid.REMEDIATION, about, twin)
    started = ground.client.get(VMS, ground.namespace, "twin")
    new = uuid_of(started)
    ground.client.make(fleet.vmi(started))

    refused = await ground.undo(attempt)
    assert refused.returncode == 1
    for said in ("refused, same_identity: ", "uuid_is_free: ", "--accept identity --accept uniqueness"):
        assert said in refused.stderr
    alone = await ground.undo(attempt, "--accept", "identity")
    assert alone.returncode == 1
    assert uuid_of(ground.client.get(VMS, ground.namespace, "twin")) == new

    done = await ground.undo(attempt, "--accept", "identity", "--accept", "uniqueness")
    assert done.returncode == 0, done.stderr
    assert uuid_of(ground.client.get(VMS, ground.namespace, "twin")) == same["uuid"]


def uuid_of(vm: Object) -> Any:
    return vm["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"]


async def restored_copy(ground: Ground) -> tuple[str, str]:
    """The name of a VM's ControllerRevision that was restored, and the attempt."""
    of = ground.client.create(its.kept(KIND, ground.namespace, "small", SIZE))
    name = its.copy_name({"metadata": {"name": "db"}}, of)
    vm = fleet.vm(ground.namespace, "db")
    vm["spec"]["instancetype"] = {"name": "small", "kind": KIND}
    vm["status"] = {"instancetypeRef": its.reference(of, name)}
    made = ground.client.make(vm)
    about = {"check": "instancetype_vms", "reason": "RevisionMissing", "kind": "VirtualMachine", "subject": "db"}
    attempt = await ground.repaired(restash_missing_revision.REMEDIATION, about | {"group": "instancetype"}, made)
    return name, attempt


async def test_the_last_copy_of_an_instancetype_stays_while_its_vm_refers_to_it(ground: Ground) -> None:
    name, attempt = await restored_copy(ground)

    refused = await ground.undo(attempt)
    assert refused.returncode == 1
    assert "refused, not_needed: " in refused.stderr
    assert ground.client.find(CONTROLLER_REVISIONS, ground.namespace, name) is not None
    vm = ground.client.get(VMS, ground.namespace, "db")
    assert PAUSED not in vm["metadata"].get("annotations", {})  # nothing is written by what is refused

    done = await ground.undo(attempt, "--accept", "copy")
    assert done.returncode == 0, done.stderr
    assert ground.client.find(CONTROLLER_REVISIONS, ground.namespace, name) is None
    assert f"VirtualMachine {ground.namespace}/db is paused" in done.stdout


Change = Callable[[Ground], object]


def relabelled(ground: Ground) -> object:
    return ground.client.patch(IPAM_CLAIMS, ground.namespace, "db.blue", {"metadata": {"finalizers": ["a.example/x"]}})


def made_anew(ground: Ground) -> object:
    claim = ground.client.get(IPAM_CLAIMS, ground.namespace, "db.blue")
    ground.client.patch(IPAM_CLAIMS, ground.namespace, "db.blue", {"metadata": {"finalizers": None}})
    ground.client.remove(IPAM_CLAIMS, ground.namespace, "db.blue")
    for field in ("uid", "resourceVersion", "creationTimestamp"):
        del claim["metadata"][field]
    return ground.client.create(claim)


@pytest.mark.parametrize(
    ("change", "why"), [(relabelled, "refused, unchanged_since: "), (made_anew, "refused, same_object: ")]
)
async def test_what_somebody_changed_since_is_never_taken_back(ground: Ground, change: Change, why: str) -> None:
    _, attempt = await protected_claim(ground)
    change(ground)
    before = ground.client.get(IPAM_CLAIMS, ground.namespace, "db.blue")

    for words in ((), ("--accept", "address")):
        refused = await ground.undo(attempt, *words)
        assert refused.returncode == 1
        assert why in refused.stderr
        assert "--accept" not in refused.stderr
    assert ground.client.get(IPAM_CLAIMS, ground.namespace, "db.blue") == before


async def test_while_kubevirt_is_upgraded_nothing_is_taken_back(ground: Ground) -> None:
    _, attempt = await restored_copy(ground)
    old = {"status": {"targetKubeVirtVersion": "v1.8.0"}}
    kubevirt = ground.client.get(KUBEVIRTS, "kubevirt", "kubevirt")
    ground.client.update_status(kubevirt | {"status": kubevirt["status"] | old["status"]})
    try:
        refused = await ground.undo(attempt, "--accept", "copy")
    finally:
        kubevirt = ground.client.get(KUBEVIRTS, "kubevirt", "kubevirt")
        ground.client.update_status(kubevirt | {"status": KUBEVIRT["status"]})
    assert refused.returncode == 1
    assert "refused, upgrade: " in refused.stderr
    vm = ground.client.get(VMS, ground.namespace, "db")
    assert PAUSED not in vm["metadata"].get("annotations", {})


async def test_what_is_paused_may_be_taken_back_and_once(ground: Ground) -> None:
    _, attempt = await protected_claim(ground)
    note = {"metadata": {"annotations": {PAUSED: "we look at it"}}}
    ground.client.patch(IPAM_CLAIMS, ground.namespace, "db.blue", note)

    done = await ground.undo(attempt)
    assert done.returncode == 0, done.stderr
    there = ground.client.get(IPAM_CLAIMS, ground.namespace, "db.blue")["metadata"]
    assert there["annotations"][PAUSED] == "we look at it"
    assert "finalizers" not in there
    again = await ground.undo(attempt)
    assert again.returncode == 2
    assert f"attempt {attempt} was undone before" in again.stderr
    (undo, _) = ground.undone()
    of_undo = await ground.undo(undo.attempt)
    assert of_undo.returncode == 2
    assert f"attempt {undo.attempt} is the undo of attempt {attempt}" in of_undo.stderr
