"""What tests of this folder build on: real servers that start, refuse, record, die, come back and end."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

import pytest

from tests.cluster.apiserver import ApiServer
from tests.cluster.client import ApiError, Client
from tests.cluster.conftest import MakeApiServer, MakePrometheus
from tests.cluster.custom_resources import NETWORKS, OURS, install, loose
from tests.cluster.process import Process, free_ports
from tests.cluster.resources import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    CRDS,
    IPAM_CLAIMS,
    NADS,
    NAMESPACES,
    PODS,
    VMIS,
    VMS,
    Resource,
)
from tests.manifests import Object, load_all
from tests.shared import data, reference
from tests.tools.crds import published
from tests.waiting import wait_until

PATIENCE = 60  # seconds, of which a VM with nothing else to do needs none

ROLE = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRole",
    "metadata": {"name": "list-pods"},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}],
}
BINDING = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "list-pods"},
    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "list-pods"},
    "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "steward-exporter"}],
}


@pytest.fixture(scope="module")
def mortal(module_api_server: MakeApiServer) -> ApiServer:
    """The one that these tests may kill and strip, and whose audit log may be full of refusals."""
    return module_api_server(with_crds=False)


def config_map(namespace: str, name: str, **data: str) -> Object:
    meta = {"namespace": namespace, "name": name}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def vm(namespace: str, name: str) -> Object:
    spec = {"running": False, "template": {"spec": {"domain": {"devices": {}}}}}
    meta = {"namespace": namespace, "name": name}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": meta, "spec": spec}


def test_the_shared_server_is_ready_and_serves_the_kinds_that_we_read(api_server: ApiServer, client: Client) -> None:
    assert client.connection.request("GET", "/readyz") == "ok"
    for kind in (VMS, VMIS, IPAM_CLAIMS, NADS):
        assert "items" in client.list(kind, limit=1)  # other tests may have made some


def test_an_account_may_do_nothing_until_it_is_granted(mortal: ApiServer) -> None:
    client, exporter = mortal.client(), mortal.client("steward-exporter")
    with pytest.raises(ApiError, match='User "steward-exporter" cannot list resource "pods"') as refused:
        exporter.list(PODS)
    assert refused.value.code == 403

    client.apply(ROLE)
    client.apply(BINDING)
    wait_until(lambda: may_list_pods(exporter), PATIENCE, "steward-exporter may list pods")

    client.remove(CLUSTER_ROLE_BINDINGS, None, "list-pods")
    client.remove(CLUSTER_ROLES, None, "list-pods")
    wait_until(lambda: not may_list_pods(exporter), PATIENCE, "steward-exporter may not list pods any more")


def may_list_pods(client: Client) -> bool:
    return code_of_list(client, PODS) == 200


def test_the_audit_log_has_a_write_with_its_body_and_a_read_without(
    api_server: ApiServer, client: Client, namespace: str
) -> None:
    client.create(config_map(namespace, "noted", word="written"))
    client.get(CONFIG_MAPS, namespace, "noted")

    def entries() -> dict[str, Object] | None:
        found = {
            e["verb"]: e for e in api_server.audit_events() if e.get("objectRef", {}).get("namespace") == namespace
        }
        return found if {"create", "get"} <= found.keys() else None

    found = wait_until(entries, PATIENCE, "both requests are in the audit log")
    assert found["create"]["user"]["username"] == "admin"
    assert found["create"]["requestObject"]["data"] == {"word": "written"}
    assert found["get"]["level"] == "Metadata"


def test_objects_are_made_with_status_patched_and_removed(client: Client, namespace: str) -> None:
    made = client.make({**vm(namespace, "db"), "status": {"printableStatus": "Stopped"}})
    assert made["status"]["printableStatus"] == "Stopped"

    patched = client.patch(VMS, namespace, "db", {"metadata": {"labels": {"a": "b"}}})
    assert patched["metadata"]["labels"] == {"a": "b"}
    with pytest.raises(ApiError) as refused:
        client.patch(VMS, namespace, "db", ({"op": "test", "path": "/metadata/uid", "value": "another"},))
    assert refused.value.code == 422
    with pytest.raises(ApiError) as refused:
        client.update({**made, "metadata": {**made["metadata"], "finalizers": ["example.org/kept"]}})
    assert refused.value.code == 409

    client.remove(VMS, namespace, "db")
    assert client.find(VMS, namespace, "db") is None


def test_a_streaming_list_ends_with_the_bookmark_that_says_so(client: Client, namespace: str) -> None:
    if int(client.connection.request("GET", "/version")["minor"]) < 34:
        pytest.skip("Kubernetes before 1.34 has streaming lists off by default")
    for name in ("a", "b"):
        client.create(vm(namespace, name))
    how: dict[str, str | int] = {
        "sendInitialEvents": "true",
        "resourceVersionMatch": "NotOlderThan",
        "allowWatchBookmarks": "true",
        "timeoutSeconds": PATIENCE,
    }
    events = client.watch(VMS, namespace, **how)
    listed = list(takewhile(lambda event: not ends_the_list(event), events))
    events.close()

    assert sorted((event["type"], event["object"]["metadata"]["name"]) for event in listed) == [
        ("ADDED", "a"),
        ("ADDED", "b"),
    ]


def ends_the_list(event: Object) -> bool:
    annotations = event["object"]["metadata"].get("annotations", {})
    return bool(event["type"] == "BOOKMARK" and annotations.get("k8s.io/initial-events-end") == "true")


def test_a_killed_server_comes_back_with_the_same_objects(mortal: ApiServer) -> None:
    admin = mortal.client()
    before = admin.create(config_map("default", "kept"))

    mortal.kill()
    with pytest.raises(OSError, match=r"refused|reset"):
        admin.get(CONFIG_MAPS, "default", "kept")
    mortal.start()
    assert admin.get(CONFIG_MAPS, "default", "kept")["metadata"]["uid"] == before["metadata"]["uid"]

    mortal.restart()
    assert admin.find(NAMESPACES, None, "default") is not None


def test_a_crd_that_was_deleted_is_served_again_when_it_is_made_again(mortal: ApiServer) -> None:
    admin = mortal.client()
    ours = [crd for path in sorted(OURS.glob("*.yaml")) for crd in load_all(path)]
    install(admin, ours)
    admin.create(vm("default", "db"))

    admin.remove(CRDS, None, "virtualmachines.kubevirt.io")
    wait_until(lambda: code_of_list(admin, VMS) == 404, PATIENCE, "virtual VMs are no longer served")
    install(admin, ours)
    assert admin.list(VMS)["items"] == []
    admin.create(vm("default", "db"))


def code_of_list(client: Client, resource: Resource) -> int:
    try:
        client.list(resource)
    except ApiError as err:
        return err.code
    return 200


def test_only_the_owner_reads_a_kubeconfig(api_server: ApiServer) -> None:
    path = api_server.kubeconfig("steward-exporter")
    assert path.stat().st_mode & 0o777 == 0o600


def test_prometheus_scrapes_and_evaluates(prometheus: MakePrometheus, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("groups: [{name: g, rules: [{alert: Up, expr: up == 1}]}]")
    (port,) = free_ports(1)
    server = prometheus(port=port, targets=[f"127.0.0.1:{port}"], rule_files=[rules])

    (sample,) = server.wait_for('up{job="test"} == 1')
    assert sample["metric"]["instance"] == server.address
    assert [target["health"] for target in server.targets()] == ["up"]
    (alert,) = wait_until(server.alerts, PATIENCE, "an alert fires")
    assert alert["state"] == "firing"


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    process = Process("teller", ["/bin/sh", "-c", "echo the disk is full; exit 3"], tmp_path / "log")
    with pytest.raises(RuntimeError, match=r"(?s)teller ended with status 3.*the disk is full"):
        process.start(lambda: False)


def test_our_crds_of_networks_are_the_published_ones_but_for_their_schemas() -> None:
    real = {crd["metadata"]["name"]: outline(crd) for crd in published(*NETWORKS)}
    ours = {crd["metadata"]["name"]: outline(crd) for crd in loose()}
    assert len(real) == 4
    assert {name: ours[name] for name in real} == real


@reference("our CRDs have the names, versions, scopes and subresources of KubeVirt's")
def test_our_crds_of_kubevirt_are_its_own_but_for_their_schemas() -> None:
    real = {
        crd["metadata"]["name"]: crd for file in (data() / "crds/kubevirt").glob("*.yaml") for crd in load_all(file)
    }
    ours = {crd["metadata"]["name"]: crd for crd in loose() if crd["spec"]["group"].endswith("kubevirt.io")}
    assert len(ours) > 15
    assert {name: outline(crd) for name, crd in ours.items()} == {name: outline(real[name]) for name in ours}


def outline(crd: Object) -> Object:
    spec = crd["spec"]
    names = {key: value for key, value in spec["names"].items() if key != "listKind"}  # has a default
    versions = [
        {key: row.get(key) for key in ("name", "served", "storage", "deprecated", "subresources")}
        for row in spec["versions"]
    ]
    return {"group": spec["group"], "scope": spec["scope"], "names": names, "versions": versions}
