"""Where an address can't be had, the finding names who holds it, and by what the network keeps it."""

from __future__ import annotations

from typing import Any

from exporter.checks import all_checks
from exporter.findings.finding import Finding
from tests.evaluation import Evaluation
from tests.rows import full

Row = dict[str, Any]

NAD = {"kind": "NetworkAttachmentDefinition", "name": "main", "network": "tenantmain"}
FLAG = {"kind": "Deployment", "name": "ovnkube-control-plane", "args": ["--enable-preconfigured-udn-addresses"]}


def nad(**config: str) -> Row:
    return NAD | {"config": {"role": "primary", **config}}


def vmi(name: str, *requested: str, **more: Any) -> Row:
    asked = {"requested": {"default": list(requested)}} if requested else {}
    return {"kind": "VirtualMachineInstance", "name": name, "uid": f"i-{name}", "networks": {"default": "pod"}} | (
        asked | more
    )


def claim(name: str, *ips: str, **more: Any) -> Row:
    return {
        "kind": "IPAMClaim",
        "name": f"{name}.default",
        "vm": name,
        "owner": f"i-{name}",
        "ownerKind": "VirtualMachineInstance",
        "network": "tenantmain",
        "ips": [f"{ip}/16" for ip in ips],
    } | more


def pod(name: str, ip: str, **more: Any) -> Row:
    return {"kind": "Pod", "name": name, "addresses": {"ns/main": [f"{ip}/16"]}} | more


class Ground:
    def __init__(self, *rows: Row) -> None:
        self.evaluation = Evaluation(all_checks())
        self.see(*rows)

    def see(self, *rows: Row) -> None:
        for row in rows:
            self.evaluation.seen(full(row))

    def of(self, reason: str) -> list[Finding]:
        self.evaluation.evaluate()
        found = [each for each in self.evaluation.engine.findings() if each.reason == reason]
        return sorted(found, key=lambda each: each.subject)


def test_a_requested_address_is_another_vms() -> None:
    ground = Ground(FLAG, nad(), vmi("db", "10.0.0.9"), claim("db"), claim("web", "10.0.0.9"), vmi("web"))

    (found,) = ground.of("StaticRequestConflict")

    assert "10.0.0.9 is held by IPAMClaim ns/web.default of VM web" in found.message
    assert found.evidence["withheldBy"] == {"10.0.0.9": "held by IPAMClaim ns/web.default of VM web"}
    assert found.severity == "critical"


def test_the_holder_of_a_requested_address_comes_and_goes() -> None:
    ground = Ground(FLAG, nad(), vmi("db", "10.0.0.9"), claim("db"))
    assert ground.of("StaticRequestConflict") == []

    ground.see(pod("web", "10.0.0.9"))
    assert "held by Pod ns/web" in ground.of("StaticRequestConflict")[0].message

    ground.see(pod("web", "10.0.0.9", deleting=True))
    assert ground.of("StaticRequestConflict") == []


def test_a_vms_own_pod_and_claim_do_not_stand_in_its_way() -> None:
    own = pod("virt-launcher-db", "10.0.0.9", domain="db")
    assert Ground(FLAG, nad(), vmi("db", "10.0.0.9"), claim("db"), own).of("StaticRequestConflict") == []
    held = (claim("db", "10.0.0.9"), claim("web", "10.0.0.9"))
    assert Ground(FLAG, nad(), vmi("db", "10.0.0.9"), *held).of("StaticRequestConflict") == []


def test_a_requested_address_that_the_claim_does_not_hold_is_another_vms() -> None:
    taken = (claim("web", "10.0.0.9"), pod("virt-launcher-web", "10.0.0.9", domain="web"))
    ground = Ground(FLAG, nad(), vmi("db", "10.0.0.9"), claim("db", "10.0.0.5"), *taken)

    (found,) = ground.of("StaticRequestConflict")

    by = "held by IPAMClaim ns/web.default of VM web, Pod ns/virt-launcher-web of VM web"
    assert f"the IPAMClaim holds 10.0.0.5/16. 10.0.0.9 is {by}" in found.message


def test_a_requested_address_is_the_networks_own() -> None:
    for config, ip, by in (
        ({}, "10.0.0.1", "the network's gateway"),
        ({}, "10.0.0.2", "the network's management address"),
        ({"infrastructureSubnets": "10.0.0.0/28"}, "10.0.0.9", "in infrastructure subnet 10.0.0.0/28"),
        ({"excludeSubnets": "10.0.8.0/28"}, "10.0.8.9", "in excluded subnet 10.0.8.0/28"),
    ):
        (found,) = Ground(FLAG, nad(**config), vmi("db", ip), claim("db")).of("StaticRequestConflict")
        assert f"{ip} is {by}" in found.message
    reserved = nad(reservedSubnets="10.0.8.0/28")
    assert Ground(FLAG, reserved, vmi("db", "10.0.8.9"), claim("db")).of("StaticRequestConflict") == []


def test_an_empty_claim_whose_requested_address_is_taken() -> None:
    empty = claim("db", refused="IPAddressConflict")
    waits = pod("virt-launcher-db", "10.0.0.7", domain="db", primary="db.default", phase="Pending")
    waits.pop("addresses")
    ground = Ground(nad(), vmi("db", "10.0.0.9", phase="Scheduling"), empty, waits, pod("web", "10.0.0.9"))

    (found,) = ground.of("EmptyClaim")

    assert "IPAddressConflict: 10.0.0.9 is held by Pod ns/web" in found.message
    assert found.evidence["withheldBy"] == {"10.0.0.9": "held by Pod ns/web"}


def test_a_duplicate_names_the_vms_of_its_holders() -> None:
    ground = Ground(
        nad(), claim("db", "10.0.0.9"), vmi("db"), claim("web", "10.0.0.9"), vmi("web"), pod("plain", "10.0.0.9")
    )

    one, other = ground.of("DuplicateIP")

    assert " with IPAMClaim ns/web.default of VM web, Pod ns/plain." in one.message
    assert other.evidence["holders"] == ["IPAMClaim ns/db.default of VM db", "Pod ns/plain"]


def test_an_excluded_address_names_the_range() -> None:
    for config, ip, by in (
        ({"excludeSubnets": "10.0.8.0/28"}, "10.0.8.9", "excluded subnet 10.0.8.0/28"),
        ({"infrastructureSubnets": "10.0.0.0/28"}, "10.0.0.9", "infrastructure subnet 10.0.0.0/28"),
        ({"reservedSubnets": "10.0.8.0/28"}, "10.0.8.9", "reserved subnet 10.0.8.0/28"),
        ({}, "10.0.0.1", "the network's gateway"),
        ({"defaultGatewayIPs": "10.0.0.2"}, "10.0.0.1", "the network's management address"),
    ):
        (found,) = Ground(nad(**config), claim("db", ip), vmi("db")).of("IpExcluded")
        assert f"{ip}/16 ({by})" in found.message


def test_a_full_network_names_the_namespaces_that_hold_most() -> None:
    small = NAD | {"subnets": "10.0.0.0/29", "config": {}}
    here = [claim(f"a{n}", f"10.0.0.{n}") for n in (1, 2, 3, 4)]
    there = [
        pod(f"p{n}", f"10.0.0.{n}", namespace="other", addresses={"other/main": [f"10.0.0.{n}/29"]}) for n in (5, 6)
    ]
    ground = Ground(small, small | {"namespace": "other"}, *here, *there, pod("own", "10.0.0.1"))

    (found,) = ground.of("PoolPressure")

    assert "Most are held in ns (4), other (2)." in found.message
    assert found.evidence["namespaces"] == {"ns": 4, "other": 2}
