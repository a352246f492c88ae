"""What the plans for evictions are bound to, and what they say to people: beside tests/remediations/*.yaml."""

from __future__ import annotations

from typing import Any

import pytest

from reconcile.carry_out.confirm import Confirmed
from reconcile.plan.plan import Create, Patch, Refused
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations.drains import (
    cancel_stale_evacuation,
    handle_external_eviction,
    handle_orphan_launcher,
    migrate_marked_vmi,
    stop_blocked_vmi,
)
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.rows import full

Row = dict[str, Any]
STALE_REQUEST = "StaleEvacuationRequest"
SURROUNDINGS: list[Row] = [
    {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.9.0"},
    {"kind": "Node", "name": "node01"},
    {"kind": "Node", "name": "node02"},
    {"kind": "Namespace", "name": "ns"},
]
STALE: Row = {
    "kind": "VirtualMachineInstance",
    "name": "db",
    "strategy": "LiveMigrate",
    "migratable": True,
    "evacuation": "node01",
    "node": "node02",
}
LABELS = {
    "capk.cluster.x-k8s.io/kubevirt-machine-name": "worker-1",
    "capk.cluster.x-k8s.io/kubevirt-machine-namespace": "capi",
}
EXTERNAL: Row = {
    "kind": "VirtualMachineInstance",
    "name": "db",
    "strategy": "External",
    "evacuation": "node01",
    "labels": LABELS,
}


def planned(remediation: Remediation, *rows: Row, reason: str = STALE_REQUEST) -> Confirmed:
    given = {(row["kind"], row["name"]): row for row in (*SURROUNDINGS, *rows)}
    objects = [full(row) for row in given.values()]
    about = {"check": "evictions", "reason": reason, "kind": "VirtualMachineInstance", "subject": "db"}
    answer = confirmed(remediation, hint_of(about, objects), MemoryReads(objects))
    assert isinstance(answer, Confirmed), answer
    return answer


def hash_of(remediation: Remediation, *rows: Row) -> str:
    return planned(remediation, *rows).plan.hash


@pytest.mark.parametrize("remediation", [cancel_stale_evacuation.REMEDIATION, migrate_marked_vmi.REMEDIATION])
def test_a_plan_stays_while_only_what_it_is_not_about_changes(remediation: Remediation) -> None:
    before = hash_of(remediation, STALE)

    assert before == hash_of(remediation, STALE | {"over": {"metadata": {"resourceVersion": "99"}}})
    assert before == hash_of(remediation, STALE | {"labels": {"a": "b"}}, {"kind": "Node", "name": "node03"})
    assert before != hash_of(remediation, STALE | {"evacuation": "node03"}, {"kind": "Node", "name": "node03"})
    assert before != hash_of(remediation, STALE | {"uid": "later"})


@pytest.mark.parametrize("remediation", [cancel_stale_evacuation.REMEDIATION, migrate_marked_vmi.REMEDIATION])
def test_without_a_kubevirt_object_nothing_is_known_of_its_limits(remediation: Remediation) -> None:
    objects = [full(row) for row in (*SURROUNDINGS[1:], STALE)]
    about = {"check": "evictions", "reason": STALE_REQUEST, "kind": "VirtualMachineInstance", "subject": "db"}
    answer = confirmed(remediation, hint_of(about, objects), MemoryReads(objects))

    assert isinstance(answer, Refused), answer
    assert answer.precondition == "one_kubevirt"


def test_a_migration_is_sent_under_one_name_until_it_has_ended() -> None:
    remediation = migrate_marked_vmi.REMEDIATION
    first, again = planned(remediation, STALE), planned(remediation, STALE)
    ended = {"kind": "VirtualMachineInstanceMigration", "vmi": "db", "phase": "Succeeded"}
    later = planned(remediation, STALE, ended | {"name": first.plan.target.name})

    assert isinstance(first.plan.step, Create)
    assert first.plan.target == again.plan.target != later.plan.target
    assert first.plan.bound_to == first.plan.subject
    assert first.whole["metadata"]["uid"] == first.plan.bound_to.uid
    assert first.plan.step.manifest["spec"] == {"vmiName": "db"}  # a priority is refused by KubeVirt's webhook
    assert "annotations" not in first.plan.step.manifest["metadata"]


def test_a_stop_is_bound_to_the_vm() -> None:
    allowed = {"steward.kubevirt-steward.io/stop-allowed": "true"}
    vmi = STALE | {"vm": "v", "migratable": False, "node": "node01", "evacuation": None}
    answer = planned(
        stop_blocked_vmi.REMEDIATION,
        {"kind": "Node", "name": "node01", "taints": ["medik8s.io/drain:NoSchedule"]},
        {"kind": "VirtualMachine", "name": "db", "uid": "v", "runStrategy": "Always", "annotations": allowed},
        vmi,
        reason="NotMigratable",
    )

    assert str(answer.plan.bound_to) == "VirtualMachine ns/db"
    assert answer.plan.subject.kind == "VirtualMachineInstance"
    assert allowed.keys() == {stop_blocked_vmi.REMEDIATION.opt_in}


@pytest.mark.parametrize(
    ("rows", "where"),
    [
        ([EXTERNAL], "KubevirtMachine capi/worker-1 is not in this cluster"),
        (
            [
                EXTERNAL,
                {
                    "kind": "KubevirtMachine",
                    "namespace": "capi",
                    "name": "worker-1",
                    "deadline": "2026-09-21T14:03:20Z",
                },
            ],
            "which wanted to end the VMI at 2026-09-21T14:03:20Z",
        ),
        ([EXTERNAL | {"labels": {}}], "Find out who made VirtualMachineInstance ns/db"),
    ],
)
def test_a_proposal_writes_nothing_and_says_where_to_look(rows: list[Row], where: str) -> None:
    plan = planned(handle_external_eviction.REMEDIATION, *rows, reason="ExternalAwaiting").plan

    assert plan.proposal is not None
    assert where in plan.proposal.where
    assert plan.step == Patch(target=plan.subject, ops=())


def test_an_orphaned_launcher_is_shown_with_its_disks_and_with_who_would_start_a_second_guest() -> None:
    root = {
        "spec": {"volumes": [{"name": "root", "persistentVolumeClaim": {"claimName": "db-root"}}, {"name": "private"}]}
    }
    pod: Row = {"kind": "Pod", "name": "virt-launcher-db", "uid": "p1", "domain": "db", "vmi": "i1", "over": root}
    vm: Row = {"kind": "VirtualMachine", "name": "db", "uid": "u1", "runStrategy": "Always"}
    objects = [full(row) for row in (*SURROUNDINGS, pod, vm)]
    about = {"check": "evictions", "reason": "OrphanLauncherPod", "kind": "Pod", "subject": "virt-launcher-db"}
    answer = confirmed(handle_orphan_launcher.REMEDIATION, hint_of(about, objects), MemoryReads(objects))
    assert isinstance(answer, Confirmed), answer
    proposal = answer.plan.proposal
    assert proposal is not None
    assert "delete the pod by its UID, p1." in proposal.where
    assert "Do not start VirtualMachine ns/db (run strategy Always) before that." in proposal.where
    assert "It holds PVC db-root, which a second guest would write to." in proposal.where
    assert '"preconditions": {"uid": "p1"}' in proposal.patch
