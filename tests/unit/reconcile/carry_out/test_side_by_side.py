"""What holds mode `auto` against what mode `shadow` kept of the same faults names each difference."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from exporter.facts.record import Ref
from reconcile.ledger import Entry, Event

from ....kubevirt.audit_history import AuditHistory
from ....kubevirt.side_by_side import Comparison, Round, Shift
from ....manifests import Object
from ....repairs import plan

AHEAD = 3600.0
FOUND = "f1"
REMEDIATION = "delete_orphan_ipam_claim"
PATH = "/apis/k8s.cni.cncf.io/v1alpha1/namespaces/shop/ipamclaims"


def entry(
    event: Event, at: float, name: str = "db.blue", fingerprint: str = FOUND, version: str = "1", **more: Any
) -> Entry:
    made = plan(target=Ref("IPAMClaim", "shop", name, "c"), remediation=REMEDIATION, fingerprint=fingerprint)
    body = {"preconditions": {"uid": "c", "resourceVersion": version}, **more}
    sent = {"method": "DELETE", "path": f"{PATH}/{name}", "body": body}
    return Entry(seq=1, at=at + AHEAD, event=event, attempt="a-1", plan=made, request=sent)


def row(state: str, fingerprint: str = FOUND, **more: Any) -> Object:
    return {"fingerprint": fingerprint, "remediation": REMEDIATION, "state": state, **more}


def shift(began: float, *entries: Entry, shown: tuple[Object, ...] = (), canary: bool = False) -> Shift:
    return Shift("", canary, began, began + 50, entries, shown)


def write(at: float, name: str = "db.blue") -> Object:
    """By somebody else."""
    when = datetime.fromtimestamp(at, UTC).isoformat()
    meta = {"namespace": "shop", "name": name, "uid": "c", "resourceVersion": "7"}
    return {
        "verb": "patch",
        "stage": "ResponseComplete",
        "objectRef": {"apiGroup": "k8s.cni.cncf.io", "resource": "ipamclaims", "namespace": "shop", "name": name},
        "user": {"username": "admin"},
        "responseStatus": {"code": 200},
        "responseObject": {"kind": "IPAMClaim", "metadata": meta},
        "requestReceivedTimestamp": when,
        "stageTimestamp": when,
        "requestURI": f"{PATH}/{name}",
    }


SHADOWED = shift(0.0, entry(Event.SHADOWED, 10.0), shown=(row("shadowed"),))
WRITTEN = entry(Event.INTENDED, 110.0)


def compared(shadow: Shift, *auto: Shift, writes: tuple[Object, ...] = ()) -> Comparison:
    found = Comparison(AuditHistory(writes), AHEAD)
    found.add(0, Round(shadow, auto))
    return found


def test_what_is_written_as_it_was_shadowed_is_the_same() -> None:
    found = compared(SHADOWED, shift(100.0, WRITTEN))
    assert (found.wrong, found.counts["the same"]) == ([], 1)


def test_another_resource_version_needs_a_write_between() -> None:
    auto = shift(100.0, entry(Event.INTENDED, 110.0, version="7"))
    assert compared(SHADOWED, auto, writes=(write(60.0),)).wrong == []
    for writes in ((), (write(5.0),), (write(60.0, "db.blue2"),), (write(120.0),)):
        (wrong,) = compared(SHADOWED, auto, writes=writes).wrong
        assert "another resourceVersion" in wrong


@pytest.mark.parametrize("shown", [(), (row("planned"),), (row("refused", refused={"precondition": "unowned"}),)])
def test_what_is_shadowed_and_not_written_is_a_difference(shown: tuple[Object, ...]) -> None:
    (wrong,) = compared(SHADOWED, shift(100.0, shown=shown)).wrong
    assert "auto wrote nothing" in wrong


def test_what_another_write_to_the_same_vm_has_made_impossible_is_none() -> None:
    auto = shift(100.0, entry(Event.INTENDED, 110.0, "db.red", "f2"), shown=(row("refused"),))
    found = compared(SHADOWED, auto)
    assert (found.wrong, found.counts["overtaken"], found.counts["found later"]) == ([], 1, 1)


def test_what_a_webhook_refuses_is_shadowed_nevertheless() -> None:
    auto = shift(100.0, shown=(row("refused", refused={"precondition": "dry_run_clean"}),))
    found = compared(SHADOWED, auto)
    assert (found.wrong, found.counts["a webhook refuses it"]) == ([], 1)


def test_another_request_is_a_difference_and_the_write_itself_no_excuse() -> None:
    auto = shift(100.0, entry(Event.INTENDED, 110.0, propagationPolicy="Orphan"))
    (wrong,) = compared(SHADOWED, auto, writes=(write(111.0),)).wrong
    assert "auto wrote {" in wrong


def test_what_was_not_shadowed_is_a_difference_where_it_was_shown() -> None:
    shadow = shift(0.0, shown=(row("refused", refused={"precondition": "unowned"}),))
    (wrong,) = compared(shadow, shift(100.0, WRITTEN)).wrong
    assert "in shadow it was" in wrong
    assert compared(shadow, shift(100.0, WRITTEN), writes=(write(60.0),)).wrong == []


OTHER = entry(Event.SHADOWED, 11.0, "web.blue", "f2")
BOTH = shift(0.0, entry(Event.SHADOWED, 10.0), OTHER, shown=(row("shadowed"), row("shadowed", "f2")))
OTHER_WRITTEN = entry(Event.INTENDED, 210.0, "web.blue", "f2")
HELD = row("blocked", "f2", blocked=[{"gate": "canary", "why": f"the canary of {REMEDIATION} follows VM ns/a"}])


def test_a_canary_holds_back_all_but_one_and_is_named() -> None:
    found = compared(BOTH, shift(100.0, WRITTEN, shown=(HELD,), canary=True), shift(200.0, OTHER_WRITTEN))
    assert (found.wrong, found.counts["the same"], found.counts["held back by a canary"]) == ([], 2, 1)


@pytest.mark.parametrize(
    "gates", [[], [{"gate": "canary", "why": "another one"}], [{"gate": "window", "why": REMEDIATION}]]
)
def test_what_waits_for_something_else_than_its_canary_is_a_difference(gates: list[Object]) -> None:
    held = row("blocked", "f2", blocked=gates)
    auto = shift(100.0, WRITTEN, shown=(held,), canary=True), shift(200.0, OTHER_WRITTEN)
    (wrong,) = compared(BOTH, *auto).wrong
    assert "neither written nor held back" in wrong


def test_two_writes_of_a_canary_of_one_are_a_difference() -> None:
    auto = shift(100.0, WRITTEN, entry(Event.INTENDED, 111.0, "web.blue", "f2"), canary=True)
    (wrong,) = compared(BOTH, auto, shift(200.0)).wrong
    assert "wrote for 2 findings" in wrong
