"""Repairs of ControllerRevisions and of what refers to them on a real API server: each precondition refuses, whether it
ceases to hold before the plan or between the plan and the write, and then nothing is written.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from demo.fleet import instancetypes as its
from exporter.checks import all_checks
from reconcile.carry_out.attempt import AttemptState
from reconcile.carry_out.confirm import Confirmed
from reconcile.decide.repair import Hint
from reconcile.plan.plan import Refused
from reconcile.plan.remediation import COMMON_PRECONDITIONS, Remediation
from reconcile.plan.remediations import all_remediations
from reconcile.plan.remediations.instancetypes.nudge_unversioned_vm import NUDGED
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_faults import BY_REMEDIATION, KIND, KUBEVIRT, SIZE, Fault
from tests.cluster.repair_ground import deployed
from tests.cluster.resources import (
    CONTROLLER_REVISIONS,
    INSTANCETYPES,
    KUBEVIRTS,
    NAMESPACES,
    NODES,
    PODS,
    VMIMS,
    VMS,
    Resource,
)
from tests.cluster.stage import Stage
from tests.confirming import hint_of
from tests.manifests import Object
from tests.repairing import Repairing, repairing
from tests.rows import full

pytestmark = pytest.mark.long

LABEL = "instancetype.kubevirt.io/object-"
DAYS = 2 * 86_400.0
Disturb = Callable[[Stage], object]


def launcher(stage: Stage) -> None:
    stage.client.make(full({"kind": "Node", "name": stage.namespace}))
    row = {"kind": "Pod", "namespace": stage.namespace, "name": "virt-launcher-db", "domain": "db", "vmi": "i1"}
    stage.client.make(full(row | {"node": stage.namespace, "over": {"metadata": {"ownerReferences": None}}}))


def named(name: str) -> Callable[[Stage], str]:
    return lambda _: name


FAULTS = {each: BY_REMEDIATION[each][0] for each in ("adopt_revision", "label_pinned_revision", "drop_stale_reference")}
FAULTS |= {
    "nudge_unversioned_vm": BY_REMEDIATION["nudge_unversioned_vm"][0],
    "handle_orphan_launcher": Fault(
        "launcher", "handle_orphan_launcher", "OrphanLauncherPod", launcher, PODS, named("virt-launcher-db")
    ),
}


def row(**fields: Any) -> Disturb:
    """Makes the object of a row in the namespace."""
    return lambda stage: stage.client.make(full({"namespace": stage.namespace} | fields))


def patched(resource: Resource, name: str, **patch: Any) -> Disturb:
    return lambda stage: stage.client.patch(resource, stage.namespace, name, patch)


def written(remediation: str, **patch: Any) -> Disturb:
    """A patch of what the remediation would write to."""
    of = FAULTS[remediation]
    return lambda stage: stage.client.patch(of.resource, stage.namespace, of.name(stage), patch)


def going(remediation: str) -> Disturb:
    """Its deletion waits for somebody."""

    def disturb(stage: Stage) -> None:
        of = FAULTS[remediation]
        written(remediation, metadata={"finalizers": ["acme.io/held"]})(stage)
        stage.client.delete(of.resource, stage.namespace, of.name(stage))

    return disturb


def remade(**meta: Any) -> Disturb:
    """The pinned ControllerRevision with other metadata of its object; `version` is that of the API."""

    def disturb(stage: Stage) -> None:
        kept = stage.client.get(CONTROLLER_REVISIONS, stage.namespace, "kept")
        stage.client.remove(CONTROLLER_REVISIONS, stage.namespace, "kept")
        data = kept["data"]
        version = meta.pop("version", "v1beta1")
        inner = {name: value for name, value in (data["metadata"] | meta).items() if value is not None}
        data = data | {"apiVersion": f"instancetype.kubevirt.io/{version}", "metadata": inner}
        names = ("name", "namespace", "ownerReferences")
        again = {name: value for name, value in kept["metadata"].items() if name in names}
        stage.client.create(
            {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": again, "data": data, "revision": 0}
        )

    return disturb


def kubevirt(version: str = "v1.7.1", target: str = "", **configuration: Any) -> Disturb:
    """Everybody's; put back after each test."""

    def disturb(stage: Stage) -> None:
        now = stage.client.get(KUBEVIRTS, "kubevirt", "kubevirt")
        now = stage.client.update(now | {"spec": {"configuration": configuration}})
        status = KUBEVIRT["status"] | {"observedKubeVirtVersion": version, "targetKubeVirtVersion": target or version}  # type: ignore[operator]
        stage.client.update_status(now | {"status": status})

    return disturb


def both(*acts: Disturb) -> Disturb:
    return lambda stage: [act(stage) for act in acts]


def status_of(**status: Any) -> Disturb:
    def disturb(stage: Stage) -> None:
        vm = stage.client.get(VMS, stage.namespace, "db")
        stage.client.update_status(vm | {"status": (vm.get("status") or {}) | status})

    return disturb


def other_vm(revision: Callable[[Stage], str], *, pinned: bool) -> Disturb:
    def disturb(stage: Stage) -> None:
        matcher: Object = {"name": "small", "kind": KIND} | ({"revisionName": revision(stage)} if pinned else {})
        made = fleet.vm(stage.namespace, "web")
        made["spec"]["instancetype"] = matcher
        if not pinned:
            kept = {"name": "small", "kind": KIND, "controllerRevisionRef": {"name": revision(stage)}}
            made["status"] = {"instancetypeRef": kept}
        stage.client.make(made)

    return disturb


def owned(stage: Stage) -> None:
    """As KubeVirt's restore does it meanwhile."""
    vm = stage.client.get(VMS, stage.namespace, "db")
    copy = its.copy(vm, stage.client.get(INSTANCETYPES, stage.namespace, "small"))
    written("adopt_revision", metadata={"ownerReferences": copy["metadata"]["ownerReferences"]})(stage)


def forged(stage: Stage) -> None:
    of = stage.client.get(INSTANCETYPES, stage.namespace, "small")
    vm = stage.client.get(VMS, stage.namespace, "db")
    stage.client.create(its.copy(vm, of | {"spec": {"cpu": {"guest": 64}, "memory": {"guest": "1Gi"}}}))


def long_name(stage: Stage) -> None:
    name = "a-name-of-sixty-four-characters-which-no-label-can-have-as-value"
    stage.client.create(its.kept(KIND, stage.namespace, name, SIZE))
    patched(VMS, "db", spec={"instancetype": {"name": name, "kind": KIND}})(stage)


def bare_pin(stage: Stage) -> None:
    """Of the VM's preference."""
    linux = stage.client.create(its.kept("VirtualMachinePreference", stage.namespace, "linux", {}))
    vm = stage.client.get(VMS, stage.namespace, "db")
    stage.client.create(its.copy(vm, linux, name="bare", labels={}))
    matcher = {"name": "linux", "kind": "VirtualMachinePreference", "revisionName": "bare"}
    patched(VMS, "db", spec={"preference": matcher})(stage)


def nudged(stage: Stage) -> None:
    meta = stage.client.get(INSTANCETYPES, stage.namespace, "small")["metadata"]
    patched(VMS, "db", metadata={"annotations": {NUDGED: f"{meta['uid']}-{meta['generation']}"}})(stage)


def unready(stage: Stage) -> None:
    node = stage.client.get(NODES, None, stage.namespace)
    conditions = [{"type": "Ready", "status": "Unknown"}]
    stage.client.update_status(node | {"status": node["status"] | {"conditions": conditions}})


def migrating(stage: Stage) -> None:
    kind = {"apiVersion": VMIMS.api_version, "kind": "VirtualMachineInstanceMigration"}
    stage.client.create(kind | {"metadata": {"namespace": stage.namespace, "name": "m"}, "spec": {"vmiName": "db"}})


RESTORES = row(kind="VirtualMachineRestore", name="back", target="web")
RESTORES_DB = row(kind="VirtualMachineRestore", name="back", target="db")
UPGRADES = kubevirt(target="v1.8.0")
SECOND = row(kind="KubeVirt", name="second", version="v1.7.1")
STALE_PREFERENCE = status_of(preferenceRef={"name": "linux", "controllerRevisionRef": {"name": "gone"}})
FAILS = [{"type": "Failure", "status": "True", "reason": "FailedCreate", "message": "no"}]
PIN = {"name": "large", "kind": KIND, "revisionName": "large"}


def no_vm(stage: Stage) -> None:
    stage.client.remove(VMS, stage.namespace, "db")
    stage.client.create(fleet.vm(stage.namespace, "db"))


def ending(stage: Stage) -> None:
    stage.client.delete(NAMESPACES, None, stage.namespace)


def vm_ends(stage: Stage) -> None:
    patched(VMS, "db", metadata={"finalizers": ["acme.io/held"]})(stage)
    stage.client.delete(VMS, stage.namespace, "db")


def of_db(stage: Stage) -> str:
    return FAULTS["adopt_revision"].name(stage)


_OF_VM: dict[str, Disturb] = {
    "one_kubevirt": SECOND,
    "not_upgrading": UPGRADES,
    "namespace_active": ending,
    "same_object": no_vm,
    "finding_holds": vm_ends,
}
REFUSALS: dict[str, dict[str, Disturb]] = {
    "adopt_revision": _OF_VM
    | {
        "references_kept": kubevirt(instancetype={"referencePolicy": "expandAll"}),
        "made_for_it": written("adopt_revision", metadata={"labels": {f"{LABEL}uid": "other"}}),
        "owner_gone": written(
            "adopt_revision",
            metadata={
                "ownerReferences": [
                    {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "web", "uid": "u"}
                ]
            },
        ),
        "needed_by_it_alone": other_vm(of_db, pinned=True),
        "no_snapshot_or_restore": RESTORES,
        "not_being_deleted": going("adopt_revision"),
        "finding_holds": owned,
    },
    "label_pinned_revision": _OF_VM
    | {
        "content_says_what": remade(uid=None),
        "stored_version": both(kubevirt("v1.6.5"), remade(version="v1alpha2")),
        "labels_agree": written("label_pinned_revision", metadata={"labels": {f"{LABEL}uid": "other"}}),
        "pinned_by_all": other_vm(named("kept"), pinned=False),
        "no_snapshot_or_restore": RESTORES,
        "not_being_deleted": going("label_pinned_revision"),
        "finding_holds": patched(VMS, "db", spec={"instancetype": {"revisionName": None}}),
    },
    "drop_stale_reference": _OF_VM
    | {
        "references_kept": kubevirt(instancetype={"referencePolicy": "expand"}),
        "no_matcher": both(
            patched(VMS, "db", spec={"instancetype": PIN}),
            row(
                kind="ControllerRevision",
                name="large",
                of={"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": KIND},
            ),
        ),
        "needed_by_none": lambda stage: stage.running(stage.client.get(VMS, stage.namespace, "db")),
        "no_snapshot_or_restore": RESTORES_DB,
        "unchanged_for_an_hour": patched(VMS, "db", spec={"runStrategy": "Manual"}),
    },
    "nudge_unversioned_vm": _OF_VM
    | {
        "resolvable": patched(VMS, "db", spec={"preference": {"name": "nowhere"}}),
        "no_failure": status_of(conditions=FAILS),
        "runs_with_it": lambda stage: stage.running(stage.client.get(VMS, stage.namespace, "db")),
        "pins_survive": bare_pin,
        "starts_safely": both(kubevirt("v1.7.0"), STALE_PREFERENCE),
        "name_fits": long_name,
        "name_is_free": forged,
        "not_nudged_yet": nudged,
        "no_snapshot_or_restore": RESTORES_DB,
    },
    "handle_orphan_launcher": {
        "no_migration": migrating,
        "node_ready": unready,
        "namespace_active": ending,
        "finding_holds": lambda stage: stage.running(stage.client.create(fleet.vm(stage.namespace, "db"))),
    },
}
EACH = [(name, precondition) for name, own in REFUSALS.items() for precondition in own]
REMEDIATIONS = {each.id: each for each in all_remediations()}


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    return deployed(module_api_server)


@pytest.fixture
def stage(server: ApiServer) -> Iterator[Stage]:
    with server.client() as client:
        name = f"refusals-{uuid.uuid4().hex[:8]}"
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        found = Stage(client, name)
        try:
            yield found
        finally:
            client.remove(KUBEVIRTS, name, "second")
            client.remove(NODES, None, name)
            kubevirt()(found)


@pytest.fixture
async def repairs(server: ApiServer, tmp_path: Path) -> AsyncIterator[Repairing]:
    async with repairing(str(server.kubeconfig("admin")), tmp_path / "ledger") as made:
        made.now = time.time() + DAYS  # no grace is in the way
        yield made


def seeded(stage: Stage, remediation: Remediation) -> Hint:
    fault = FAULTS[remediation.id]
    fault.seed(stage)
    check = next(each for each, reasons in remediation.answers.items() if fault.reason in reasons)
    kind, resource, name = ("Pod", PODS, fault.name(stage)) if check == "evictions" else ("VirtualMachine", VMS, "db")
    about = {"check": check, "reason": fault.reason, "kind": kind, "subject": name, "namespace": stage.namespace}
    subject = {"kind": kind} | stage.client.get(resource, stage.namespace, name)
    return hint_of(about | ({"group": "instancetype"} if kind == "VirtualMachine" else {}), [subject])


def state(stage: Stage, remediation: str) -> Object | None:
    """All that a remediation could write in what it writes to."""
    found = FAULTS[remediation].target(stage)
    if found is None:
        return None
    meta = {name: found["metadata"].get(name) for name in ("annotations", "labels", "ownerReferences")}
    return {"metadata": meta, "status": found.get("status") if FAULTS[remediation].resource is VMS else None}


@pytest.mark.parametrize(("name", "precondition"), EACH)
async def test_what_does_not_hold_refuses(stage: Stage, repairs: Repairing, name: str, precondition: str) -> None:
    remediation = REMEDIATIONS[name]
    hint = seeded(stage, remediation)
    make = repairs.make(remediation, hint)
    planned = await make()
    assert isinstance(planned, Confirmed), planned
    REFUSALS[name][precondition](stage)
    before = state(stage, name)

    refused = await make()
    result = await repairs.repair(remediation, hint)

    assert isinstance(refused, Refused), refused
    assert refused.precondition == precondition, refused.why
    assert (result.state, result.refused) == (AttemptState.REFUSED, precondition)
    assert state(stage, name) == before
    assert repairs.entries() == []


MEANWHILE = [each for each in EACH if each[0] != "handle_orphan_launcher"]


@pytest.mark.parametrize(("name", "precondition"), MEANWHILE)
async def test_what_ceases_to_hold_after_the_plan_refuses(
    stage: Stage, repairs: Repairing, name: str, precondition: str
) -> None:
    remediation = REMEDIATIONS[name]
    hint = seeded(stage, remediation)
    left: list[Object | None] = []

    async def meanwhile(_: Confirmed) -> Refused | None:
        if not left:
            REFUSALS[name][precondition](stage)
            left.append(state(stage, name))
        return None

    result = await repairs.repair(remediation, hint, meanwhile)

    assert result.state == AttemptState.REFUSED, result
    assert [state(stage, name)] == left
    assert repairs.entries() == []


@pytest.mark.parametrize("name", REFUSALS)
async def test_who_may_read_nothing_writes_nothing(server: ApiServer, stage: Stage, tmp_path: Path, name: str) -> None:
    remediation = REMEDIATIONS[name]
    hint = seeded(stage, remediation)
    async with repairing(str(server.kubeconfig("steward-exporter")), tmp_path / "ledger") as made:
        made.now = time.time() + DAYS
        refused = await made.make(remediation, hint)()
    assert isinstance(refused, Refused)
    assert refused.precondition == "everything_seen"


def test_every_precondition_is_tried() -> None:
    for name, tried in REFUSALS.items():
        assert REMEDIATIONS[name].preconditions.keys() <= tried.keys(), name
        assert tried.keys() <= REMEDIATIONS[name].preconditions.keys() | COMMON_PRECONDITIONS.keys()
        assert {check.id for check in all_checks()} >= REMEDIATIONS[name].answers.keys()
