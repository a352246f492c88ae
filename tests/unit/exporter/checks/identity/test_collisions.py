"""What findings on shared addresses say: who is a copy, and that a change of one address concerns nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.domain.acts import Act
from exporter.findings.finding import Finding
from tests.check_cases import CHECKS
from tests.evaluation import Evaluation
from tests.rows import full

MAC = "02:00:00:00:00:01"
BLUE = {"kind": "NetworkAttachmentDefinition", "name": "blue"}

Row = dict[str, Any]


def check(check_id: str) -> Any:
    (found,) = (each for each in CHECKS if each.id == check_id)
    return found


def vm(name: str, created: str = "2026-01-01T00:00:00Z", **row: Any) -> Row:
    own = {"networks": {"blue": "blue"}, "macs": {"blue": MAC}, "uid": f"u-{name}"}
    return {"kind": "VirtualMachine", "name": name, "created": created, **own, **row}


def found(*rows: Row, of: str = "mac_duplicates") -> dict[str, Finding]:
    """The findings by the names of their subjects."""
    evaluation = Evaluation([check(of)])
    for row in (BLUE, *rows):
        evaluation.seen(full(row))
    evaluation.evaluate()
    return {each.subject.path: each for each in evaluation.engine.findings()}


LATER = "2026-02-01T00:00:00Z"


def test_a_clone_says_what_it_is_a_copy_of() -> None:
    clone = {"kind": "VirtualMachineClone", "name": "c", "source": "db", "target": "db-2", "phase": "Succeeded"}
    findings = found(vm("db"), vm("db-2"), clone)
    assert findings["ns/db-2"].message.endswith(". The VM is a copy that VirtualMachineClone c made of db.")
    assert findings["ns/db-2"].next.startswith("Do not let both VMs run. If the owner confirms the copy, ns/db-2,")
    assert findings["ns/db"].message.endswith(". ns/db-2 is a copy that VirtualMachineClone c made of db.")
    assert findings["ns/db"].next.startswith("Confirm with the owner that ns/db-2 is the copy")
    assert findings["ns/db"].next.endswith("Do not change ns/db.")
    (other,) = findings["ns/db"].evidence["others"]
    assert other["copy"] == "is a copy that VirtualMachineClone c made of db"


def test_so_does_one_that_was_given_the_serial_of_another_vm() -> None:
    clone = {"kind": "VirtualMachineClone", "name": "c", "source": "db", "target": "db-2", "phase": "Succeeded"}
    findings = found(vm("db", serial="S1"), vm("db-2", serial="S1"), clone, of="firmware_serials")
    assert findings["ns/db"].message == (
        "The VM has the same serial as ns/db-2. ns/db-2 is a copy that VirtualMachineClone c made of db."
    )
    assert findings["ns/db-2"].evidence["copy"] == "is a copy that VirtualMachineClone c made of db"
    assert "copy" not in findings["ns/db"].evidence


@pytest.mark.parametrize(
    ("origin", "how"), [("restore", "was restored from a snapshot"), ("backup", "was restored from a backup")]
)
def test_what_was_restored_is_most_likely_the_copy_of_what_is_older(origin: str, how: str) -> None:
    findings = found(vm("db"), vm("db-2", LATER, origin=origin))
    assert findings["ns/db-2"].evidence["copy"] == f"is most likely a copy, since it is younger and {how}"
    assert "copy" not in findings["ns/db"].evidence


@pytest.mark.parametrize(
    "rows",
    [
        (vm("db", LATER), vm("db-2", origin="restore")),  # it was put back in its own place
        (
            vm("db"),
            vm("db-2", LATER, origin="restore"),
            {"kind": "VirtualMachineSnapshotContent", "name": "s", "source": "db-2"},
        ),
        (vm("db", origin="backup"), vm("db-2", LATER, origin="backup")),
        (vm("db"), vm("db-2"), {"kind": "VirtualMachineClone", "name": "c", "target": "db-2", "phase": "Failed"}),
        (vm("db"), vm("db-2"), {"kind": "VirtualMachineClone", "name": "c"}),
    ],
)
def test_what_may_be_no_copy_is_not_called_one(rows: tuple[Row, ...]) -> None:
    findings = found(*rows)
    assert len(findings) == 2
    assert not any("copy" in each.message or "copy" in repr(each.evidence) for each in findings.values())


def test_a_vm_is_found_where_a_nad_changes_to_its_network() -> None:
    evaluation = Evaluation([check("mac_duplicates")])
    red = {"kind": "NetworkAttachmentDefinition", "name": "red", "network": "tenantred"}
    for row in (BLUE, red, vm("db"), vm("db-2", networks={"blue": "red"})):
        evaluation.seen(full(row))
    evaluation.evaluate()
    assert evaluation.found() == []

    evaluation.seen(full({**red, "network": "tenantblue"}))
    evaluation.evaluate()
    assert [name for _, name, _, _ in evaluation.found()] == ["db", "db-2"]


def test_a_primary_network_that_comes_later_is_taken_into_account() -> None:
    evaluation = Evaluation([check("mac_duplicates")])
    pod: Row = {"networks": {"default": "pod"}, "macs": {"default": MAC}, "bindings": {"default": {"bridge": {}}}}
    for row in (vm("db", **pod), vm("db-2", **pod)):
        evaluation.seen(full(row))
    evaluation.evaluate()
    assert evaluation.found() == []

    evaluation.seen(full({**BLUE, "config": {"role": "primary"}}))
    evaluation.evaluate()
    assert [name for _, name, _, _ in evaluation.found()] == ["db", "db-2"]


LEASES = '{"name": "x", "type": "bridge", "bridge": "br1", "ipam": {"type": "whereabouts", "range": "10.0.0.0/24"}}'


def guest(name: str, node: str, **row: Any) -> Row:
    reported = {"name": "x", "mac": f"02:00:00:00:01:{name}", "ipAddress": "10.0.0.5"}
    own = {"uid": f"i-{name}", "node": node, "networks": {"x": "lan"}, "reports": [reported]}
    return {"kind": "VirtualMachineInstance", "name": name, **own, **row}


def migrated(outcome: str) -> Row:
    times = {"startTimestamp": "2026-09-21T13:50:00Z", "endTimestamp": "2026-09-21T13:53:20Z"}
    return {"migration": {"migrationUid": "m1", **times, outcome: True}}


def test_whereabouts_gives_away_what_the_guest_of_a_migrated_vmi_keeps() -> None:
    lan = {"kind": "NetworkAttachmentDefinition", "name": "lan", "config": LEASES}
    findings = found(
        lan, guest("0a", "node01", **migrated("completed")), guest("0b", "node02"), of="address_duplicates"
    )
    for finding in findings.values():
        assert finding.next.startswith("If the guest of ns/0a has another address than its pod (network-status)")
        assert finding.evidence["hints"][0].startswith("ns/0a was migrated")
    assert {each.severity for each in findings.values()} == {"warning"}


@pytest.mark.parametrize(
    ("ipam", "outcome"), [("whereabouts", "failed"), ("host-local", "completed"), ("static", "completed")]
)
def test_no_other_ipam_and_no_migration_that_failed_does(ipam: str, outcome: str) -> None:
    lan = {"kind": "NetworkAttachmentDefinition", "name": "lan", "config": LEASES.replace("whereabouts", ipam)}
    findings = found(lan, guest("0a", "node01", **migrated(outcome)), guest("0b", "node02"), of="address_duplicates")
    assert len(findings) == 2
    for finding in findings.values():
        assert finding.next.startswith("Agree with the owners which guest")
        assert not any("was migrated" in each for each in finding.evidence["hints"])


def started(name: str, **row: Any) -> list[Row]:
    own = {"networks": {"blue": "blue"}, "uid": f"i-{name}", "vm": f"u-{name}", "macs": {"blue": MAC}}
    return [vm(name, **{"macs": {}, **row}), {"kind": "VirtualMachineInstance", "name": name, **own}]


def test_of_addresses_that_no_spec_sets_a_restart_gives_another_one() -> None:
    findings = found(*started("db"), *started("web"))
    assert {each.next.partition(".")[0] for each in findings.values()} == {
        f"With the owner's consent, restart VM ns/{name}" for name in ("db", "web")
    }
    assert {each.does for each in findings.values()} == {(Act.RESTART,)}
    assert {text for each in findings.values() for text in each.commands if "virtctl" in text} == {
        f"virtctl restart -n ns {name}" for name in ("db", "web")
    }


@pytest.mark.parametrize("mac", [MAC, "02:00:00:00:00:77"], ids=["the same", "another one, at the next start"])
def test_where_a_spec_sets_one_it_does_not(mac: str) -> None:
    findings = found(*started("db"), *started("web", macs={"blue": mac}))
    assert len(findings) == 2
    assert all(each.next.startswith(f"With the owners, choose the VM that keeps {MAC}") for each in findings.values())
