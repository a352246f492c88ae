"""Networks whose subnets are changed or used up: what is found, and then what the finding foretold."""

from __future__ import annotations

import pytest

from tests.networks.findings import Findings
from tests.networks.stage import Stage, given

FAILS = "failed to start cluster manager"


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
