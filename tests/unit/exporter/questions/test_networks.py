"""Networks as a view: IP usage, and the reclaimable addresses, the safest first."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from exporter.checks import all_checks
from exporter.cli.commands.networks import listed_networks
from exporter.counts.networks import AddressUse
from exporter.questions.networks import RECLAIMABLE
from exporter.store.source import SyncState

from ....one_vm import Viewed
from ....rows import full

NAD = {"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "tenantblue", "subnets": "10.0.0.0/24"}


def claim(name: str, ip: str, **more: Any) -> dict[str, Any]:
    row = {"kind": "IPAMClaim", "name": f"{name}.blue", "vm": name, "owner": f"u-{name}", "ips": [f"{ip}/24"]}
    return row | {"network": "tenantblue"} | more


def vm(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "VirtualMachine", "name": name, "uid": f"u-{name}", "networks": {"blue": "blue"}} | more


def pod(name: str, ip: str, **more: Any) -> dict[str, Any]:
    return {"kind": "Pod", "name": name, "addresses": {"ns/blue": [f"{ip}/24"]}} | more


@pytest.mark.parametrize(
    ("rows", "used"),
    [
        ([claim("a", "10.0.0.5"), vm("a"), pod("p", "10.0.0.5", domain="a")], {"vm_running": 1}),
        ([claim("a", "10.0.0.5"), vm("a")], {"vm_stopped": 1}),
        ([claim("a", "10.0.0.5"), vm("a", networks={"red": "red"})], {"leaked": 1}),
        ([claim("a", "10.0.0.5")], {"orphaned": 1}),
        ([claim("a", "10.0.0.5"), vm("a", uid="another")], {"orphaned": 1}),
        ([claim("a", "10.0.0.5", deleting=True), vm("a")], {"terminating": 1}),
        ([pod("p", "10.0.0.5")], {"pod_only": 1}),
        ([pod("p", "10.0.0.5"), pod("q", "10.0.0.5")], {"pod_only": 1}),
        ([claim("a", "10.0.0.5"), vm("a"), pod("web", "10.0.0.5")], {"vm_stopped": 1}),
        ([claim("a", "10.0.0.5"), claim("b", "10.0.0.5"), vm("b")], {"vm_stopped": 1}),
        (
            [{"kind": "IPAMClaim", "name": "x", "finalizers": [], "ips": ["10.0.0.5/24"], "network": "tenantblue"}],
            {"foreign": 1},
        ),
        ([claim("a", "10.9.0.5"), claim("b", "10.0.0.0"), claim("c", "no address")], {}),
        ([claim("a", "10.0.0.5", network="tenantred"), claim("b", "10.0.0.6", ips=[])], {}),
    ],
)
def test_what_an_address_is_used_for(rows: list[dict[str, Any]], used: dict[str, int]) -> None:
    assert Viewed([NAD, *rows]).used() == used
    assert Viewed([*rows, NAD]).used() == used


def test_an_address_changes_its_use_with_its_vm() -> None:
    viewed = Viewed([NAD, claim("a", "10.0.0.5"), vm("a")])
    assert viewed.used() == {"vm_stopped": 1}
    viewed.seen(full(pod("p", "10.0.0.5", domain="a")))
    assert viewed.used() == {"vm_running": 1}
    viewed.gone("Pod", "ns", "p")
    viewed.gone("VirtualMachine", "ns", "a")
    assert viewed.used() == {"orphaned": 1}
    viewed.seen(full(NAD | {"subnets": "10.1.0.0/24"}))
    assert (viewed.used(), viewed.one().elsewhere) == ({}, 1)
    viewed.gone("NetworkAttachmentDefinition", "ns", "blue")
    assert viewed.take().networks == ()


def test_the_summary_of_a_network() -> None:
    config = {"role": "primary", "excludeSubnets": "10.0.0.64/26", "reservedSubnets": "10.0.0.128/29"}
    two = NAD | {"subnets": "10.0.0.0/24,fd00::/64", "config": config}
    viewed = Viewed([two, two | {"namespace": "other"}, claim("a", "10.0.0.5", ips=["10.0.0.5/24", "fd00::5/64"])])
    report = viewed.one()

    assert (report.network, report.topology, report.role, report.persistent) == (
        "tenantblue",
        "layer2",
        "primary",
        True,
    )
    assert (report.nads, [ref.namespace for ref in report.first_nads]) == (2, ["ns", "other"])
    four, six = report.subnets
    assert (four.capacity, four.static, four.excluded, four.infrastructure) == (254 - 64 - 8 - 2, 8, 64, 2)
    assert (four.used, four.free, six.used, six.capacity) == (1, 179, 1, 65533)
    assert (report.free, report.complete) == (179, True)
    assert report.utilisation == pytest.approx(1 / 180, abs=1e-4)
    assert set(four.usage) == {use.value for use in AddressUse}


def test_no_pool_and_no_division_by_zero() -> None:
    layer3 = NAD | {"subnets": "10.0.0.0/16/24", "persistent": False, "config": {"topology": "layer3"}}
    report = Viewed([layer3, pod("p", "10.0.0.5")]).one()
    assert (report.subnets, report.free, report.utilisation, report.elsewhere) == ((), 0, 0.0, 0)
    assert Viewed([NAD | {"subnets": "10.0.0.0/31"}]).one().free == 0


def test_what_could_be_had_back_the_safest_and_largest_first() -> None:
    rows = [
        claim("idle", "10.0.0.2", ips=["10.0.0.2/24", "fd00::2/64"]),
        vm("idle", stopped="2020-01-01T00:00:00Z"),
        claim("gone", "10.0.0.3", ips=["10.0.0.3/24"]),
        claim("twice", "10.0.0.4", ips=["10.0.0.4/24", "fd00::4/64"]),
        claim("stuck", "10.0.0.5", deleting=True),
        {"kind": "IPAMClaim", "name": "a.blue", "vm": "a", "network": "tenantblue", "ips": ["10.0.0.6/24"]},
        vm("b"),
        {"kind": "IPAMClaim", "name": "b.blue", "vm": "b", "network": "tenantblue", "ips": ["10.0.0.7/24"]},
        claim("empty", "", ips=[]),
    ]
    viewed = Viewed([NAD | {"subnets": "10.0.0.0/24,fd00::/64"}, *rows])
    found = [(each.reason, each.claim.name, len(each.ips)) for each in viewed.one().reclaim]

    assert found == [
        ("StuckTerminatingOwnerGone", "stuck.blue", 1),
        ("OrphanClaim", "twice.blue", 2),
        ("OrphanClaim", "gone.blue", 1),
        ("OwnerlessClaim", "a.blue", 1),
        ("IdleReservation", "idle.blue", 2),
    ]
    assert viewed.one().reclaimable == 7
    assert all(each.loss == RECLAIMABLE[each.reason].loss and each.since for each in viewed.one().reclaim)


def test_reasons_that_tell_of_addresses_to_have_back_exist() -> None:
    assert set(RECLAIMABLE) <= {reason for check in all_checks() for reason in check.reasons}


def test_the_fullest_network_first_and_one_by_its_name() -> None:
    red = {**NAD, "name": "red", "network": "tenantred", "subnets": "10.0.0.0/30"}
    viewed = Viewed([NAD, red, claim("a", "10.0.0.1", network="tenantred"), claim("b", "10.0.0.1")])
    assert [report.network for report in viewed.take().networks] == ["tenantred", "tenantblue"]
    assert [report.network for report in viewed.take("tenantblue").networks] == ["tenantblue"]
    assert viewed.take("none").networks == ()


def test_nothing_is_counted_while_it_can_not_be_seen() -> None:
    viewed = Viewed([NAD, claim("a", "10.0.0.5")])
    viewed.sync_state("VirtualMachine", SyncState.FORBIDDEN)
    assert viewed.take().networks == ()
    assert viewed.take().unseen == ("VirtualMachine",)
    lines, _ = viewed.scrape()
    assert [line for line in lines if not line.startswith("#")] == []


def test_what_can_not_be_read_makes_its_networks_incomplete() -> None:
    undecodable = claim("b", "10.0.0.6", undecodable=True)
    assert not Viewed([NAD, undecodable]).one().complete
    assert Viewed([NAD, undecodable | {"namespace": "elsewhere"}]).one().complete


def test_a_pod_whose_addresses_can_not_be_read_makes_its_networks_incomplete() -> None:
    blind = {
        "kind": "Pod",
        "name": "web",
        "annotations": {"k8s.ovn.org/pod-networks": "[]", "k8s.v1.cni.cncf.io/networks": '[{"name": "blue"}]'},
    }
    assert not Viewed([NAD, blind]).one().complete
    assert Viewed([NAD, blind | {"namespace": "elsewhere"}]).one().complete


def test_state_families() -> None:
    lines, states = Viewed([NAD, claim("a", "10.0.0.5"), vm("a")]).scrape()
    labels = 'network="tenantblue",subnet="10.0.0.0/24"'
    assert f"kubevirt_ipam_pool_capacity{{{labels}}} 254" in lines
    assert f'kubevirt_ipam_pool_used{{{labels},use="vm_stopped"}} 1' in lines
    assert f'kubevirt_ipam_pool_used{{{labels},use="orphaned"}} 0' in lines
    assert f'kubevirt_ipam_pool_withheld{{{labels},why="excluded"}} 0' in lines
    assert "# TYPE kubevirt_ipam_pool_used gauge" in lines
    assert states.series == {
        "kubevirt_ipam_pool_capacity": 1,
        "kubevirt_ipam_pool_used": len(AddressUse),
        "kubevirt_ipam_pool_withheld": 3,
        "kubevirt_ipam_pool_used_outside": 0,
    }
    assert set(states.left_out.values()) == {0}


def test_state_families_keep_to_the_series_limit_and_names_stay_one_label_value() -> None:
    networks = [NAD | {"name": f"n{n}", "network": f'{n}"\n'} for n in range(9)]
    lines, states = Viewed(networks).scrape(limit=20)
    series = [line for line in lines if not line.startswith("#")]
    assert all(line.count('\\"\\n"') == 1 for line in series)
    assert sum(line.startswith("kubevirt_ipam_pool_capacity") for line in series) == 9
    assert sum(line.startswith("kubevirt_ipam_pool_used{") for line in series) == 14  # networks are shown whole
    assert (states.series["kubevirt_ipam_pool_used"], states.left_out["kubevirt_ipam_pool_used"]) == (14, 63 - 14)
    assert (states.series["kubevirt_ipam_pool_capacity"], states.left_out["kubevirt_ipam_pool_capacity"]) == (9, 0)


def _listing(count: int) -> str:
    return ",".join(f"11.{at >> 8}.{at & 255}.0/24" for at in range(count))


def test_one_network_of_thousands_of_subnets_hides_no_other_and_is_counted_series_by_series() -> None:
    large = NAD | {"name": "aaa", "network": "aaa", "subnets": _listing(3000)}
    lines, states = Viewed([large, NAD]).scrape()
    series = [line for line in lines if not line.startswith("#")]
    assert sum(line.startswith("kubevirt_ipam_pool_used{") for line in series) == len(AddressUse)
    assert not [line for line in series if 'network="aaa"' in line]
    assert states.series["kubevirt_ipam_pool_used"] == len(AddressUse)
    assert states.left_out["kubevirt_ipam_pool_used"] == 3000 * len(AddressUse)
    assert states.left_out["kubevirt_ipam_pool_capacity"] == 3000


def test_where_a_family_is_full_the_networks_that_need_the_most_are_left_out() -> None:
    large = [NAD | {"name": f"a{n}", "network": f"a{n}", "subnets": _listing(12)} for n in range(3)]
    small = [NAD | {"name": f"z{n}", "network": f"z{n}"} for n in range(9)]
    lines, states = Viewed([*large, *small]).scrape(limit=22)
    shown = [line.split('network="')[1][:2] for line in lines if line.startswith("kubevirt_ipam_pool_capacity")]
    assert shown == ["a0"] * 12 + [f"z{n}" for n in range(9)]
    assert (states.series["kubevirt_ipam_pool_capacity"], states.left_out["kubevirt_ipam_pool_capacity"]) == (21, 24)


PRIMARY = {"role": "primary", "excludeSubnets": "10.0.0.64/26", "reservedSubnets": "10.0.0.128/29"}


@pytest.mark.parametrize(
    ("ip", "place"),
    [
        ("10.0.0.0", "edge"),
        ("10.0.0.255", "edge"),
        ("10.0.0.1", "excluded"),  # the gateway
        ("10.0.0.2", "excluded"),  # the management address
        ("10.0.0.70", "excluded"),
        ("10.0.0.129", "reserved"),
        ("10.0.1.5", "outside"),
        ("fd00::5", "no_family"),
        ("10.0.0.300", "unreadable"),
        ("10.0.0.5", ""),
    ],
)
def test_what_lies_outside_of_the_capacity_does_not_use_it_and_is_not_lost(ip: str, place: str) -> None:
    viewed = Viewed([NAD | {"config": PRIMARY}, claim("a", ip), vm("a")])
    report = viewed.one()
    (subnet,) = report.subnets
    lines, _ = viewed.scrape()
    outside = [line for line in lines if line.startswith("kubevirt_ipam_pool_used_outside{")]

    assert (subnet.used, report.elsewhere) == ((0, 1) if place else (1, 0))
    assert report.outside == ({place: {"vm_stopped": 1}} if place else {})
    assert outside == (
        [f'kubevirt_ipam_pool_used_outside{{network="tenantblue",place="{place}",use="vm_stopped"}} 1'] if place else []
    )


def test_metric_json_command_line_and_page_count_the_same() -> None:
    held = [claim(f"v{n}", f"10.0.0.{n}") for n in range(0, 256, 3)]
    rows = [*held, *(vm(f"v{n}") for n in range(0, 256, 9)), claim("far", "10.7.0.1"), pod("web", "10.0.0.200")]
    viewed = Viewed([NAD | {"config": PRIMARY}, *rows])
    lines, _ = viewed.scrape()
    loaded = json.loads(msgspec.json.encode(viewed.take()))["networks"][0]
    (subnet,) = loaded["subnets"]

    def samples(family: str, label: str) -> dict[str, int]:
        found = [line for line in lines if line.startswith(f"{family}{{")]
        return {line.split(f'{label}="')[1].split('"')[0]: int(line.split()[-1]) for line in found}

    used = samples("kubevirt_ipam_pool_used", "use")
    outside = [line for line in lines if line.startswith("kubevirt_ipam_pool_used_outside{")]
    assert used == subnet["usage"]
    assert sum(used.values()) == subnet["used"] == subnet["capacity"] - subnet["free"] > 0
    assert sum(int(line.split()[-1]) for line in outside) == loaded["elsewhere"] > 0
    assert loaded["elsewhere"] == sum(sum(usage.values()) for usage in loaded["outside"].values())
    assert subnet["used"] + loaded["elsewhere"] == len(held) + 2  # every address that is held, once
    withheld = samples("kubevirt_ipam_pool_withheld", "why")
    assert withheld == {
        "excluded": subnet["excluded"],
        "infrastructure": subnet["infrastructure"],
        "reserved": subnet["static"],
    }
    assert subnet["capacity"] + sum(withheld.values()) == 254

    (row,) = [line for line in listed_networks(viewed.take(), None).splitlines() if line.startswith("tenantblue")]
    assert f" {subnet['used']} " in row
    for use, count in used.items():
        assert (f"{count} {use}" in row) is bool(count)
    assert "; beside its capacity: " in row


def test_the_report_is_json() -> None:
    loaded = json.loads(msgspec.json.encode(Viewed([NAD]).take()))
    assert set(loaded) == {"generation", "unseen", "networks"}
    assert loaded["networks"][0]["firstNads"][0]["name"] == "blue"
