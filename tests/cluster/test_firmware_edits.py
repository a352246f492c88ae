"""A firmware UUID that somebody wrote into a VM's spec while it runs, by what a real API server keeps of the write."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from exporter.facts.firmware import legacy
from reconcile.carry_out.confirm import Confirmed
from reconcile.plan.plan import Add, Patch, Refused
from reconcile.plan.remediations.identity.persist_firmware_uuid import REMEDIATION
from tests.cluster import fleet
from tests.cluster.client import Client
from tests.cluster.resources import NAMESPACES, VMIS, VMS
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.evaluation import NOW
from tests.manifests import Object
from tests.rows import full

ABOUT = {"check": "firmware_vms", "reason": "SpecRunMismatch", "kind": "VirtualMachine", "subject": "db"}
PATH = "/spec/template/spec/domain/firmware/uuid"
_LATER = NOW + 400 * 86_400  # objects are of today, which may be after the tests' now


def running(client: Client, namespace: str) -> Object:
    vm = client.create(fleet.vm(namespace, "db"))
    client.make(fleet.vmi(vm))
    return vm


def sent(client: Client, namespace: str, method: str, body: Any, sort: str, **query: str) -> Object:
    path = VMS.path(namespace, "db")
    answer: Object = client.connection.request(method, path, body, query=query, content_type=f"application/{sort}")
    return answer


def answer(client: Client, namespace: str) -> Confirmed | Refused:
    objects = [full({"kind": "KubeVirt", "name": "kubevirt", "version": "v1.7.1"})]
    objects.append(client.get(NAMESPACES, None, namespace))
    for resource, kind in ((VMS, "VirtualMachine"), (VMIS, "VirtualMachineInstance")):
        listed = client.list(resource, namespace)["items"]
        objects += [{"apiVersion": resource.api_version, "kind": kind} | each for each in listed]
    return confirmed(REMEDIATION, hint_of(ABOUT | {"namespace": namespace}, objects), MemoryReads(objects), _LATER)


def edited(client: Client, namespace: str, new: str) -> None:
    sent(client, namespace, "PATCH", _firmware(new), "merge-patch+json", fieldManager="kubectl-edit")


def applied(client: Client, namespace: str, new: str) -> None:
    whole = {"apiVersion": VMS.api_version, "kind": "VirtualMachine", "metadata": {"name": "db"}} | _firmware(new)
    sent(client, namespace, "PATCH", whole, "apply-patch+yaml", fieldManager="fleet", force="true")


def replaced(client: Client, namespace: str, new: str) -> None:
    whole = client.get(VMS, namespace, "db")
    whole["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"] = new
    sent(client, namespace, "PUT", whole, "json", fieldManager="kubectl-replace")


def as_the_steward(client: Client, namespace: str, new: str) -> None:
    op = {"op": "replace", "path": PATH, "value": new}
    sent(client, namespace, "PATCH", [op], "json-patch+json", fieldManager="kubevirt-steward")


def stripped(client: Client, namespace: str, new: str) -> None:
    edited(client, namespace, new)
    client.patch(VMS, namespace, "db", {"metadata": {"managedFields": [{}]}})


def _firmware(uuid: str) -> Object:
    return {"spec": {"template": {"spec": {"domain": {"firmware": {"uuid": uuid}}}}}}


WRITES = {
    edited: "kubectl-edit wrote the UUID",
    applied: "fleet wrote the UUID",
    replaced: "kubectl-replace wrote the UUID",
    as_the_steward: "kubevirt-steward wrote the UUID",
    stripped: "managedFields do not say who wrote the UUID",
}


@pytest.mark.parametrize(("write", "because"), WRITES.items(), ids=lambda each: getattr(each, "__name__", ""))
def test_what_somebody_wrote_for_the_next_start_stays(client: Client, namespace: str, write: Any, because: str) -> None:
    running(client, namespace)
    write(client, namespace, str(uuid4()))
    refused = answer(client, namespace)
    assert isinstance(refused, Refused), refused
    assert refused.precondition == "not_edited_since_start"
    assert because in refused.why


def test_what_virt_controller_derived_is_taken_back(client: Client, namespace: str) -> None:
    """Somebody replaced the VM without its UUID, and virt-controller wrote the one that it derives from the name."""
    vm = running(client, namespace)
    uuid = vm["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"]
    op = {"op": "remove", "path": PATH}
    sent(client, namespace, "PATCH", [op], "json-patch+json", fieldManager="kubectl-replace")
    derived = {"op": "add", "path": PATH, "value": legacy("db")}
    sent(client, namespace, "PATCH", [derived], "json-patch+json", fieldManager="virt-controller")
    made = answer(client, namespace)
    assert isinstance(made, Confirmed), made
    assert isinstance(made.plan.step, Patch)
    assert Add(PATH, uuid) in made.plan.step.ops


def test_an_edit_of_another_field_is_none_of_the_uuid(client: Client, namespace: str) -> None:
    running(client, namespace)
    op = {"op": "replace", "path": PATH, "value": legacy("db")}
    sent(client, namespace, "PATCH", [op], "json-patch+json", fieldManager="virt-controller")
    grace = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 7}}}}
    sent(client, namespace, "PATCH", grace, "merge-patch+json", fieldManager="kubectl-edit")
    made = answer(client, namespace)
    assert isinstance(made, Confirmed), made
