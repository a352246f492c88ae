"""NADs that one of the controllers can't use, or both: what is found of each, and what comes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from exporter.checks import reason_of
from tests.cluster.client import ApiError
from tests.cluster.exporter import Exporter
from tests.cluster.resources import NADS, VMS
from tests.manifests import Object
from tests.networks.annotations import given
from tests.networks.causes import causes
from tests.networks.conftest import MakeStage
from tests.networks.findings import Findings
from tests.networks.stage import Stage
from tests.waiting import wait_until


def rejected(stage: Stage) -> None:
    """OVN-Kubernetes does not take it at all, and says so by an Event."""
    wait_until(lambda: stage.events("InvalidConfig"), 30, "OVN-Kubernetes reports the NAD")
    assert not stage.accepted("blue")


def not_created(stage: Stage) -> None:
    """OVN-Kubernetes fails over the network, again and again."""
    what = "OVN-Kubernetes fails over the network"
    wait_until(lambda: f"failed to start network {stage.network}" in stage.plane.ovn.said(), 30, what)


def never_filled(stage: Stage) -> None:
    """ipam-extensions makes the claim, and OVN-Kubernetes gives it nothing."""
    stage.vm("db")
    stage.begin("db")
    wait_until(lambda: stage.claim("db.blue"), 30, "the claim is there")
    stage.run("other", {"red": "red"})  # OVN-Kubernetes works
    assert stage.ips("db.blue") == []


def never_made(stage: Stage) -> None:
    """ipam-extensions makes no claim, and OVN-Kubernetes gives an address that ends with the pod."""
    stage.run("db")
    stage.run("other", {"red": "red"})
    assert stage.wait_ips("other.red")
    assert stage.claim("db.blue") is None


def no_pod(stage: Stage) -> None:
    """No launcher pod is created in the namespace, also on other networks."""
    stage.vm("db", {"red": "red"})
    with pytest.raises(ApiError, match="failed to extract the relevant NAD information"):
        stage.begin("db")


@dataclass(frozen=True)
class Case:
    reason: str
    severity: str
    effect: Callable[[Stage], None]
    config: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""  # instead of a configuration

    def __str__(self) -> str:
        return f"{self.reason}-{self.effect.__name__}"


PRIMARY = {"k8s.ovn.org/primary-user-defined-network": ""}
FATAL = "ovnkube-control-plane fails at its next start"
PLUGIN = {"type": "ovn-k8s-cni-overlay", "topology": "layer2", "subnets": "192.168.200.0/24"}
CASES = (
    Case("BadJson", "critical", no_pod, text="{"),
    Case("SubnetsNotString", "critical", no_pod, {"subnets": ["192.168.200.0/24"]}),
    Case("PersistentWithoutSubnets", "critical", not_created, {"subnets": None}),
    Case("PersistentLocalnetWithoutSubnets", "warning", never_filled, {"subnets": None, "topology": "localnet"}),
    Case("PersistentLayer3", "critical", rejected, {"topology": "layer3", "subnets": "10.30.0.0/16/24"}),
    Case("NameMismatch", "critical", rejected, {"netAttachDefName": "elsewhere/blue"}),
    Case("NotOvn", "warning", never_filled, {"type": "bridge"}),
    Case("ExcludeOutsideSubnets", "critical", rejected, {"excludeSubnets": "10.9.0.0/30"}),
    Case("OverlappingExcludes", "critical", not_created, {"excludeSubnets": "192.168.200.0/28,192.168.200.4/30"}),
)


@causes(
    BadJson="ipam-extensions' webhook rejects every launcher pod of the namespace",
    SubnetsNotString="the same",
    PersistentWithoutSubnets="OVN-Kubernetes does not bring the network up",
    PersistentLocalnetWithoutSubnets="ipam-extensions makes claims, OVN-Kubernetes fills none",
    PersistentLayer3="OVN-Kubernetes rejects the NAD by an Event",
    NameMismatch="the same",
    NotOvn="ipam-extensions makes claims, OVN-Kubernetes fills none",
    OverlappingExcludes="OVN-Kubernetes does not bring the network up",
    ExcludeOutsideSubnets="OVN-Kubernetes rejects the NAD by an Event",
)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_nad_that_is_configured_wrongly(stage: Stage, findings: Findings, case: Case) -> None:
    stage.nad("red", f"{stage.network}-red")
    if case.text:
        stage.nad_of_text("blue", case.text)
    else:
        stage.nad("blue", accepted=False, **{"subnets": "192.168.200.0/24", **case.config})

    found = findings.wait(case.reason, "blue", case.severity)
    case.effect(stage)
    starts(stage, found)


@causes(Conflist="ipam-extensions reads the flag at the top, OVN-Kubernetes in the first plugin")
def test_a_plugin_list_needs_the_flag_in_both_places(stage: Stage, findings: Findings) -> None:
    """ipam-extensions reads the top, and OVN-Kubernetes the first plugin."""
    plugin = {**PLUGIN, "netAttachDefName": f"{stage.namespace}/blue"}
    stage.nad("red", f"{stage.network}-red")
    stage.nad_of_text("blue", listed(stage.network, plugin, allowPersistentIPs=True))
    findings.wait("Conflist", "blue", "warning")
    never_filled(stage)


def test_a_plugin_list_without_the_flag_at_the_top_has_no_claims(stage: Stage, findings: Findings) -> None:
    plugin = {**PLUGIN, "netAttachDefName": f"{stage.namespace}/blue", "allowPersistentIPs": True}
    stage.nad("red", f"{stage.network}-red")
    stage.nad_of_text("blue", listed(stage.network, plugin))
    findings.wait("Conflist", "blue", "warning")
    never_made(stage)


def starts(stage: Stage, found: Object) -> None:
    """The control plane starts, or fails to, as the finding says."""
    reason = reason_of(found["check"], found["reason"])
    if FATAL not in f"{found['message']} {reason.impact if reason else ''}":
        stage.plane.restart_ovn()
        return
    with pytest.raises(RuntimeError, match="ended with status"):
        stage.plane.restart_ovn()
    assert "failed to start cluster manager: initial sync failed" in stage.plane.ovn.said()
    for each in stage.client.list(NADS, stage.namespace)["items"]:
        stage.client.delete(NADS, stage.namespace, each["metadata"]["name"])
    stage.plane.start_ovn()


def listed(network: str, plugin: Mapping[str, Any], **top: Any) -> str:
    return json.dumps({"cniVersion": "1.0.0", "name": network, "plugins": [plugin], **top})


@causes(ExcludesGateway="OVN-Kubernetes does not bring the network up")
def test_an_exclude_over_the_gateway_of_a_primary_network(make_stage: MakeStage, eager: Exporter) -> None:
    stage = make_stage(**PRIMARY)
    excluded = {"role": "primary", "subnets": "10.70.0.0/24", "excludeSubnets": "10.70.0.0/29"}
    stage.nad("main", accepted=False, **excluded)
    found = Findings(eager, stage.namespace).wait("ExcludesGateway", "main", "critical")
    not_created(stage)
    starts(stage, found)


@causes(MultiplePrimary="OVN-Kubernetes refuses the second NAD, and does not start")
def test_a_second_primary_network_of_a_namespace(make_stage: MakeStage, eager: Exporter) -> None:
    stage = make_stage(**PRIMARY)
    stage.nad("main", role="primary", subnets="10.70.0.0/24")
    stage.nad("second", f"{stage.network}-2", accepted=False, role="primary", subnets="10.71.0.0/24")
    found = Findings(eager, stage.namespace).wait("MultiplePrimary", "second", "critical")
    what = f"NAD {stage.namespace}/second can't be primary"
    wait_until(lambda: what in stage.plane.ovn.said(), 30, "OVN-Kubernetes refuses the second")
    starts(stage, found)


@causes(
    NetworkConfigConflict=(
        "OVN-Kubernetes accepts one of the NADs; pods on the other hang, and its next start fails, whether it "
        "accepted both once or not"
    )
)
def test_nads_that_disagree_keep_the_control_plane_from_starting(
    make_stage: MakeStage, stage: Stage, findings: Findings
) -> None:
    """One that was accepted and is changed afterwards is enough."""
    other = make_stage()
    stage.nad(subnets="192.168.200.0/24")
    other.nad("green", stage.network, subnets="192.168.200.0/24")
    stage.run("db")
    stage.wait_ips("db.blue")

    other.configure("green", excludeSubnets="192.168.200.248/30")

    found = findings.of_network("NetworkConfigConflict", stage.network)  # of the one NAD or of the other
    assert found["evidence"]["differs"] == ["excludeSubnets"]
    pod = other.plain_pod("late", "green")
    starts(other, found)
    assert given(other.again(pod)) == {}
    other.nad("green", stage.network, subnets="192.168.200.0/24")
    other.wait_given(pod)


def test_nads_that_disagree_from_the_start_leave_pods_without_addresses(
    make_stage: MakeStage, stage: Stage, findings: Findings
) -> None:
    other = make_stage()
    stage.nad(subnets="192.168.200.0/24")
    other.nad("green", stage.network, accepted=False, subnets="192.168.200.0/24", excludeSubnets="192.168.200.0/30")
    found = Findings(findings.exporter, other.namespace).wait("NetworkConfigConflict", "green", "critical")
    pod = other.plain_pod("late", "green")
    stage.run("db")  # OVN-Kubernetes works
    assert not other.accepted("green")
    assert given(other.again(pod)) == {}
    starts(other, found)


@causes(
    NetworkMismatch=(
        "a VM that is moved to another NAD: ipam-extensions takes the old claim for its own, and OVN-Kubernetes fails "
        "over its address"
    )
)
def test_a_vm_that_is_moved_to_another_network_keeps_the_claim_of_the_old_one(stage: Stage, findings: Findings) -> None:
    """OVN-Kubernetes wants to give the old address in the new network, where it is of no subnet."""
    stage.nad(subnets="192.168.200.0/24")
    stage.nad("red", f"{stage.network}-red", subnets="10.20.0.0/24")
    stage.run("db")
    (ip,) = stage.wait_ips("db.blue")
    stage.stop("db")
    moved = [{"name": "blue", "multus": {"networkName": "red"}}]
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"template": {"spec": {"networks": moved}}}})
    findings.wait("NetworkMismatch", "db.blue", "warning")

    pod = stage.begin("db")

    findings.wait("NetworkMismatch", "db.blue", "critical")
    wait_until(lambda: f"failed to ensure requested or annotated IPs [{ip}]" in stage.plane.ovn.said(), 30, "it fails")
    assert given(stage.again(pod)) == {}


@causes(NetworkMissing="a NAD or UDN that is deleted while its VMs are stopped")
def test_a_nad_that_is_deleted_leaves_claims_without_a_network(stage: Stage, findings: Findings) -> None:
    stage.nad()
    stage.run("db")
    ips = stage.wait_ips("db.blue")
    stage.stop("db")
    stage.client.delete(NADS, stage.namespace, "blue")
    findings.wait("NetworkMissing", "db.blue", "warning")
    stage.plane.restart_ovn()  # no reason to fail

    stage.nad()

    findings.wait_none("NetworkMissing")
    assert given(stage.start("db"))[f"{stage.namespace}/blue"] == ips
