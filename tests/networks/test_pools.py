"""Networks whose subnets are changed or used up: what is found, and then what the finding foretold."""

from __future__ import annotations

import re

import pytest

from tests.networks.annotations import given
from tests.networks.causes import causes
from tests.networks.findings import Findings
from tests.networks.stage import Stage
from tests.waiting import wait_until

FAILS = "failed to start cluster manager"


@causes(
    IpOutsidePool=(
        "other subnets in a NAD, or a UDN that is made again; OVN-Kubernetes fails over the claim, as over network "
        "and broadcast addresses, two addresses in one subnet, and what is no address"
    )
)
def test_an_address_outside_the_subnets_keeps_the_control_plane_from_starting(stage: Stage, findings: Findings) -> None:
    """The finding says so before anybody restarts it; without the claim it starts again."""
    stage.nad(subnets="192.168.200.0/24")
    stage.run("db")
    (ip,) = stage.wait_ips("db.blue")
    stage.stop("db")

    stage.configure("blue", subnets="10.20.0.0/24")

    found = findings.wait("IpOutsidePool", "db.blue", "critical")
    assert "ovnkube-control-plane fails at its next start" in found["message"]
    late = stage.plain_pod("late")
    with pytest.raises(RuntimeError, match="ended with status"):
        stage.plane.restart_ovn()
    said = stage.plane.ovn.said()
    assert FAILS in said
    assert f"failed to allocate IP {ip.partition('/')[0]} for {stage.network}" in said
    findings.wait("ControlPlaneNotReady")
    assert given(stage.again(late)) == {}

    stage.forget("db.blue")
    findings.wait_none("IpOutsidePool")
    stage.plane.start_ovn()
    findings.wait_none("ControlPlaneNotReady")
    stage.wait_given(late)
    (new,) = given(stage.start("db"))[f"{stage.namespace}/blue"]
    assert new.startswith("10.20.0.")


@pytest.mark.parametrize(
    ("subnet", "ips", "said"),
    [
        ("192.168.200.0/24", ["192.168.200.255/24"], "not in the valid range"),
        ("192.168.200.0/24", ["192.168.200.0/24"], "not in the valid range"),
        ("192.168.200.0/24", ["192.168.200.7/24", "192.168.200.8/24"], "attempted to reserve multiple IPs"),
        ("192.168.200.0/24", ["fd00::5/64"], "failed to allocate IP fd00::5 for"),
        ("fd10:1::/64", ["fd10:1::2:0:5/64"], "not in the valid range"),
        ("192.168.200.0/24", ["192.168.200.9"], "failed at parsing IP"),
        ("192.168.200.0/24", ["nonsense"], "failed at parsing IP"),
    ],
    ids=["broadcast", "network", "two", "family", "beyond", "no-prefix", "no-address"],
)
def test_what_the_network_cant_allocate_again_it_fails_over(
    stage: Stage, findings: Findings, subnet: str, ips: list[str], said: str
) -> None:
    """The claims of a network are allocated again whenever it is set up, be it at a start or because it is new."""
    stage.nad(subnets=subnet)
    stage.run("db")
    stage.wait_ips("db.blue")
    stage.stop("db")
    stage.write_ips("db.blue", ips)
    findings.wait("IpOutsidePool", "db.blue", "critical")

    stage.configure("blue", mtu=1300)  # so that the network is set up again

    late = stage.plain_pod("late")
    failed = rf"while processing existing \*v1alpha1.IPAMClaim items: .*{re.escape(said)}"
    wait_until(lambda: re.search(failed, stage.plane.ovn.said()), 30, "OVN-Kubernetes fails over the claim")
    assert given(stage.again(late)) == {}
    stage.plane.ovn.stop()  # or it would go on for a minute


def test_an_address_with_leading_zeros_fails_its_vm_alone(stage: Stage, findings: Findings) -> None:
    """It is read when the control plane starts; the VM's pod is refused, since the texts are compared."""
    stage.nad(subnets="192.168.200.0/24")
    stage.run("db")
    stage.stop("db")
    stage.write_ips("db.blue", ["192.168.200.007/24"])
    findings.wait_counted(stage.network, {"vm_stopped": 1})
    stage.plane.restart_ovn()
    pod = stage.begin("db")
    refused = 'overwriting existing IPs ["192.168.200.007/24"] with newer IPs ["192.168.200.7/24"]'
    wait_until(lambda: refused in stage.plane.ovn.said(), 30, "OVN-Kubernetes refuses the pod")
    assert given(stage.again(pod)) == {}
