"""Identities that VMs share, from a real API server to findings, and back to quiet."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from exporter.facts.firmware import group_id, legacy
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.exporter import Exporter, grant
from tests.cluster.resources import VMIS, VMS
from tests.manifests import Object
from tests.waiting import wait_until

Found = set[tuple[str, str, str, str]]
PATH = "/spec/template/spec/domain/firmware/uuid"


@pytest.fixture(scope="module")
def exporter(api_server: ApiServer) -> Iterator[Exporter]:
    grant(api_server.client())
    with Exporter(api_server.kubeconfig("steward-exporter")) as running:
        yield running.wait_ready()


@pytest.fixture
def other(client: Client, namespace: str) -> str:
    name = f"{namespace}-other"
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


def vm(client: Client, namespace: str, name: str, uuid: str, **notes: str) -> Object:
    made = fleet.vm(namespace, name, firmware={"uuid": uuid, "serial": str(uuid4())})
    made["metadata"]["annotations"] = notes
    return client.create(made)


def start(client: Client, namespace: str, name: str) -> None:
    client.make(fleet.vmi(client.get(VMS, namespace, name)))


def restart(client: Client, namespace: str, name: str) -> None:
    client.remove(VMIS, namespace, name)
    start(client, namespace, name)


def change(client: Client, namespace: str, name: str, old: str, new: str) -> None:
    """As the runbook has it."""
    client.patch(
        VMS,
        namespace,
        name,
        ({"op": "test", "path": PATH, "value": old}, {"op": "replace", "path": PATH, "value": new}),
    )


def findings(exporter: Exporter, *namespaces: str) -> list[Object]:
    return [each for name in namespaces for each in exporter.report(f"?namespace={name}")["findings"]]


def found(exporter: Exporter, *namespaces: str) -> Found:
    return {
        (each["subject"]["namespace"], each["subject"]["name"], each["reason"], each["severity"])
        for each in findings(exporter, *namespaces)
    }


def wait_found(exporter: Exporter, wanted: Found, *namespaces: str) -> float:
    """Seconds until just that is found."""
    started = time.monotonic()
    wait_until(lambda: found(exporter, *namespaces) == wanted, 30, f"just {sorted(wanted)}", every=0.02)
    return time.monotonic() - started


def test_two_of_one_name_collide_until_one_is_restarted_with_another_uuid(
    exporter: Exporter, client: Client, namespace: str, other: str, record_property: Any
) -> None:
    name, new = f"vm-{namespace}", str(uuid4())
    old = legacy(name)
    for where in (namespace, other):
        vm(client, where, name, old)
        start(client, where, name)
    start(client, namespace, vm(client, namespace, "fine", str(uuid4()))["metadata"]["name"])
    both = (namespace, other)
    named = {(where, name, "LegacyDerived", "info") for where in both}
    collide = {(where, name, "Duplicate", "critical") for where in both}
    opened = wait_found(exporter, collide | named, *both)
    reported = findings(exporter, *both)

    change(client, other, name, old, new)
    pending = {(other, name, "SpecRunMismatch", "warning")}
    wait_found(exporter, collide | named | pending, *both)
    restart(client, other, name)
    closed = wait_found(exporter, {(namespace, name, "LegacyDerived", "info")}, *both)

    record_property("opened_seconds", opened)
    record_property("closed_seconds", closed)
    assert opened < 2
    assert closed < 2
    assert {each["group"] for each in reported} == {group_id(old)}
    duplicates = {each["subject"]["namespace"]: each for each in reported if each["reason"] == "Duplicate"}
    assert [each["name"] for each in duplicates[namespace]["evidence"]["others"]] == [f"{other}/{name}"]
    assert duplicates[namespace]["evidence"]["keeper"] == f"{namespace}/{name}"
    assert duplicates[other]["sinceSource"] == "creationTimestamp"
    assert all(old not in each["message"] for each in reported)


def test_a_restored_copy_collides_once_it_runs_and_no_more_with_a_uuid_of_its_own(
    exporter: Exporter, client: Client, namespace: str, record_property: Any
) -> None:
    old, new = str(uuid4()), str(uuid4())
    vm(client, namespace, "db", old)
    start(client, namespace, "db")
    vm(client, namespace, "db-restored", old, **{"restore.kubevirt.io/lastRestoreUID": "r1"})
    both = ("db", "db-restored")
    wait_found(exporter, {(namespace, name, "LatentDuplicate", "warning") for name in both}, namespace)
    copy = next(each for each in findings(exporter, namespace) if each["subject"]["name"] == "db-restored")

    start(client, namespace, "db-restored")
    wait_found(exporter, {(namespace, name, "Duplicate", "critical") for name in both}, namespace)
    client.remove(VMIS, namespace, "db-restored")
    wait_found(exporter, {(namespace, name, "LatentDuplicate", "warning") for name in both}, namespace)
    change(client, namespace, "db-restored", old, new)
    closed = wait_found(exporter, set(), namespace)

    record_property("closed_seconds", closed)
    assert closed < 2
    assert copy["evidence"]["keeper"] == f"{namespace}/db"
    assert "it was restored from a snapshot" in copy["evidence"]["hints"]


def test_a_stopped_twin_may_collide_and_no_more_once_it_is_deleted(
    exporter: Exporter, client: Client, namespace: str, other: str
) -> None:
    uuid = str(uuid4())
    vm(client, namespace, "db", uuid)
    start(client, namespace, "db")
    vm(client, other, "twin", uuid.upper())
    wait_found(
        exporter,
        {(namespace, "db", "LatentDuplicate", "warning"), (other, "twin", "LatentDuplicate", "warning")},
        *(namespace, other),
    )
    assert {each["group"] for each in findings(exporter, namespace, other)} == {group_id(uuid)}

    client.patch(VMS, other, "twin", {"metadata": {"finalizers": ["example.com/other"]}})
    client.delete(VMS, other, "twin")
    wait_found(
        exporter,
        {(namespace, "db", "DuplicateEnding", "info"), (other, "twin", "DuplicateEnding", "info")},
        *(namespace, other),
    )
    client.patch(VMS, other, "twin", {"metadata": {"finalizers": None}})
    assert wait_found(exporter, set(), namespace, other) < 2
