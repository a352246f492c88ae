"""What remediations of instancetypes write, sent to a real API server; by its managedFields, who reverts it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from demo.fleet import instancetypes as its
from exporter.facts.record import Ref, epoch
from exporter.store.kind import ApiKind
from exporter.store.kinds import controller_revision, instancetypes, virtual_machine
from reconcile.carry_out.confirm import Confirmed
from reconcile.plan.owners import claimed, known_owners, rival
from reconcile.plan.plan import Add, Create, Patch, Plan, Refused, Replace, Risk, Step
from reconcile.plan.remediations.instancetypes.delete_orphan_revision import REMEDIATION as DELETE
from reconcile.plan.remediations.instancetypes.drop_stale_reference import REMEDIATION as DROP
from reconcile.plan.remediations.instancetypes.guard_instancetype import ALLOWED, FINALIZER
from reconcile.plan.remediations.instancetypes.guard_instancetype import REMEDIATION as GUARD
from reconcile.plan.remediations.instancetypes.restash_missing_revision import REMEDIATION as RESTASH
from reconcile.plan.requests import MANAGER, request
from tests.cluster import fleet
from tests.cluster.client import Client
from tests.cluster.resources import CONTROLLER_REVISIONS, NAMESPACES, VMIS, VMS, Resource
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.evaluation import NOW
from tests.manifests import Object
from tests.rows import full

KIND = "VirtualMachineInstancetype"
SIZES = Resource("instancetype.kubevirt.io", "v1beta1", "virtualmachineinstancetypes")
SPEC = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
_LATER = NOW + 400 * 86_400  # objects are of today, which may be after the tests' now


def sized(client: Client, namespace: str, name: str, of: Object, revision: str) -> Object:
    vm = fleet.vm(namespace, name)
    vm["spec"]["instancetype"] = {"name": of["metadata"]["name"], "kind": KIND}
    reference = {"name": of["metadata"]["name"], "kind": KIND, "controllerRevisionRef": {"name": revision}}
    vm["status"] = {"instancetypeRef": reference}
    return client.make(vm)


def planned(client: Client, namespace: str, remediation: Any, about: Object) -> Confirmed:
    found = looked(client, namespace, remediation, about)
    assert not isinstance(found, Refused), found
    return found


def looked(client: Client, namespace: str, remediation: Any, about: Object, now: float = _LATER) -> Confirmed | Refused:
    """What is planned on what the API server has in the namespace."""
    objects = [
        full({"kind": "KubeVirt", "name": "kubevirt", "version": "v1.7.1"}),
        client.get(NAMESPACES, None, namespace),
    ]
    kinds = {"VirtualMachine": VMS, "VirtualMachineInstance": VMIS, "ControllerRevision": CONTROLLER_REVISIONS}
    for kind, resource in (kinds | {KIND: SIZES}).items():
        version = resource.api_version
        objects += [{"apiVersion": version, "kind": kind} | each for each in client.list(resource, namespace)["items"]]
    return confirmed(remediation, hint_of(about | {"namespace": namespace}, objects), MemoryReads(objects), now)


def send(client: Client, made: Confirmed, kind: ApiKind[Any], *, dry: bool = False) -> Object:
    return write(client, made.plan.step, made.whole, kind, dry=dry)


def write(client: Client, step: Step, whole: Mapping[str, Any], kind: ApiKind[Any], *, dry: bool = False) -> Object:
    sent = request(step, kind, whole["apiVersion"].rpartition("/")[2], whole, dry=dry)
    sort = sent.headers.get("Content-Type")
    answer: Object = client.connection.request(
        sent.method, sent.path, sent.body, query=dict(sent.query), content_type=sort
    )
    return answer


def lost(**about: str) -> Object:
    return {"check": "instancetype_vms", "reason": "RevisionMissing", "kind": "VirtualMachine"} | about


def test_the_lost_copy_is_created_as_it_was(client: Client, namespace: str) -> None:
    of = client.create(its.kept(KIND, namespace, "small", SPEC))
    web = sized(client, namespace, "web", of, its.copy_name({"metadata": {"name": "web"}}, of))
    path, maker = CONTROLLER_REVISIONS.path(namespace), {"fieldManager": "virt-controller"}
    copied = client.connection.request("POST", path, its.copy(web, of), query=maker)
    name = its.copy_name({"metadata": {"name": "db"}}, of)
    vm = sized(client, namespace, "db", of, name)
    vmi = fleet.vmi(vm)
    client.make(vmi | {"spec": its.sized(vmi["spec"], of)})
    wanted = its.copy(vm, of)
    client.patch(SIZES, namespace, "small", {"spec": {"cpu": {"guest": 4}}})  # what is live is another generation now

    made = planned(client, namespace, RESTASH, lost(subject="db", group="instancetype"))
    assert isinstance(made.plan.step, Create)
    send(client, made, controller_revision.KIND, dry=True)
    assert client.find(CONTROLLER_REVISIONS, namespace, name) is None
    send(client, made, controller_revision.KIND)
    there = client.get(CONTROLLER_REVISIONS, namespace, name)
    assert there["data"] == copied["data"]
    for field in ("labels", "ownerReferences"):
        assert there["metadata"][field] == wanted["metadata"][field]


def test_the_reference_goes_from_the_status_and_from_nowhere_else(client: Client, namespace: str) -> None:
    of = client.create(its.kept(KIND, namespace, "small", SPEC))
    before = sized(client, namespace, "db", of, "lost")
    made = planned(client, namespace, RESTASH, lost(subject="db", group="instancetype"))
    assert isinstance(made.plan.step, Patch)
    send(client, made, virtual_machine.KIND, dry=True)
    assert client.get(VMS, namespace, "db") == before
    send(client, made, virtual_machine.KIND)
    after = client.get(VMS, namespace, "db")
    assert after["status"] == before["status"] | {"instancetypeRef": {"name": "small", "kind": KIND}}
    assert after["spec"] == before["spec"]


def test_a_guarded_instancetype_survives_its_deletion(client: Client, namespace: str) -> None:
    allowed = its.kept(KIND, namespace, "small", SPEC, annotations={ALLOWED: "true"})
    of = client.create(allowed)
    vm = fleet.vm(namespace, "db")
    vm["spec"]["instancetype"] = {"name": "small", "kind": KIND}
    client.create(vm)
    about = {"check": "instancetype_objects", "reason": "DeletableInUse", "kind": KIND, "subject": "small"}
    made = planned(client, namespace, GUARD, about)
    send(client, made, instancetypes.INSTANCETYPE)
    client.delete(SIZES, namespace, "small")
    there = client.get(SIZES, namespace, "small")
    assert there["metadata"]["deletionTimestamp"]
    assert there["metadata"]["finalizers"] == [FINALIZER]
    assert there["spec"] == of["spec"]


def test_an_orphaned_copy_is_deleted_and_comes_back_from_what_was_kept(client: Client, namespace: str) -> None:
    of = client.create(its.kept(KIND, namespace, "small", SPEC))
    vm = client.create(fleet.vm(namespace, "db"))
    copied = client.create(its.copy(vm, of))
    name = copied["metadata"]["name"]
    about = {
        "check": "instancetype_revisions",
        "reason": "OrphanedRevision",
        "kind": "ControllerRevision",
        "subject": name,
    }
    made = planned(client, namespace, DELETE, about)
    send(client, made, controller_revision.KIND, dry=True)
    assert client.get(CONTROLLER_REVISIONS, namespace, name) == copied
    send(client, made, controller_revision.KIND)
    assert client.find(CONTROLLER_REVISIONS, namespace, name) is None


@pytest.mark.parametrize(
    ("path", "value", "owned"),
    [
        ("/spec/runStrategy", "Halted", True),
        ("/spec/template/spec/terminationGracePeriodSeconds", 5, False),
        ("/metadata/labels/team", "ours", True),
        ("/metadata/labels/other", "ours", False),
        ("/metadata/finalizers", ["acme.io/keep", FINALIZER], False),
        ("/metadata/finalizers", [FINALIZER], True),
    ],
)
def test_who_applied_a_field_claims_it_and_nothing_beside(
    client: Client, namespace: str, path: str, value: Any, owned: bool
) -> None:
    vm = fleet.vm(namespace, "db")
    client.create(vm)
    applied = {
        "apiVersion": vm["apiVersion"],
        "kind": vm["kind"],
        "metadata": {
            "name": "db",
            "namespace": namespace,
            "labels": {"team": "theirs"},
            "finalizers": ["acme.io/keep"],
        },
        "spec": {"runStrategy": "Manual", "template": {"spec": {"domain": {"cpu": {"cores": 2}}}}},
    }
    client.apply(applied, manager="acme")
    whole = client.get(VMS, namespace, "db")
    found = claimed(plan_of(Patch(target=ref(whole), ops=(Add(path, value),))), whole)
    assert (found is not None) is owned, found
    assert found is None or found.owner == "field manager `acme`"
    assert not list(known_owners(whole, [path]))


def test_who_applies_it_anew_is_the_rival(client: Client, namespace: str) -> None:
    vm = client.create(fleet.vm(namespace, "db"))
    step = Patch(target=ref(vm), ops=(Replace("/spec/runStrategy", "Manual"),))
    left = write(client, step, vm, virtual_machine.KIND)
    assert left["spec"]["runStrategy"] == "Manual"
    assert any(each["manager"] == MANAGER for each in left["metadata"]["managedFields"])
    back = {each: vm[each] for each in ("apiVersion", "kind")} | {"metadata": {"name": "db", "namespace": namespace}}
    after = client.apply(back | {"spec": {"runStrategy": "Halted", "template": vm["spec"]["template"]}}, manager="acme")
    assert rival(left, after, step.ops) == "acme"


def ref(whole: Object) -> Ref:
    meta = whole["metadata"]
    return Ref(whole["kind"], meta["namespace"], meta["name"], meta["uid"])


def plan_of(step: Step) -> Plan:
    of = step.target
    return Plan(
        remediation="r",
        fingerprint="f",
        check="c",
        reason="R",
        subject=of,
        step=step,
        why="",
        effect="",
        risk=Risk.NONE,
        undo="none",
    )


def test_when_a_matcher_was_taken_out_only_the_generation_tells_that_kubevirt_notes(
    client: Client, namespace: str
) -> None:
    of = client.create(its.kept(KIND, namespace, "small", SPEC))
    web = sized(client, namespace, "web", of, its.copy_name({"metadata": {"name": "web"}}, of))
    web = client.update_status(web | {"status": web["status"] | {"desiredGeneration": web["metadata"]["generation"]}})
    before = [each["time"] for each in web["metadata"]["managedFields"]]
    path = VMS.path(namespace, "web")
    gone = client.connection.request(
        "PATCH",
        path,
        [{"op": "remove", "path": "/spec/instancetype"}],
        query={"fieldManager": "kubectl-patch"},
        content_type="application/json-patch+json",
    )
    about = {"check": "instancetype_vms", "reason": "StaleReference", "kind": "VirtualMachine"}
    about |= {"subject": "web", "group": "instancetype"}
    unnoted = looked(client, namespace, DROP, about)
    generation = gone["metadata"]["generation"]
    noted = client.update_status(gone | {"status": gone["status"] | {"desiredGeneration": generation}})
    early = looked(client, namespace, DROP, about, _status_written(noted) + 3599)
    made = looked(client, namespace, DROP, about, _status_written(noted) + 3600)

    assert [each["time"] for each in gone["metadata"]["managedFields"]] == before
    assert "kubectl-patch" not in {each["manager"] for each in gone["metadata"]["managedFields"]}
    assert generation == web["metadata"]["generation"] + 1
    for refused in (unnoted, early):
        assert isinstance(refused, Refused)
        assert refused.precondition == "unchanged_for_an_hour", refused.why
    assert isinstance(made, Confirmed), made
    assert "instancetypeRef" not in send(client, made, virtual_machine.KIND)["status"]


def _status_written(vm: Object) -> float:
    fields = (each for each in vm["metadata"]["managedFields"] if each.get("subresource") == "status")
    return max(epoch(each["time"]) or 0.0 for each in fields)
