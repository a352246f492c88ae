"""What holds a sidecar's writes against an audit log and its ledger names each thing that was not right."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from exporter.facts.record import Ref
from reconcile.ledger import Entry, Event

from ....all_of import each_of
from ....kubevirt.audit_history import AuditHistory
from ....kubevirt.write_verdict import Verdict
from ....manifests import Object
from ....repairs import plan

SIDECAR = "system:serviceaccount:kubevirt:steward-reconcile"
AHEAD = 3600.0
PATH = "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/shop/ipamclaims/db.blue"
CLAIM: Object = {
    "kind": "IPAMClaim",
    "metadata": {
        "namespace": "shop",
        "name": "db.blue",
        "uid": "c",
        "resourceVersion": "1",
        "labels": {"kubevirt.io/vm": "db"},
        "finalizers": ["kubevirt.io/persistent-ipam"],
    },
}
VM: Object = {
    "kind": "VirtualMachine",
    "metadata": {"namespace": "shop", "name": "db", "uid": "v", "resourceVersion": "2"},
}
BODY = {"preconditions": {"uid": "c", "resourceVersion": "1"}}


def event(at: float, verb: str, thing: Object, group: str, resource: str, **more: Any) -> Object:
    meta, when = thing["metadata"], datetime.fromtimestamp(at, UTC).isoformat()
    path = f"/apis/{group}/v1alpha1/namespaces/shop/{resource}/{meta['name']}"
    found = {
        "verb": verb,
        "stage": "ResponseComplete",
        "objectRef": {"apiGroup": group, "resource": resource, "namespace": "shop", "name": meta["name"]},
        "user": {"username": "admin"},
        "responseStatus": {"code": 200},
        "responseObject": thing,
        "requestReceivedTimestamp": when,
        "stageTimestamp": when,
        "requestURI": path,
    }
    return found | more


def deletion(at: float = 100.0, **more: Any) -> Object:
    gone = copy.deepcopy(CLAIM)
    gone["metadata"] |= {"deletionTimestamp": "2026-05-04T08:00:00Z", "resourceVersion": "9"}
    ours = {"user": {"username": SIDECAR}, "requestObject": {"kind": "DeleteOptions", **BODY}}
    return event(at, "delete", gone, "k8s.cni.cncf.io", "ipamclaims", **(ours | more))


CREATED = event(10.0, "create", CLAIM, "k8s.cni.cncf.io", "ipamclaims")
VM_CREATED = event(20.0, "create", VM, "kubevirt.io", "virtualmachines")


def entry(seq: int, what: Event, **more: Any) -> Entry:
    return Entry(seq=seq, at=99.0 + AHEAD, event=what, attempt="a-1", **more)


def intended(remediation: str = "delete_orphan_ipam_claim") -> Entry:
    made = plan(target=Ref("IPAMClaim", "shop", "db.blue", "c"), remediation=remediation)
    return entry(1, Event.INTENDED, plan=made, request={"method": "DELETE", "path": PATH, "body": BODY})


DONE = entry(2, Event.DONE)


def wrong(events: list[Object], *entries: Entry) -> list[str]:
    return Verdict(AuditHistory(events), entries, SIDECAR, AHEAD).wrong


def test_a_write_that_is_right_is_counted_by_its_remediation() -> None:
    verdict = Verdict(AuditHistory([CREATED, deletion()]), [intended(), DONE], SIDECAR, AHEAD)
    assert (verdict.wrong, verdict.counts) == ([], {"delete_orphan_ipam_claim": 1})


def test_a_write_of_somebody_else_and_a_dry_run_are_none_of_it() -> None:
    dry = deletion(98.0, requestObject={**BODY, "dryRun": ["All"]})
    assert wrong([CREATED, dry, deletion(user={"username": "admin"})]) == []


@each_of(
    ("events", "entries", "named"),
    [
        ([CREATED, deletion()], (), "is in no entry of the ledger"),
        ([CREATED, deletion(90.0)], (intended(), DONE), "was in the ledger only 9.0 s later"),
        ([CREATED, deletion(), deletion(101.0)], (intended(), DONE), "attempt a-1 was taken 2 times"),
        ([CREATED], (intended(), DONE), "attempt a-1 happened, says the ledger, and never was"),
        (
            [CREATED, deletion()],
            (intended(), entry(2, Event.RESOLVED, happened=False)),
            "attempt a-1 did not happen, says the ledger, and was",
        ),
        ([CREATED, VM_CREATED, deletion()], (intended(), DONE), "deletes an IPAMClaim of virtualmachines db, which is"),
        ([CREATED, deletion()], (intended("release_ipam_claim"), DONE), "loses an address, and was not to run"),
    ],
)
def test_what_is_not_right_is_named(events: list[Object], entries: tuple[Entry, ...], named: str) -> None:
    assert [each for each in wrong(events, *entries) if named in each]


def test_a_write_to_an_object_that_somebody_has_changed_meanwhile_is_named() -> None:
    changed = copy.deepcopy(CLAIM)
    changed["metadata"]["resourceVersion"] = "5"
    patched = event(50.0, "patch", changed, "k8s.cni.cncf.io", "ipamclaims")
    (found,) = wrong([CREATED, patched, deletion()], intended(), DONE)
    assert "was taken for resourceVersion 1 of an object with 5" in found


@pytest.mark.parametrize(("version", "names"), [("5", 0), ("0", 1)])
def test_a_write_that_was_answered_with_an_error_may_have_come_between(version: str, names: int) -> None:
    created = event(10.0, "create", CLAIM, "k8s.cni.cncf.io", "ipamclaims")
    failed = event(50.0, "update", CLAIM, "k8s.cni.cncf.io", "ipamclaims", responseStatus={"code": 504})
    body = {"preconditions": {"uid": "c", "resourceVersion": version}}
    sent = intended()
    sent = msgspec.structs.replace(sent, request={**(sent.request or {}), "body": body})
    found = wrong([created, failed, deletion(requestObject={"kind": "DeleteOptions", **body})], sent, DONE)
    assert len(found) == names


def test_what_is_paused_is_not_to_be_written() -> None:
    paused = copy.deepcopy(VM)
    paused["metadata"]["annotations"] = {"steward.kubevirt-steward.io/paused": ""}
    there = event(20.0, "create", paused, "kubevirt.io", "virtualmachines")
    assert any(
        "of virtualmachines db, which is paused" in each
        for each in wrong([CREATED, there, deletion()], intended(), DONE)
    )
    gone = event(97.0, "delete", {"kind": "Status", "metadata": {"name": "db"}}, "kubevirt.io", "virtualmachines")
    assert wrong([CREATED, there, gone, deletion()], intended(), DONE) == []


NOTE = "steward.kubevirt-steward.io/stopped-for-drain"


def vm(strategy: str, version: int, ended: str = "") -> Object:
    note = json.dumps({"vm": "v", "vmi": ended, "node": "node01", "runStrategy": "Always", "by": "kubevirt-steward"})
    thing = copy.deepcopy(VM)
    thing["metadata"] |= {"resourceVersion": str(version), "annotations": {NOTE: note} if ended else {}}
    return thing | {"spec": {"runStrategy": strategy}}


def started_after(*before: Object) -> list[str]:
    """What is named of a start of the VM, which was in these states before, one after another."""
    events = [event(10.0 + i, "update", each, "kubevirt.io", "virtualmachines") for i, each in enumerate(before)]
    seen = before[-1]["metadata"]
    ops = [{"op": "test", "path": f"/metadata/{name}", "value": seen[name]} for name in ("uid", "resourceVersion")]
    ours = {"user": {"username": SIDECAR}, "requestObject": ops}
    events.append(event(100.0, "patch", vm("Always", 50), "kubevirt.io", "virtualmachines", **ours))
    plan = msgspec.structs.replace(intended().plan, remediation="start_stopped_vm", vm="db")  # type: ignore[type-var]
    sent = {"method": "PATCH", "path": events[-1]["requestURI"], "body": ops}
    return wrong(events, entry(1, Event.INTENDED, plan=plan, request=sent), DONE)


def test_a_vm_that_was_stopped_for_a_drain_is_started_again() -> None:
    assert started_after(vm("Always", 1), vm("Halted", 2, "i")) == []
    # Somebody started it, and it was stopped for another drain since.
    assert started_after(vm("Halted", 2, "i"), vm("Always", 3, "i"), vm("Halted", 4, "j")) == []


def test_a_vm_that_somebody_has_stopped_since_is_not_to_be_started() -> None:
    (found,) = started_after(vm("Halted", 2, "i"), vm("Always", 3, "i"), vm("Halted", 4, "i"))
    assert "starts VM db, whose run strategy somebody has set since" in found
