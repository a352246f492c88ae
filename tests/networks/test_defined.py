"""User-defined networks, which OVN-Kubernetes renders into NADs: secondary and primary, of a namespace and of many."""

from __future__ import annotations

import json

import pytest

from tests.cluster.exporter import Exporter
from tests.cluster.resources import NADS, NAMESPACES, UDNS
from tests.networks.annotations import given
from tests.networks.causes import causes
from tests.networks.conftest import MakeStage
from tests.networks.control_plane import OVN_FLAGS, PERSISTENT
from tests.networks.findings import Findings
from tests.networks.stage import Stage
from tests.waiting import wait_until

PRIMARY = {"k8s.ovn.org/primary-user-defined-network": ""}
FAILS = "failed syncing persistent ips: failed to allocate IP 192.168.200.1 for {}: not contained in any known subnet"
PRECONFIGURED = "--enable-preconfigured-udn-addresses"
ADDRESSES = "network.kubevirt.io/addresses"


def test_a_network_of_a_namespace_keeps_addresses(stage: Stage, findings: Findings) -> None:
    stage.udn("blue", ["192.168.200.0/24"])
    network = f"{stage.namespace}_blue"

    pod = stage.run("db")

    ips = stage.wait_ips("db.blue")
    assert given(stage.migrate("db"))[f"{stage.namespace}/blue"] == ips == given(pod)[f"{stage.namespace}/blue"]
    findings.wait_counted(network, {"vm_running": 1})
    assert findings.usage(network)["madeBy"] == "UserDefinedNetwork"
    findings.wait_calm()


def test_a_network_that_is_made_again_with_other_subnets_fails_over_stopped_vms(
    stage: Stage, findings: Findings
) -> None:
    """Pods keep OVN-Kubernetes from deleting it, and claims do not. It is not only the next start that fails: no pod on
    the new network gets an address. Without the claim OVN-Kubernetes tries again once its minute of retries is over.
    """
    network = f"{stage.namespace}_blue"
    stage.udn("blue", ["192.168.200.0/24"])
    stage.run("db")
    stage.wait_ips("db.blue")
    stage.stop("db")
    stage.client.delete(UDNS, stage.namespace, "blue")
    stage.wait_gone(UDNS, "blue")
    findings.wait("NetworkMissing", "db.blue", "warning")

    stage.udn("blue", ["10.20.0.0/24"])

    findings.wait("IpOutsidePool", "db.blue", "critical")
    late = stage.plain_pod("late")
    wait_until(
        lambda: stage.plane.ovn.said().count(FAILS.format(network)) > 3, 30, "OVN-Kubernetes fails over the claim"
    )
    assert given(stage.again(late)) == {}
    stage.forget("db.blue")
    findings.wait_none("IpOutsidePool")
    assert given(stage.wait_given(late, 150))[f"{stage.namespace}/blue"][0].startswith("10.20.0.")


@causes(NetworkNotInNamespace="a CUDN that no longer selects the namespace: OVN-Kubernetes removes the NAD")
def test_a_namespace_that_a_network_no_longer_selects(stage: Stage, make_stage: MakeStage, findings: Findings) -> None:
    other = make_stage()
    cudn, label = f"c-{stage.namespace}", {"tenant": stage.namespace}
    for each in (stage, other):
        each.client.patch(NAMESPACES, None, each.namespace, {"metadata": {"labels": label}})
    stage.cudn(cudn, label, ["192.168.200.0/24"])
    stage.vm("db", {"a": cudn})
    pod = stage.start("db")
    assert given(pod)[f"{stage.namespace}/{cudn}"] == stage.wait_ips("db.a")
    findings.wait_calm()
    findings.wait_counted(f"cluster_udn_{cudn}", {"vm_running": 1})
    stage.stop("db")

    stage.client.patch(NAMESPACES, None, stage.namespace, {"metadata": {"labels": {"tenant": None}}})

    stage.wait_gone(NADS, cudn)
    findings.wait("NetworkNotInNamespace", "db.a", "warning")
    stage.client.patch(NAMESPACES, None, stage.namespace, {"metadata": {"labels": label}})
    findings.wait_none("NetworkNotInNamespace")
    ips = stage.ips("db.a")
    assert given(stage.start("db"))[f"{stage.namespace}/{cudn}"] == ips


def test_a_primary_network_keeps_the_address_of_the_pod_network(make_stage: MakeStage, eager: Exporter) -> None:
    stage = make_stage(**PRIMARY)
    findings = Findings(eager, stage.namespace)
    stage.udn("main", ["10.70.0.0/24"], role="Primary")
    stage.vm("db", {"default": "pod"})

    pod = stage.start("db")

    ips = stage.wait_ips("db.default")
    assert given(pod)[f"{stage.namespace}/main"] == ips
    assert pod["metadata"]["annotations"]["k8s.ovn.org/primary-udn-ipamclaim"] == "db.default"
    assert given(stage.restart("db"))[f"{stage.namespace}/main"] == ips
    assert given(stage.migrate("db"))[f"{stage.namespace}/main"] == ips
    findings.wait_counted(f"{stage.namespace}_main", {"vm_running": 1})
    findings.wait_calm()


@causes(StaticRequestConflict="OVN-Kubernetes refuses a requested address that the claim does not hold")
def test_requested_addresses_are_ignored_unless_they_are_switched_on(make_stage: MakeStage, eager: Exporter) -> None:
    stage = make_stage(**PRIMARY)
    findings = Findings(eager, stage.namespace)
    stage.udn("main", ["10.70.0.0/24"], role="Primary")
    asked = json.dumps({"default": ["10.70.0.77"]})
    stage.vm("db", {"default": "pod"}, annotations={ADDRESSES: asked})
    assert given(stage.start("db"))[f"{stage.namespace}/main"] != ["10.70.0.77/24"]
    assert "StaticRequestConflict" not in findings.reasons()
    stage.stop("db")

    stage.plane.restart_ovn(*OVN_FLAGS, PERSISTENT, PRECONFIGURED)

    pod = stage.begin("db")
    findings.wait("StaticRequestConflict", "db", "critical")
    wait_until(
        lambda: "ipam claim with IPs not containing the requested IP" in stage.plane.ovn.said(), 30, "it is refused"
    )
    assert f"{stage.namespace}/main" not in given(stage.again(pod))
    stage.stop("db")
    stage.forget("db.default")
    assert given(stage.start("db"))[f"{stage.namespace}/main"] == ["10.70.0.77/24"]
    findings.wait_none("StaticRequestConflict")


@causes(
    FlagOff=(
        "OVN-Kubernetes without `--enable-persistent-ips` renders no NAD of a new UDN; with one that it had rendered "
        "before it does not start, which is `ControlPlaneNotReady`"
    )
)
def test_a_network_that_keeps_addresses_needs_the_flag(stage: Stage, findings: Findings) -> None:
    stage.plane.restart_ovn(*OVN_FLAGS)
    stage.udn("blue", ["192.168.200.0/24"], rendered=False)
    findings.wait("FlagOff", "blue", "critical")
    assert stage.client.find(NADS, stage.namespace, "blue") is None

    stage.plane.restart_ovn()

    findings.wait_none("FlagOff")
    stage.run("db")
    assert stage.wait_ips("db.blue")


def test_without_the_flag_networks_that_keep_addresses_keep_the_control_plane_from_starting(
    stage: Stage, findings: Findings
) -> None:
    """Then no condition says so: the network's is of before."""
    stage.udn("blue", ["192.168.200.0/24"])
    with pytest.raises(RuntimeError, match="ended with status"):
        stage.plane.restart_ovn(*OVN_FLAGS)
    assert "allows persistent IPs but missing the claims reconciler" in stage.plane.ovn.said()
    findings.wait("ControlPlaneNotReady")
    assert findings.of("blue") == set()


@causes(NetworkNotCreated="OVN-Kubernetes can't render a NAD whose name is taken")
def test_a_network_whose_name_is_taken_is_not_made(stage: Stage, findings: Findings) -> None:
    stage.nad("blue")
    stage.udn("blue", ["192.168.200.0/24"], rendered=False)
    found = findings.wait("NetworkNotCreated", "blue", "warning")
    assert "foreign NetworkAttachmentDefinition" in found["message"]
