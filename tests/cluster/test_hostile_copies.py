"""Copies of an instancetype that a tenant forges who may write ControllerRevisions, on a real API server.

What a writer may choose is everything that says who wrote it: by `fieldManager` its name in managedFields, and name,
labels, owner and data anyway. UID, generation and creation time are the API server's.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from demo.fleet import instancetypes as its
from reconcile.carry_out.confirm import Confirmed
from reconcile.plan.plan import Create, Refused
from reconcile.plan.remediations.instancetypes.restash_missing_revision import REMEDIATION
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import ApiError, Client
from tests.cluster.resources import CONTROLLER_REVISIONS, NAMESPACES, VMIS, VMS, Resource
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.manifests import Object
from tests.rows import full

from .client import account

RBAC = "rbac.authorization.k8s.io/v1"
APPS = "test-tenant-apps"
KIND = "VirtualMachineClusterInstancetype"
SIZES = Resource("instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterinstancetypes")
SMALL: Object = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}
GREEDY: Object = {
    "cpu": {"guest": 64},
    "memory": {"guest": "1Gi"},
    "hostDevices": [{"name": "nic", "deviceName": "vendor.com/nic"}],
}
ABOUT = {"check": "instancetype_vms", "reason": "RevisionMissing", "kind": "VirtualMachine", "subject": "db"}
FORGED = {"fieldManager": "virt-controller"}


@pytest.fixture
def other(client: Client, namespace: str) -> str:
    name = f"{namespace}-other"
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


@pytest.fixture
def size(client: Client) -> Object:
    """Of generation 1."""
    return client.create(its.kept(KIND, "", f"small-{uuid.uuid4().hex[:8]}", SMALL))


@pytest.fixture
def tenant(api_server: ApiServer, client: Client) -> Iterator[Any]:
    """`tenant(namespace)`: a client of somebody who may do anything in `apps`, in that namespace alone."""
    rules = [{"apiGroups": ["apps"], "resources": ["*"], "verbs": ["*"]}]
    client.apply({"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": APPS}, "rules": rules})
    made: list[Client] = []

    def of(namespace: str) -> Client:
        who = account(client, namespace)
        who.grant(APPS, namespace)
        made.append(Client(api_server.url, api_server.ca_file, who.token))
        return made[-1]

    yield of
    for each in made:
        each.close()


def sized(client: Client, namespace: str, name: str, of: Object) -> Object:
    """A VM whose status refers to its copy of generation 1, whether there is one or not."""
    vm = fleet.vm(namespace, name)
    its.refer(vm, "instancetype", of, its.copy_name(vm, of))
    return client.make(vm)


def running(client: Client, vm: Object, of: Object) -> None:
    vmi = fleet.vmi(vm)
    vmi["spec"] = its.sized(vmi["spec"], of)
    client.make(vmi)


def forge(tenant: Client, copy: Object) -> Object:
    """As virt-controller would be named; one of that name is replaced."""
    meta = copy["metadata"]
    if tenant.find(CONTROLLER_REVISIONS, meta["namespace"], meta["name"]) is not None:
        tenant.delete(CONTROLLER_REVISIONS, meta["namespace"], meta["name"])
    made: Object = tenant.connection.request("POST", CONTROLLER_REVISIONS.path(meta["namespace"]), copy, query=FORGED)
    return made


def greedy(vm: Object, of: Object) -> Object:
    return its.copy(vm, of | {"spec": GREEDY})


def grown(client: Client, of: Object) -> None:
    """What is live is another generation from now on."""
    now = client.patch(SIZES, None, of["metadata"]["name"], {"spec": {"cpu": {"guest": 4}}})
    assert now["metadata"]["generation"] == 2


def answer(client: Client, namespace: str) -> Confirmed | Refused:
    """What is planned on what the API server has."""
    objects = [full({"kind": "KubeVirt", "name": "kubevirt", "version": "v1.7.1"})]
    objects.append(client.get(NAMESPACES, None, namespace))
    kinds = {
        "VirtualMachine": VMS,
        "VirtualMachineInstance": VMIS,
        "ControllerRevision": CONTROLLER_REVISIONS,
        KIND: SIZES,
    }
    for kind, resource in kinds.items():
        listed = client.list(resource)["items"]
        objects += [{"apiVersion": resource.api_version, "kind": kind} | each for each in listed]
    about = ABOUT | {"namespace": namespace, "group": "instancetype"}
    return confirmed(REMEDIATION, hint_of(about, objects), MemoryReads(objects), time.time() + 86_400)


def refused(client: Client, namespace: str) -> Refused:
    found = answer(client, namespace)
    assert isinstance(found, Refused), found
    assert found.precondition == "copy_proven", found.why
    return found


def test_the_name_in_managed_fields_is_the_writers_choice(
    client: Client, tenant: Any, namespace: str, size: Object
) -> None:
    mine = tenant(namespace)
    made = forge(mine, greedy(sized(client, namespace, "web", size), size))
    (entry,) = made["metadata"]["managedFields"]
    assert entry["manager"] == "virt-controller"
    assert {"f:data", "f:metadata"} <= entry["fieldsV1"].keys()
    with pytest.raises(ApiError, match="immutable"):  # only a new object has other data
        mine.patch(CONTROLLER_REVISIONS, namespace, made["metadata"]["name"], {"data": {"spec": SMALL}})


def test_a_copy_from_a_namespace_of_the_tenant_is_not_taken(
    client: Client, tenant: Any, namespace: str, other: str, size: Object
) -> None:
    running(client, sized(client, namespace, "db", size), size)
    forge(tenant(other), greedy(sized(client, other, "web", size), size))
    grown(client, size)
    found = refused(client, namespace)
    assert "in another namespace, whose users might have written it" in found.why
    assert other not in found.why


def test_a_copy_in_the_vms_own_namespace_is_not_taken_while_the_vm_is_stopped(
    client: Client, tenant: Any, namespace: str, size: Object
) -> None:
    """The tenant replaced the true copy of another VM: name, labels, owner and managers are as they were."""
    sized(client, namespace, "db", size)
    web = sized(client, namespace, "web", size)
    true = client.connection.request("POST", CONTROLLER_REVISIONS.path(namespace), its.copy(web, size), query=FORGED)
    false = forge(tenant(namespace), greedy(web, size))
    for field in ("name", "labels", "ownerReferences"):
        assert true["metadata"][field] == false["metadata"][field]
    grown(client, size)
    assert "does not run" in refused(client, namespace).why


def test_a_copy_in_the_vms_own_namespace_is_not_taken_where_the_vm_runs_with_something_else(
    client: Client, tenant: Any, namespace: str, size: Object
) -> None:
    running(client, sized(client, namespace, "db", size), size)
    forge(tenant(namespace), greedy(sized(client, namespace, "web", size), size))
    grown(client, size)
    assert "the VMI does not run with its cpu.guest" in refused(client, namespace).why


def test_a_proven_copy_is_taken_whatever_the_tenant_writes_beside_it(
    client: Client, tenant: Any, namespace: str, other: str, size: Object
) -> None:
    running(client, sized(client, namespace, "db", size), size)
    web = sized(client, namespace, "web", size)
    client.connection.request("POST", CONTROLLER_REVISIONS.path(namespace), its.copy(web, size), query=FORGED)
    forge(tenant(namespace), greedy(sized(client, namespace, "a", size), size))
    forge(tenant(other), greedy(sized(client, other, "b", size), size))
    grown(client, size)
    found = answer(client, namespace)
    assert isinstance(found, Confirmed), found
    assert isinstance(found.plan.step, Create)
    assert found.plan.step.manifest["data"]["spec"] == SMALL


def test_the_live_object_is_taken_while_it_is_of_that_generation(
    client: Client, tenant: Any, namespace: str, other: str, size: Object
) -> None:
    """Nobody who may not write it can make one of its UID and generation."""
    sized(client, namespace, "db", size)
    for where in (namespace, other):
        forge(tenant(where), greedy(sized(client, where, "web", size), size))
    found = answer(client, namespace)
    assert isinstance(found, Confirmed), found
    assert isinstance(found.plan.step, Create)
    assert found.plan.step.manifest["data"]["spec"] == SMALL
