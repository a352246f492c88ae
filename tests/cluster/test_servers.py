"""API servers that modules of tests have one after the other: each finds what a new one has."""

from __future__ import annotations

import pytest

from tests.cluster.apiserver import ApiServer
from tests.cluster.client import ApiError
from tests.cluster.exporter import grant
from tests.cluster.fleet import vm
from tests.cluster.resources import CLUSTER_ROLES, CRDS, NAMESPACES, NODES, VMS, Resource
from tests.cluster.servers import Servers
from tests.waiting import wait_until

POLICIES = Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies")


def namespaces(server: ApiServer) -> set[str]:
    """As the server's memory has them, which follows what etcd keeps."""
    return {each["metadata"]["name"] for each in server.client().list(NAMESPACES, resourceVersion="0")["items"]}


def may_list(server: ApiServer) -> bool:
    try:
        return "items" in server.client("steward-exporter").list(VMS)
    except ApiError as error:
        if error.code != 403:
            raise
        return False


def test_the_next_one_to_have_a_server_meets_nothing_of_the_last_one(api_servers: Servers) -> None:
    with api_servers.lent() as first:
        admin = first.client()
        roles = {each["metadata"]["name"]: each for each in admin.list(CLUSTER_ROLES)["items"]}
        there = namespaces(first)
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "left"}})
        admin.make({**vm("left", "db"), "status": {"printableStatus": "Stopped"}})
        admin.make({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "left"}})
        grant(admin)
        wait_until(lambda: may_list(first), 30, "the exporter may list")
        admin.patch(CLUSTER_ROLES, None, "view", {"metadata": {"labels": {"left": "behind"}}, "aggregationRule": None})
        admin.delete(CLUSTER_ROLES, None, "system:node")
        assert any(each["requestURI"].endswith("/namespaces/left/virtualmachines") for each in first.audit_events())

    with api_servers.lent() as second:
        assert second is first
        admin = second.client()
        assert namespaces(second) == there
        for resource in (VMS, NODES):
            assert admin.list(resource, resourceVersion="0")["items"] == []
        wait_until(lambda: not may_list(second), 30, "nobody may list what nobody granted")
        found = {each["metadata"]["name"]: each for each in admin.list(CLUSTER_ROLES)["items"]}
        for each in (*roles.values(), *found.values()):
            del each["metadata"]["resourceVersion"]
        assert found == roles
        assert not any("left" in each["requestURI"] for each in second.audit_events())

        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "left"}})
        admin.make(vm("left", "db"))
        assert len(admin.list(VMS)["items"]) == 1


def test_a_server_that_was_killed_and_is_back_is_lent_again_and_a_dead_one_is_not(api_servers: Servers) -> None:
    with api_servers.lent() as first:
        first.kill()
        first.start()
    with api_servers.lent() as second:
        assert second is first
        second.kill()
    with api_servers.lent() as third:
        assert third is not first
        assert not first.folder.exists()


@pytest.mark.parametrize("what", ["policy", "kind"])
def test_a_server_with_other_kinds_or_policies_is_not_put_back(api_servers: Servers, what: str) -> None:
    """Within a moment it would not be as new: such a one is not lent again."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
    policy = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "false"}]}
    names = {"plural": "tests", "singular": "test", "kind": "Test", "listKind": "TestList"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    kind = {"group": "example.org", "scope": "Namespaced", "names": names, "versions": [version]}
    resource, name, spec = (POLICIES, "left", policy) if what == "policy" else (CRDS, "tests.example.org", kind)
    with api_servers.lent() as server:
        admin = server.client()
        of = "ValidatingAdmissionPolicy" if what == "policy" else "CustomResourceDefinition"
        admin.create({"apiVersion": resource.api_version, "kind": of, "metadata": {"name": name}, "spec": spec})
        assert server.stored.put_back() is None
        assert admin.find(resource, None, name) is not None
        admin.remove(resource, None, name)
        assert server.stored.put_back() is not None
