"""The state of each network, as `steward networks` and the API say it."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.cli.commands.networks import listed_networks
from exporter.questions.networks import STATES, NetworkState
from exporter.store.source import SyncState

from ....one_vm import Viewed

Row = dict[str, Any]

UDN = {"kind": "UserDefinedNetwork", "name": "blue"}
NAD = {"kind": "NetworkAttachmentDefinition", "name": "blue", "network": "ns_blue", "maker": "UserDefinedNetwork"}
PLAIN = {"kind": "NetworkAttachmentDefinition", "name": "own", "network": "lan"}
POD = {"kind": "Pod", "name": "launcher", "domain": "db", "addresses": {"ns/blue": ["10.0.0.5/16"]}}
IDLE = {"kind": "VirtualMachine", "name": "idle", "networks": {"a": "blue"}}
IN_USE = "failed: network in use by the following pods: [ns/done]"
DELETED = "2026-06-03T16:20:00Z"


def state(*rows: Row, network: str = "ns_blue") -> NetworkState:
    (report,) = Viewed(rows).take(network).networks
    return report.state


@pytest.mark.parametrize(
    ("rows", "network", "expected"),
    [
        ([UDN, NAD], "ns_blue", NetworkState("ready")),
        ([PLAIN], "lan", NetworkState("ready")),
        ([PLAIN, NAD | {"accepted": False}, UDN], "ns_blue", ("notServed", "accepted no NAD")),
        ([NAD | {"accepted": False}, UDN], "ns_blue", ("unknown", "says of no NAD")),
        ([UDN | {"failed": "no room"}], "ns_blue", ("notCreated", "SyncError: no room")),
        ([UDN], "ns_blue", ("nadMissing", "UserDefinedNetwork ns/blue")),
        ([UDN | {"over": {"status": None}}], "ns_blue", ("nadMissing", "UserDefinedNetwork ns/blue")),
        ([{"kind": "ClusterUserDefinedNetwork", "name": "red"}], "cluster_udn_red", ("nadMissing", "Network red")),
        ([NAD], "ns_blue", ("unknown", "is not there")),
    ],
)
def test_the_state_of_a_network(rows: list[Row], network: str, expected: NetworkState | tuple[str, str]) -> None:
    found = state(*rows, network=network)
    if isinstance(expected, NetworkState):
        assert found == expected
    else:
        assert (found.state, expected[1] in found.why) == (expected[0], True), found


def test_who_holds_a_network_that_is_being_deleted() -> None:
    leaving = UDN | {"deleting": True, "failed": IN_USE}
    assert state(leaving, NAD, POD, IDLE) == NetworkState(
        "deleting", "held by VM ns/db; ns/idle can't start once it is gone", ("VM ns/db",), DELETED
    )
    assert state(leaving, NAD).holders == ("pod ns/done",)
    assert state(UDN | {"deleting": True}, NAD) == NetworkState("deleting", "no pod is on it", (), DELETED)
    by_hand = PLAIN | {"deleting": True}
    assert state(by_hand, network="lan") == NetworkState("deleting", "no pod is on it", (), DELETED)
    assert state(by_hand, PLAIN | {"namespace": "other"}, network="lan").state == "ready"


def test_what_can_not_be_seen_is_unknown() -> None:
    viewed = Viewed([UDN, NAD, PLAIN])
    viewed.sync_state("UserDefinedNetwork", SyncState.FORBIDDEN)
    found = {each.network: each.state for each in viewed.take().networks}
    assert found["lan"] == NetworkState("ready")
    assert (found["ns_blue"].state, "can't be seen" in found["ns_blue"].why) == ("unknown", True)

    unserved = Viewed([PLAIN])
    unserved.sync_state("UserDefinedNetwork", SyncState.ABSENT)
    assert [each.state.state for each in unserved.take().networks] == ["ready"]


def test_the_table_says_why_a_network_is_not_ready() -> None:
    text = listed_networks(Viewed([UDN | {"deleting": True}, NAD, POD, PLAIN, {**UDN, "name": "late"}]).take(), None)
    usage, not_ready = text.split("NOT READY")
    assert [line.split()[0] for line in usage.splitlines()[1:] if " ready " in line] == ["lan"]
    assert "being deleted" in usage
    assert "no NAD" in usage
    assert "held by VM ns/db" in not_ready
    assert "lan" not in not_ready


def test_each_state_has_words() -> None:
    assert all(STATES[word] for word in ("ready", "deleting", "notCreated", "nadMissing", "notServed", "unknown"))
