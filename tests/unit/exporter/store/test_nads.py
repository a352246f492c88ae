"""NADs of networks as records: what two programs read of one configuration."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporter.kube.watch.listing import Decoder
from exporter.store.kinds.network_attachment_definition import NetworkAttachmentDefinition, differing, pool_of
from exporter.store.kinds.user_defined_networks import ClusterUserDefinedNetwork, UserDefinedNetwork

BASE = {
    "cniVersion": "1.0.0",
    "name": "tenantblue",
    "type": "ovn-k8s-cni-overlay",
    "netAttachDefName": "ns/blue",
    "topology": "layer2",
    "subnets": "192.168.200.0/24",
    "allowPersistentIPs": True,
}


def nad(config: Any, **meta: Any) -> NetworkAttachmentDefinition:
    text = config if isinstance(config, str) else json.dumps(config)
    thing = {"metadata": {"name": "blue", "namespace": "ns", **meta}, "spec": {"config": text}}
    seen = Decoder(NetworkAttachmentDefinition.KIND).object(json.dumps(thing).encode())
    assert isinstance(seen.record, NetworkAttachmentDefinition), seen.why
    return seen.record


def test_the_documented_example() -> None:
    found = nad(
        BASE | {"role": "secondary", "excludeSubnets": "192.168.200.1/32,192.168.200.240/28", "mtu": 1400},
        annotations={"k8s.ovn.org/network-name": "tenantblue", "k8s.ovn.org/network-id": "7"},
    )
    assert (found.network, found.topology, found.role) == ("tenantblue", "layer2", "secondary")
    assert (found.readable, found.ovn, found.persistent, found.effective, found.accepted) == (True,) * 5
    assert (found.problems, found.made_by) == ((), "")
    assert pool_of(found).capacity()[0].dynamic == 238


@pytest.mark.parametrize(
    ("config", "problems"),
    [
        ("", ()),
        ("null", ()),
        ("   ", ("BadJson",)),
        ("{", ("BadJson",)),
        ("[]", ("BadJson",)),
        ({"type": "bridge", "name": 5}, ("BadJson",)),
        ({"type": "bridge", "allowPersistentIPs": "yes"}, ("BadJson",)),
        ({"type": "bridge", "subnets": ["10.0.0.0/24"]}, ("SubnetsNotString",)),
        ({"type": "bridge", "name": "lan"}, ()),
        ({"type": "bridge", "name": "lan", "allowPersistentIPs": True}, ("NotOvn",)),
        ({"name": "x", "plugins": [{"type": "bridge"}, {"type": "tuning"}]}, ()),
        (BASE, ()),
        (BASE | {"subnets": ""}, ("PersistentWithoutSubnets",)),
        (BASE | {"subnets": "", "topology": "localnet"}, ("PersistentLocalnetWithoutSubnets",)),
        (BASE | {"subnets": "10.0.0.0/16/24", "topology": "layer3"}, ("PersistentLayer3",)),
        (BASE | {"subnets": "", "allowPersistentIPs": False}, ()),
        (BASE | {"netAttachDefName": "ns/red"}, ("NameMismatch",)),
        ({k: v for k, v in BASE.items() if k != "netAttachDefName"}, ("NameMismatch",)),
        ({"type": "ovn-k8s-cni-overlay", "name": "ovn-kubernetes"}, ()),
        (BASE | {"excludeSubnets": "192.168.200.0/28,192.168.200.8/29"}, ("OverlappingExcludes",)),
        (
            BASE | {"excludeSubnets": "192.168.200.0/28", "reservedSubnets": "192.168.200.8/29"},
            ("OverlappingExcludes",),
        ),
        (BASE | {"excludeSubnets": "192.168.201.0/28"}, ("ExcludeOutsideSubnets",)),
        (BASE | {"excludeSubnets": "192.168.200.0/23"}, ("ExcludeOutsideSubnets",)),
        (BASE | {"role": "primary", "excludeSubnets": "192.168.200.0/29"}, ("ExcludesGateway",)),
        (BASE | {"role": "primary", "excludeSubnets": "192.168.200.8/29"}, ()),
        (
            BASE
            | {"role": "primary", "excludeSubnets": "192.168.200.0/29", "infrastructureSubnets": "192.168.200.8/29"},
            (),
        ),
        ({**BASE, "plugins": [BASE]}, ()),
        ({"name": "tenantblue", "plugins": [BASE]}, ("Conflist",)),
        (
            {"name": "tenantblue", "allowPersistentIPs": True, "plugins": [BASE | {"allowPersistentIPs": False}]},
            ("Conflist",),
        ),
    ],
)
def test_problems(config: Any, problems: tuple[str, ...]) -> None:
    assert nad(config).problems == problems


@pytest.mark.parametrize(
    "change",
    [
        {"subnets": ""},
        {"topology": "layer3"},
        {"topology": "localnet", "role": "primary"},
        {"allowPersistentIPs": False},
        {"type": "bridge"},
        {"netAttachDefName": "ns/red"},
    ],
)
def test_addresses_are_not_kept(change: dict[str, Any]) -> None:
    assert nad(BASE).effective
    assert not nad(BASE | change).effective


@pytest.mark.parametrize(
    ("change", "keys"),
    [
        ({"subnets": " 192.168.200.9/24 "}, ()),
        ({"role": "secondary"}, ()),
        ({"mtu": 1400}, ()),
        ({"joinSubnet": "fd99::/64, 100.65.0.0/16"}, ()),
        ({"transitSubnet": "100.88.0.0/16"}, ()),
        ({"vlanID": 0}, ()),
        ({"role": "primary"}, ("role",)),
        ({"allowPersistentIPs": False}, ("allowPersistentIPs",)),
        ({"vlanID": 5, "physicalNetworkName": "br-ex"}, ("vlanID", "physicalNetworkName")),
        ({"joinSubnet": "100.66.0.0/16"}, ("joinSubnet",)),
        ({"subnets": "192.168.201.0/24"}, ("subnets",)),
        ({"excludeSubnets": "192.168.200.0/30"}, ("excludeSubnets",)),
    ],
)
def test_what_nads_of_one_network_must_agree_on(change: dict[str, Any], keys: tuple[str, ...]) -> None:
    assert differing(nad(BASE).signature, nad(BASE | change).signature) == keys


def test_the_order_of_excludes_matters_and_that_of_subnets_does_not() -> None:
    one = nad(BASE | {"subnets": "10.0.0.0/24,fd00::/64", "excludeSubnets": "10.0.0.0/30,10.0.0.8/30"})
    other = nad(BASE | {"subnets": "fd00::/64,10.0.0.0/24", "excludeSubnets": "10.0.0.8/30,10.0.0.0/30"})
    assert differing(one.signature, other.signature) == ("excludeSubnets",)


def test_subnets_may_be_added_to_layer3() -> None:
    one = nad(BASE | {"topology": "layer3", "subnets": "10.0.0.0/16/24"})
    more = nad(BASE | {"topology": "layer3", "subnets": "10.1.0.0/16/24,10.0.0.0/16/24"})
    other = nad(BASE | {"topology": "layer3", "subnets": "10.1.0.0/16/24"})
    assert differing(one.signature, more.signature) == ()
    assert differing(one.signature, other.signature) == ("subnets",)


def test_names_of_fields_in_any_case_and_null() -> None:
    found = nad({**BASE, "AllowPersistentIPs": True, "allowPersistentIPs": None, "role": None})
    assert (found.persistent, found.role) == (True, "secondary")


@pytest.mark.parametrize("maker", ["UserDefinedNetwork", "ClusterUserDefinedNetwork"])
def test_who_made_it(maker: str) -> None:
    owner = {"apiVersion": "k8s.ovn.org/v1", "kind": maker, "name": "blue", "uid": "u"}
    assert nad(BASE, ownerReferences=[owner]).made_by == maker
    assert nad(BASE, labels={"k8s.ovn.org/user-defined-network": ""}).made_by == "UserDefinedNetwork"


def test_user_defined_networks() -> None:
    ipam = {"mode": "Enabled", "lifecycle": "Persistent"}
    layer2 = {"role": "Primary", "subnets": ["10.0.0.7/16"], "ipam": ipam}
    failed = {
        "type": "NetworkCreated",
        "status": "False",
        "reason": "NetworkAttachmentDefinitionSyncError",
        "message": "m" * 300,
        "lastTransitionTime": "2026-05-04T08:12:31Z",
    }
    meta = {"name": "blue", "namespace": "ns"}
    udn = _record(
        UserDefinedNetwork.KIND,
        {"metadata": meta, "spec": {"topology": "Layer2", "layer2": layer2}, "status": {"conditions": [None, failed]}},
    )
    localnet = {"role": "Secondary", "ipam": ipam}
    cudn = _record(
        ClusterUserDefinedNetwork.KIND,
        {"metadata": {"name": "red"}, "spec": {"network": {"topology": "Localnet", "localnet": localnet}}},
    )
    layer3 = {"role": "Primary", "subnets": [{"cidr": "10.0.0.0/16", "hostSubnet": 24}]}
    routed = _record(UserDefinedNetwork.KIND, {"metadata": meta, "spec": {"topology": "Layer3", "layer3": layer3}})

    assert (udn.network, udn.topology, udn.role, udn.subnets) == ("ns_blue", "layer2", "primary", ("10.0.0.0/16",))
    assert (udn.persistent, udn.failed, len(udn.message)) == (True, "NetworkCreated", 200)
    assert (cudn.network, cudn.topology, cudn.role) == ("cluster_udn_red", "localnet", "secondary")
    assert (cudn.persistent, cudn.failed) == (True, "")
    assert (routed.topology, routed.role, routed.subnets, routed.persistent) == ("layer3", "primary", (), False)


def _record(kind: Any, thing: dict[str, Any]) -> Any:
    seen = Decoder(kind).object(json.dumps(thing).encode())
    assert seen.record is not None, seen.why
    return seen.record
