"""What repairs of IPAMClaims refuse on a real API server: each precondition, by the objects of its cases.

The cases say what is planned of objects in memory; here the same objects are created, decoded and read by permission,
with the UIDs, times and deletions that the API server gives them.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from reconcile.carry_out.attempt import AttemptState
from reconcile.decide.repair import Hint
from reconcile.ledger import Event
from reconcile.plan.plan import Refused
from reconcile.plan.remediation import COMMON_PRECONDITIONS, Remediation
from reconcile.plan.remediations.networks import (
    adopt_ipam_claim,
    handle_foreign_finalizer,
    handle_unkept_address,
    reclaim_ipam_claim,
    recreate_ipam_claim,
)

from ..confirming import hint_of
from ..evaluation import api_kinds
from ..manifests import Object
from ..remediation_cases import cases_of
from ..repairing import Repairing, repairing
from ..rows import CLUSTER_WIDE, full
from .apiserver import ApiServer
from .client import Client, account
from .conftest import MakeApiServer
from .resources import Resource

__all__ = ["NAMESPACES", "CaseGround"]

# The objects of cases on a real API server, with the UIDs, times and deletions that it gives them.

NAMESPACES = ("ns", "other", "ovn-kubernetes")
_FIRST = ("NetworkAttachmentDefinition", "VirtualMachine", "VirtualMachineInstance")  # what others have the UID of


class CaseGround:
    """The namespaces of the cases on one server: what a case makes is gone after it."""

    def __init__(self, client: Client, made: Repairing) -> None:
        self.client, self.made = client, made
        self._uids: dict[str, str] = {}
        self._there: list[tuple[Resource, str | None, str]] = []

    def make(self, rows: list[Object]) -> list[Object]:
        rows = sorted(rows, key=lambda row: _FIRST.index(row["kind"]) if row["kind"] in _FIRST else len(_FIRST))
        return [self._made(row) for row in rows if row["kind"] != "Namespace"]

    def _made(self, row: Object) -> Object:
        obj = full(row)
        meta = obj["metadata"]
        for field in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
            meta.pop(field, None)
        uid = meta.pop("uid")
        for place, owner in enumerate(meta.get("ownerReferences") or ()):
            owner["uid"] = self._uids.get(owner["uid"], owner["uid"])
            owner["controller"] = not place  # the API server takes one
        found = api_kinds()[obj["kind"]]
        group, _, version = obj["apiVersion"].rpartition("/")
        namespace = None if obj["kind"] in CLUSTER_WIDE else meta["namespace"]
        resource = Resource(group, version, found.plural)
        self._there.append((resource, namespace, meta["name"]))
        if obj["kind"] == "IPAMClaim":
            _as_the_schema_has_it(obj.setdefault("status", {}))
        made = self.client.make(obj)
        self._uids[uid] = made["metadata"]["uid"]
        if row.get("deleting"):
            self.client.delete(resource, namespace, meta["name"])
            made = self.client.get(resource, namespace, meta["name"])
        return made

    def clear(self) -> None:
        for resource, namespace, name in reversed(self._there):
            if self.client.find(resource, namespace, name) is not None:
                self.client.patch(resource, namespace, name, {"metadata": {"finalizers": None}})
                self.client.remove(resource, namespace, name)

    def versions(self) -> list[tuple[str, str]]:
        found = (self.client.find(*place) for place in self._there)
        return [(each["metadata"]["uid"], each["metadata"]["resourceVersion"]) for each in found if each is not None]


def _as_the_schema_has_it(status: Object) -> None:
    status["ips"] = status.get("ips") or []
    for each in status.get("conditions") or ():
        each.setdefault("message", "")


DAY = 86_400.0
OURS: tuple[Remediation, ...] = tuple(
    each.REMEDIATION
    for each in (
        adopt_ipam_claim,
        handle_foreign_finalizer,
        handle_unkept_address,
        reclaim_ipam_claim,
        recreate_ipam_claim,
    )
)


def refused(remediation: Remediation) -> Iterator[tuple[str, dict[str, Any]]]:
    """The cases of its own preconditions."""
    for name, case in cases_of(remediation).items():
        if case.get("refuses") in remediation.preconditions and not {"fails", "absent"} & case.keys():
            yield name, case


CASES = [
    pytest.param(remediation, case, id=f"{remediation.id}-{name}")
    for remediation in OURS
    for name, case in refused(remediation)
]
DONE = [
    pytest.param(remediation, name, id=f"{remediation.id}-{name}")
    for remediation, name in (
        (OURS[0], "vm_was_created_again"),
        (OURS[0], "vm_runs_on_it"),
        (OURS[0], "vm_is_stopped_and_allows_another_address"),
        (OURS[3], "vm_runs_with_another_interface"),
        (OURS[3], "deleted_while_the_vm_is_stopped_and_allows_it"),
        (OURS[4], "vmi_lacks_its_ipam_claim"),
    )
]


def hint(case: dict[str, Any], objects: list[Object]) -> Hint:
    return hint_of({**case["about"], "uid": None}, objects)


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = module_api_server()
    for name in NAMESPACES:
        made.client().create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return made


@pytest.fixture
async def ground(server: ApiServer, tmp_path: Path) -> AsyncIterator[CaseGround]:
    async with repairing(str(server.kubeconfig("admin")), tmp_path / "ledger") as made:
        with server.client() as client:
            stage = CaseGround(client, made)
            try:
                yield stage
            finally:
                stage.clear()


def test_each_precondition_has_a_case() -> None:
    for remediation in OURS:
        tried = {case["refuses"] for _, case in refused(remediation)}
        assert tried == remediation.preconditions.keys() - COMMON_PRECONDITIONS.keys(), remediation


@pytest.mark.parametrize(("remediation", "case"), CASES)
async def test_it_is_refused_and_nothing_is_written(
    ground: CaseGround, remediation: Remediation, case: dict[str, Any]
) -> None:
    objects = ground.make(case["given"])
    ground.made.now = time.time() + (60 if case["refuses"] == "controller_had_time" else 2 * DAY)
    before = ground.versions()

    result = await ground.made.repair(remediation, hint(case, objects))

    assert result.refused == case["refuses"], result
    assert ground.versions() == before
    assert ground.made.entries() == []


@pytest.mark.parametrize(("remediation", "name"), DONE)
async def test_it_is_written_once(ground: CaseGround, remediation: Remediation, name: str) -> None:
    case = cases_of(remediation)[name]
    objects = ground.make(case["given"])
    ground.made.now = time.time() + 2 * DAY
    before = dict(ground.versions())

    result = await ground.made.repair(remediation, hint(case, objects))

    assert result.state == AttemptState.DONE, result
    assert result.plan is not None
    after = dict(ground.versions())
    changed = {uid for uid, version in before.items() if after.get(uid) != version}
    assert changed == {result.plan.target.uid}
    again = await ground.made.repair(remediation, hint(case, objects))
    assert again.state != AttemptState.DONE, again
    assert dict(ground.versions()) == after


async def test_a_vm_that_starts_between_plan_and_write_keeps_its_address(ground: CaseGround) -> None:
    """Its owner has allowed another one, and starts it right then."""
    case = cases_of(OURS[0])["vm_is_stopped_and_allows_another_address"]
    objects = ground.make(case["given"])
    ground.made.now = time.time() + 2 * DAY
    vm = next(each for each in objects if each["kind"] == "VirtualMachine")

    async def starts(_: Any) -> Refused | None:
        if not started:
            started.append(ground.make([{"kind": "VirtualMachineInstance", "name": "db", "vm": vm["metadata"]["uid"]}]))
        return None

    started: list[list[Object]] = []
    result = await ground.made.repair(OURS[0], hint(case, objects), starts)

    assert started
    assert result.refused == "vm_stopped", result
    assert Event.INTENDED not in {entry.event for entry in ground.made.entries()}


async def test_an_ipam_claim_that_was_created_anew_in_between_is_left_alone(ground: CaseGround) -> None:
    case = cases_of(OURS[0])["vm_was_created_again"]
    objects = ground.make(case["given"])
    ground.made.now = time.time() + 2 * DAY
    claim = next(each for each in objects if each["kind"] == "IPAMClaim")
    place = Resource("k8s.cni.cncf.io", "v1alpha1", "ipamclaims"), "ns", "db.blue"

    async def again(_: Any) -> Refused | None:
        if ground.client.get(*place)["metadata"]["uid"] == claim["metadata"]["uid"]:
            ground.client.patch(*place, {"metadata": {"finalizers": None}})
            ground.client.remove(*place)
            ground.make([row for row in case["given"] if row["kind"] == "IPAMClaim"])
        return None

    result = await ground.made.repair(OURS[0], hint(case, objects), again)

    assert result.refused == "dry_run_clean", result  # the write names the UID of the other one
    assert ground.client.get(*place)["metadata"]["ownerReferences"][0]["uid"] == "u1"


async def test_what_an_interface_has_left_is_deleted_and_then_released(ground: CaseGround) -> None:
    case = cases_of(OURS[3])["vm_runs_with_another_interface"]
    objects = ground.make(case["given"])
    ground.made.now = time.time() + 2 * DAY
    by_hand = {**case, "about": {**case["about"], "reason": "StuckTerminatingDeletedByHand"}}

    first = await ground.made.repair(OURS[3], hint(case, objects))
    assert first.state == AttemptState.DONE, first
    assert first.plan is not None
    assert first.plan.loses == ()
    second = await ground.made.repair(OURS[3], hint(by_hand, objects))

    assert second.state == AttemptState.DONE, second
    assert second.plan is not None
    assert second.plan.loses == ("10.0.0.5/29",)
    claims = Resource("k8s.cni.cncf.io", "v1alpha1", "ipamclaims")
    assert ground.client.find(claims, "ns", "db.blue") is None


@pytest.mark.parametrize("remediation", OURS, ids=lambda each: each.id)
async def test_who_may_not_list_pods_writes_nothing(
    server: ApiServer, ground: CaseGround, tmp_path: Path, remediation: Remediation
) -> None:
    """Whatever of the rest may be read: a pod that can't be seen may use it."""
    case = next(each for each in cases_of(remediation).values() if "plans" in each)
    objects = ground.make(case["given"])
    before = ground.versions()
    blind_account = account(ground.client)
    blind_account.grant(_all_but_pods(ground.client))
    kubeconfig = str(server.kubeconfig(blind_account.name, blind_account.token))
    async with repairing(kubeconfig, tmp_path / "blind") as blind:
        blind.now = time.time() + 2 * DAY
        result = await blind.repair(remediation, hint(case, objects))
    assert result.refused == "everything_seen", result
    assert "pods" in json.dumps(result.why)
    assert ground.versions() == before


def _all_but_pods(client: Client) -> str:
    groups = ("apps", "admissionregistration.k8s.io", "kubevirt.io", "k8s.cni.cncf.io", "k8s.ovn.org", "velero.io")
    more = ("snapshot.kubevirt.io", "clone.kubevirt.io", "backup.kubevirt.io")
    rules = [
        {"apiGroups": [*groups, *more], "resources": ["*"], "verbs": ["*"]},
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list"]},
    ]
    api = "rbac.authorization.k8s.io/v1"
    client.apply({"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": "no-pods"}, "rules": rules})
    return "no-pods"
