"""A network from its deletion to its end, and a namespace until it has its network: each change is seen at once."""

from __future__ import annotations

from typing import Any

from exporter.checks import all_checks
from exporter.findings.finding import Finding
from tests.evaluation import Evaluation
from tests.rows import DELETED, full

Row = dict[str, Any]

UDN = {"kind": "UserDefinedNetwork", "name": "blue"}
LEAVING = UDN | {"deleting": True}
NAD = {"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "ns_blue", "maker": "UserDefinedNetwork"}
POD = {"kind": "Pod", "name": "launcher", "domain": "db", "addresses": {"ns/blue": ["10.0.0.5/16"]}}
LABEL = {"k8s.ovn.org/primary-user-defined-network": ""}
REASONS = ("NetworkDeletionHeld", "NetworkDeletionStuck", "NetworkNotCreated")


class Ground:
    def __init__(self, *rows: Row, **how: Any) -> None:
        self.evaluation = Evaluation(all_checks(), **how)
        self.see(*rows)

    def see(self, *rows: Row) -> None:
        for row in rows:
            self.evaluation.seen(full(row))

    def gone(self, row: Row) -> None:
        self.evaluation.gone(row["kind"], "" if row["kind"] == "Namespace" else row.get("namespace", "ns"), row["name"])

    def found(self, *reasons: str) -> list[Finding]:
        self.evaluation.evaluate()
        return [each for each in self.evaluation.engine.findings() if each.reason in reasons]

    def one(self, *reasons: str) -> Finding:
        (found,) = self.found(*reasons)
        return found


def vmi(name: str = "db", **more: Any) -> Row:
    return {"kind": "VirtualMachineInstance", "name": name, "networks": {"a": "blue"}} | more


def vm(name: str, **more: Any) -> Row:
    return {"kind": "VirtualMachine", "name": name, "networks": {"a": "blue"}} | more


def test_who_holds_a_network_follows_its_pods_and_vms() -> None:
    ground = Ground(UDN, NAD, POD, vmi(), vm("db"))
    assert ground.found(*REASONS) == []

    ground.see(LEAVING)
    held = ground.one(*REASONS)
    assert (held.reason, held.evidence["holders"], held.evidence["running"]) == (
        "NetworkDeletionHeld",
        ["VM ns/db"],
        ["ns/db"],
    )
    assert (held.since_source.value, held.network, "idle" in held.message) == ("deletionTimestamp", "ns_blue", False)

    ground.see(vm("idle"), vmi("late", phase="Scheduling"))
    found = ground.one(*REASONS)
    assert (found.evidence["referring"], found.evidence["starting"]) == (["ns/idle"], ["ns/late"])
    assert "Can't start once it is deleted: ns/late, ns/idle." in found.message

    ground.see(vm("idle", networks={"a": "red"}))
    ground.gone(vmi("late"))
    assert "Can't start" not in ground.one(*REASONS).message

    ground.see(vmi(phase="Succeeded"))
    assert ground.one(*REASONS).evidence["referring"] == ["ns/db"]

    ground.gone(POD)
    assert ground.one(*REASONS).reason == "NetworkDeletionStuck"

    ground.gone(NAD)
    ground.gone(UDN)
    assert ground.found(*REASONS) == []


def test_vms_on_the_pod_network_refer_to_the_primary_network() -> None:
    primary = NAD | {"config": {"role": "primary"}}
    ground = Ground(LEAVING | {"primary": True}, primary, vm("db", networks={"default": "pod"}))
    assert ground.one(*REASONS).evidence["referring"] == ["ns/db"]

    ground.see(vm("web", networks={"default": "pod"}), vm("far", namespace="other", networks={"default": "pod"}))
    assert ground.one(*REASONS).evidence["referring"] == ["ns/db", "ns/web"]


def test_a_network_that_is_gone_in_a_moment_is_no_finding() -> None:
    deleted = 1_780_503_600.0
    assert full(LEAVING)["metadata"]["deletionTimestamp"] == DELETED
    ground = Ground(LEAVING, NAD, POD, now=deleted + 599)
    assert ground.found(*REASONS) == []
    ground.evaluation.now = deleted + 601
    assert ground.one(*REASONS).since == deleted


def test_who_holds_it_is_a_short_list() -> None:
    pods = [{"kind": "Pod", "name": f"p{n:02}", "addresses": {"ns/blue": [f"10.0.1.{n}/16"]}} for n in range(1, 41)]
    found = Ground(LEAVING, NAD, *pods).one(*REASONS)
    assert "pod ns/p05 and 35 more." in found.message
    assert (len(found.evidence["pods"]), found.evidence["podsInAll"]) == (10, 40)
    many = " ".join(f"ns/{'x' * 200}{n}" for n in range(500))
    said = Ground(LEAVING | {"failed": f"network in use by the following pods: [{many}]"}, NAD).one(*REASONS)
    assert (said.evidence["podsByConditionInAll"], len(said.message) <= 1001) == (100, True)


def test_a_namespace_waits_until_it_has_its_network() -> None:
    plain = {"kind": "Namespace", "name": "ns", "labels": {"tenant": "a"}}
    waits = vmi(networks={"default": "pod"}, phase="Scheduling")
    reasons = ("PrimaryNetworkMissing", "NetworkNotRendered")
    ground = Ground(plain, waits)
    assert ground.found(*reasons) == []

    ground.see(plain | {"labels": {"tenant": "a"} | LABEL})
    found = ground.one(*reasons)
    assert (found.reason, found.evidence["waiting"], found.since_source.value) == (
        "PrimaryNetworkMissing",
        ["db"],
        "creationTimestamp",
    )

    network = {"kind": "ClusterUserDefinedNetwork", "name": "main", "primary": True, "selects": {"tenant": "b"}}
    ground.see(network)
    assert ground.one(*reasons).reason == "PrimaryNetworkMissing"
    ground.see(network | {"selects": {"tenant": "a"}, "failed": "no room"})
    found = ground.one(*reasons)
    assert (found.reason, found.network, "SyncError: no room" in found.message) == (
        "NetworkNotRendered",
        "cluster_udn_main",
        True,
    )

    nad = {"kind": "NetworkAttachmentDefinition", "name": "main", "network": "cluster_udn_main"}
    ground.see(nad | {"config": {"role": "primary"}})
    assert ground.found(*reasons) == []


def test_the_condition_says_what_to_do() -> None:
    unlabelled = 'invalid primary network state for namespace "ns": a valid primary user defined network'
    assert "or move the VMs to a new namespace" in Ground(UDN | {"failed": unlabelled}).one("NetworkNotCreated").next
    left = "failed to delete NetworkAttachmentDefinition [ns/red]: network in use by the following pods: [ns/web]"
    found = Ground({"kind": "ClusterUserDefinedNetwork", "name": "red", "failed": left}).one("NetworkNotCreated")
    assert (found.evidence["podsByCondition"], found.next.startswith("Do not end VMs")) == (["ns/web"], True)


def test_a_vmi_gets_another_primary_network() -> None:
    layer3 = {"topology": "layer3", "role": "primary"}
    nad = {"kind": "NetworkAttachmentDefinition", "name": "main", "network": "ns_main"}
    ground = Ground(
        nad | {"persistent": False, "subnets": "10.0.0.0/16/24", "config": layer3},
        vmi(networks={"default": "pod"}, bindings={"default": {"binding": {"name": "l2bridge"}}}, migratable=True),
    )
    assert "is layer 3, with a subnet on each node" in ground.one("AddressNotKept").message
    ground.see(nad | {"config": {"role": "primary"}})
    assert ground.found("AddressNotKept") == []
