"""IPAMClaims that nobody needs weigh more the fuller their network is, as it fills and empties."""

from __future__ import annotations

from typing import Any

from exporter.checks import all_checks
from exporter.counts.networks import AddressUsage, AddressUse
from tests.evaluation import Evaluation
from tests.rows import full

NAD: dict[str, Any] = {
    "kind": "NetworkAttachmentDefinition",
    "name": "blue",
    "network": "tenantblue",
    "subnets": "10.0.0.0/28",
}
LEFT: dict[str, Any] = {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.1/28"]}


def evaluation_of(*rows: dict[str, Any]) -> Evaluation:
    (check,) = (check for check in all_checks() if check.id == "ipam_claims")
    evaluation = Evaluation([check], indexes=AddressUsage.INDEXES)
    for row in (NAD, LEFT, *rows):
        evaluation.seen(full(row))
    return evaluation


def pod(name: str, *hosts: int) -> dict[str, Any]:
    return {"kind": "Pod", "name": name, "addresses": {"ns/blue": [f"10.0.0.{host}/28" for host in hosts]}}


def test_an_orphan_is_critical_while_pods_fill_its_network() -> None:
    evaluation = evaluation_of(pod("a", *range(2, 12)))
    assert evaluation.found() == [("ns", "db.blue", "OrphanClaim", "warning")]

    evaluation.seen(full(pod("b", 12, 13)))
    assert evaluation.found() == [("ns", "db.blue", "OrphanClaim", "critical")]
    (finding,) = evaluation.engine.findings()
    assert "92 % is in use" in finding.message

    evaluation.gone("Pod", "ns", "b")
    assert evaluation.found() == [("ns", "db.blue", "OrphanClaim", "warning")]


def test_a_leak_is_a_warning_while_claims_fill_its_network() -> None:
    owner = {"kind": "VirtualMachine", "name": "db", "uid": "u1", "networks": {"red": "red"}}
    evaluation = evaluation_of(owner, pod("a", *range(2, 12)))
    assert evaluation.found() == [("ns", "db.blue", "LeakedClaim", "info")]

    evaluation.seen(full({"kind": "IPAMClaim", "name": "import", "finalizers": [], "ips": ["10.0.0.12/28"]}))
    assert ("ns", "db.blue", "LeakedClaim", "warning") in evaluation.found()

    evaluation.gone("IPAMClaim", "ns", "import")
    assert evaluation.found() == [("ns", "db.blue", "LeakedClaim", "info")]


def test_a_pod_makes_no_claim_that_is_needed_wait_for_evaluation() -> None:
    """A network may have tens of thousands of them."""
    rows: list[dict[str, Any]] = [
        row
        for number in (2, 3, 4)
        for row in (
            {"kind": "VirtualMachine", "name": f"vm{number}", "uid": f"v{number}"},
            {
                "kind": "IPAMClaim",
                "name": f"vm{number}.blue",
                "vm": f"vm{number}",
                "owner": f"v{number}",
                "ips": [f"10.0.0.{number}/28"],
            },
        )
    ]
    evaluation = evaluation_of(*rows)
    evaluation.evaluate()
    before = evaluation.engine.evaluated["ipam_claims"].partitions

    evaluation.seen(full(pod("a", 9)))
    evaluation.evaluate()

    assert evaluation.engine.evaluated["ipam_claims"].partitions == before + 1


def test_a_claim_whose_label_names_another_vm_is_not_counted_as_given_up() -> None:
    other = {"kind": "VirtualMachine", "name": "other", "uid": "u2"}
    evaluation = evaluation_of(other, LEFT | {"vm": "other", "ownerName": "db"})
    usage = AddressUsage.over(evaluation.engine.cluster)
    for _ in usage.settle():
        pass

    assert usage.count("tenantblue", 0, AddressUse.ORPHANED) == 0
    assert usage.count("tenantblue", 0, AddressUse.LEAKED) == 0
    assert usage.count("tenantblue", 0, AddressUse.VM_STOPPED) == 1


def test_in_a_namespace_that_goes_a_stopped_vm_is_waited_for() -> None:
    (check,) = (check for check in all_checks() if check.id == "ipam_claims")
    evaluation = Evaluation([check])
    for row in (
        {"kind": "Namespace", "name": "ns", "deleting": True},
        {"kind": "VirtualMachine", "name": "db", "uid": "u1", "networks": {"blue": "blue"}},
        {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.5/16"], "deleting": True},
    ):
        evaluation.seen(full(row))
    evaluation.evaluate()
    (found,) = (each for each in evaluation.engine.findings() if each.reason == "StuckTerminatingOwnerDeleting")
    assert found.next.startswith("Wait until the VM is deleted. ")
