"""A healthy fleet: its claims are made, kept and cleaned up by the controllers, and nothing is found of it."""

from __future__ import annotations

from typing import Any

from exporter.facts.vm_networks import claim_name
from tests.cluster.exporter import Exporter
from tests.cluster.resources import IPAM_CLAIMS, VMS
from tests.networks.annotations import given, selections
from tests.networks.causes import causes
from tests.networks.findings import Findings
from tests.networks.stage import FINALIZER, Stage
from tests.waiting import wait_until


def test_a_vm_that_starts_gets_its_claim_and_an_address(stage: Stage, findings: Findings) -> None:
    stage.nad(subnets="192.168.200.0/24")
    vm = stage.vm("db", {"Data_1": "blue"})
    assert stage.claim("db.data.1") is None  # while it is stopped

    pod = stage.start("db")

    name = claim_name("db", "Data_1")
    claim = stage.client.get(IPAM_CLAIMS, stage.namespace, name)
    assert name == "db.data.1"
    assert claim["metadata"]["labels"] == {"kubevirt.io/vm": "db"}
    assert claim["metadata"]["finalizers"] == [FINALIZER]
    assert [each["uid"] for each in claim["metadata"]["ownerReferences"]] == [vm["metadata"]["uid"]]
    assert claim["spec"] == {"network": stage.network, "interface": ""}
    assert [each["ipam-claim-reference"] for each in selections(pod)] == [name]
    assert given(pod)[f"{stage.namespace}/blue"] == stage.wait_ips(name)
    findings.wait_counted(stage.network, {"vm_running": 1})
    findings.wait_calm()


def test_the_address_is_kept_over_restarts_and_migrations_and_freed_with_the_vm(
    stage: Stage, findings: Findings
) -> None:
    stage.nad(subnets="192.168.200.0/29")  # six addresses
    stage.run("db")
    stage.run("web")
    first, other = stage.wait_ips("db.blue"), stage.wait_ips("web.blue")

    assert given(stage.restart("db"))[f"{stage.namespace}/blue"] == first
    assert given(stage.migrate("db"))[f"{stage.namespace}/blue"] == first
    stage.stop("db")
    findings.wait_counted(stage.network, {"vm_running": 1, "vm_stopped": 1})
    assert given(stage.start("db"))[f"{stage.namespace}/blue"] == first
    assert stage.ips("web.blue") == other

    stage.delete("db")
    stage.wait_gone(VMS, "db")
    stage.wait_gone(IPAM_CLAIMS, "db.blue")
    findings.wait_counted(stage.network, {"vm_running": 1})
    findings.wait_calm()
    # Addresses are given in turn: the freed one comes last, when no other one is left.
    took = [given(stage.run(f"vm-{count}"))[f"{stage.namespace}/blue"] for count in range(5)]
    assert first in took
    assert other not in took


def test_a_vm_that_is_deleted_in_the_foreground_takes_its_claims_with_it(stage: Stage, findings: Findings) -> None:
    """The garbage collector deletes the claim first; the finalizer holds it until ipam-extensions sees the VMI gone."""
    stage.nad()
    stage.run("db")
    stage.delete("db", "Foreground")
    stage.wait_gone(IPAM_CLAIMS, "db.blue")
    stage.wait_gone(VMS, "db")
    findings.wait_calm()


def test_a_vm_on_several_networks_has_a_claim_of_each_that_keeps_addresses(stage: Stage, findings: Findings) -> None:
    stage.nad("blue", f"{stage.network}-blue", subnets="192.168.200.0/24,fd10:1::/64")
    stage.nad("red", f"{stage.network}-red", subnets="192.168.200.0/24")
    stage.nad("plain", f"{stage.network}-plain", subnets="192.168.200.0/24", allowPersistentIPs=None)

    pod = stage.run("db", {"a": "blue", "b": "red", "c": "plain"})

    assert len(stage.wait_ips("db.a")) == 2
    assert len(stage.wait_ips("db.b")) == 1
    assert stage.claim("db.c") is None
    assert {each["name"]: each.get("ipam-claim-reference") for each in selections(pod)} == {
        "blue": "db.a",
        "red": "db.b",
        "plain": None,
    }
    findings.wait_counted(f"{stage.network}-plain", {"pod_only": 1})
    findings.wait_calm()


@causes(IdleReservation="a VM that is stopped: OVN-Kubernetes gives its address to nobody, however full the network is")
def test_claims_of_no_vm_that_is_at_hand_are_kept(stage: Stage, patient: Exporter, record_property: Any) -> None:
    """A stopped VM's addresses are given to nobody, however tight the network is."""
    stage.nad(subnets="192.168.200.0/29")
    kept = {}
    for name in ("a", "b", "c"):
        stage.run(name)
        kept[name] = stage.wait_ips(f"{name}.blue")
        stage.stop(name)
    took = [given(stage.runs_plain(f"pod-{count}"))[f"{stage.namespace}/blue"] for count in range(3)]
    assert not [each for each in took if each in kept.values()]
    late = stage.plain_pod("late")
    wait_until(lambda: stage.events("ErrorAllocatingPod"), 30, "OVN-Kubernetes says that the network is full")
    assert given(stage.again(late)) == {}
    for name, ips in kept.items():
        assert given(stage.start(name))[f"{stage.namespace}/blue"] == ips
