"""Addresses that are held twice, excluded, missing or other than the pod's: how the controllers come to them."""

from __future__ import annotations

from tests.cluster.resources import IPAM_CLAIMS, PODS, VMIS, VMS
from tests.networks.annotations import given
from tests.networks.causes import causes
from tests.networks.conftest import MakeStage
from tests.networks.findings import Findings
from tests.networks.stage import Stage
from tests.waiting import wait_until

SIX = "192.168.200.0/29"  # addresses


def full(stage: Stage, count: int) -> None:
    for each in range(count):
        stage.runs_plain(f"pod-{each}")


@causes(
    DuplicateIP="a claim that was released under a running VM, or a network that did not keep addresses for a while"
)
def test_a_claim_released_under_a_running_vm_makes_a_duplicate(stage: Stage, findings: Findings) -> None:
    """OVN-Kubernetes gives the address to the next pod, and writes it into the new claim of the running one too."""
    stage.nad(subnets=SIX)
    pod = stage.run("db")
    ips = stage.wait_ips("db.blue")
    full(stage, 5)
    stage.client.delete(IPAM_CLAIMS, stage.namespace, "db.blue")
    findings.wait("StuckTerminatingDeletedByHand", "db.blue", "warning")
    stage.release("db.blue")
    findings.wait("MissingClaim", "db", "critical")

    late = stage.plain_pod("late")
    assert given(stage.wait_given(late))[f"{stage.namespace}/blue"] == ips  # which the VM has
    stage.touch(VMIS, "db")
    wait_until(lambda: stage.claim("db.blue"), 30, "ipam-extensions makes the claim again")
    findings.wait("EmptyClaim", "db.blue", "warning")
    stage.touch(PODS, pod["metadata"]["name"])

    assert stage.wait_ips("db.blue") == ips
    found = findings.wait("DuplicateIP", "db.blue", "critical")
    assert found["evidence"]["duplicates"] == [ips[0].partition("/")[0]]


def test_two_claims_of_one_address_are_not_refused(stage: Stage, findings: Findings) -> None:
    """Nobody compares claims: a VM that starts with an address in its claim gets it, whoever else has it."""
    stage.nad()
    stage.run("db")
    ips = stage.wait_ips("db.blue")
    stage.run("web")
    stage.stop("web")
    stage.write_ips("web.blue", ips)
    findings.wait("DuplicateIP", "web.blue")

    pod = stage.start("web")

    assert given(pod)[f"{stage.namespace}/blue"] == ips
    findings.wait("DuplicateIP", "db.blue", "critical")
    findings.wait("DuplicateIP", "web.blue", "critical")
    stage.plane.restart_ovn()  # which it does not fail over


@causes(PersistenceDisabled="without the flag OVN-Kubernetes gives the addresses of stopped VMs to other pods")
def test_addresses_of_stopped_vms_go_to_others_once_the_network_does_not_keep_them(
    stage: Stage, findings: Findings
) -> None:
    stage.nad(subnets=SIX)
    stage.run("db")
    ips = stage.wait_ips("db.blue")
    stage.stop("db")

    stage.configure("blue", allowPersistentIPs=None)
    found = findings.wait("PersistenceDisabled", severity="critical")
    assert "No NAD of network" in found["message"]
    took = [given(stage.runs_plain(f"pod-{count}"))[f"{stage.namespace}/blue"] for count in range(6)]
    assert ips in took  # as foretold

    stage.configure("blue", allowPersistentIPs=True)
    findings.wait_none("PersistenceDisabled")
    findings.wait("DuplicateIP", "db.blue", "warning")
    assert given(stage.start("db"))[f"{stage.namespace}/blue"] == ips


@causes(IpExcluded="an exclude that is added later; OVN-Kubernetes keeps the address")
def test_an_address_that_is_excluded_later_is_kept(stage: Stage, findings: Findings) -> None:
    stage.nad(subnets="192.168.200.0/24")
    stage.run("db")
    (ip,) = stage.wait_ips("db.blue")
    stage.stop("db")

    stage.configure("blue", excludeSubnets=f"{ip.partition('/')[0]}/32")

    findings.wait("IpExcluded", "db.blue", "warning")
    stage.plane.restart_ovn()  # no reason to fail
    assert given(stage.start("db"))[f"{stage.namespace}/blue"] == [ip]


@causes(FamilyIncomplete="a network that becomes dual-stack: OVN-Kubernetes adds no address to a claim that has one")
def test_a_network_that_becomes_dual_stack_gives_a_vm_no_second_address(stage: Stage, findings: Findings) -> None:
    stage.nad(subnets="192.168.200.0/24")
    stage.run("db")
    ips = stage.wait_ips("db.blue")
    stage.stop("db")

    stage.configure("blue", subnets="192.168.200.0/24,fd10:1::/64")

    findings.wait("FamilyIncomplete", "db.blue", "warning")
    assert given(stage.start("db"))[f"{stage.namespace}/blue"] == ips
    assert len(given(stage.run("web"))[f"{stage.namespace}/blue"]) == 2


def test_a_claim_that_is_written_by_hand_moves_the_vm_at_its_next_start(stage: Stage, findings: Findings) -> None:
    stage.nad(subnets="192.168.200.0/24")
    stage.run("db")
    stage.wait_ips("db.blue")
    stage.write_ips("db.blue", ["192.168.200.77/24"])

    found = findings.wait("IpDrift", "db.blue", "critical")

    assert "The VM gets 192.168.200.77 at its next start" in found["message"]
    assert given(stage.restart("db"))[f"{stage.namespace}/blue"] == ["192.168.200.77/24"]
    findings.wait_none("IpDrift")


@causes(
    PrefixMismatch=(
        "a person writes the status; OVN-Kubernetes takes the prefix length from the claim, so by itself it never "
        "differs"
    )
)
def test_another_prefix_length_is_seen(stage: Stage, findings: Findings) -> None:
    stage.nad(subnets="192.168.200.0/24")
    stage.run("db")
    (ip,) = stage.wait_ips("db.blue")
    other = ip.replace("/24", "/28")
    stage.write_ips("db.blue", [other])

    findings.wait("PrefixMismatch", "db.blue", "warning")

    assert given(stage.restart("db"))[f"{stage.namespace}/blue"] == [other]


@causes(
    EmptyClaim="a full network, a NAD in another namespace, one NAD on two interfaces, a pod without the reference",
    PoolPressure="OVN-Kubernetes has no address left, and says so by an Event and in the claim's condition",
)
def test_a_full_network_starves_a_vm(stage: Stage, findings: Findings) -> None:
    stage.nad(subnets=SIX)
    full(stage, 6)
    findings.wait("PoolPressure", severity="critical")
    stage.vm("db")

    stage.begin("db")

    found = findings.wait("EmptyClaim", "db.blue", "critical")
    assert found["evidence"]["cause"] == "SubnetExhausted"
    wait_until(lambda: stage.events("ErrorAllocatingPod"), 30, "OVN-Kubernetes says that the network is full")
    stage.end(stage.client.get(PODS, stage.namespace, "pod-0"))
    stage.touch(PODS, stage.pods("db")[0]["metadata"]["name"])
    assert stage.wait_ips("db.blue")
    findings.wait_none("EmptyClaim")


@causes(NetworkWithoutAddresses="OVN-Kubernetes finds no address in a /31")
def test_a_network_of_two_addresses_has_none(stage: Stage, findings: Findings) -> None:
    stage.nad(subnets="192.168.200.0/31")
    findings.wait("NetworkWithoutAddresses", severity="warning")
    stage.vm("db")
    stage.begin("db")
    found = findings.wait("EmptyClaim", "db.blue", "critical")
    assert found["evidence"]["cause"] == "SubnetExhausted"


def test_two_interfaces_on_one_nad_share_one_claim(stage: Stage, findings: Findings) -> None:
    """The webhook writes the name of one of them into both entries of the pod."""
    stage.nad()
    stage.run("db", {"a": "blue", "b": "blue"})
    filled = wait_until(lambda: next((each for each in ("db.a", "db.b") if stage.ips(each)), None), 30, "one is filled")
    empty = "db.a" if filled == "db.b" else "db.b"
    assert stage.ips(empty) == []
    found = findings.wait("EmptyClaim", empty)
    assert found["evidence"]["cause"] == "SameNadTwice"


@causes(
    CrossNamespaceNad="ipam-extensions makes the claim where the VM is, OVN-Kubernetes looks for it where the NAD is"
)
def test_a_nad_of_another_namespace_leaves_the_pod_without_an_address(
    make_stage: MakeStage, stage: Stage, findings: Findings
) -> None:
    """ipam-extensions makes the claim where the VM is, and OVN-Kubernetes looks for it where the NAD is."""
    other = make_stage()
    other.nad("shared")
    stage.vm("db", {"blue": f"{other.namespace}/shared"})

    pod = stage.begin("db")

    wait_until(lambda: stage.claim("db.blue"), 30, "the claim is there")
    findings.wait("CrossNamespaceNad", "db", "critical")
    found = findings.wait("EmptyClaim", "db.blue", "critical")
    assert found["evidence"]["cause"] == "CrossNamespaceNad"
    refused = f"error retrieving IPAMClaim for pod {stage.namespace}/{pod['metadata']['name']}"
    wait_until(lambda: refused in stage.plane.ovn.said(), 30, "OVN-Kubernetes does not find the claim")
    assert given(stage.again(pod)) == {}


@causes(
    LeakedClaim=(
        "an interface that is removed from the VM: ipam-extensions keeps its claim, and OVN-Kubernetes the address"
    )
)
def test_an_interface_that_is_removed_leaves_its_claim(stage: Stage, findings: Findings) -> None:
    stage.nad("blue", f"{stage.network}-blue")
    stage.nad("red", f"{stage.network}-red")
    stage.run("db", {"a": "blue", "b": "red"})
    ips = stage.wait_ips("db.b")
    stage.stop("db")
    networks = stage.client.get(VMS, stage.namespace, "db")["spec"]["template"]["spec"]
    spec = {"networks": networks["networks"][:1], "domain": {"devices": {"interfaces": [{"name": "a", "bridge": {}}]}}}
    stage.client.patch(VMS, stage.namespace, "db", {"spec": {"template": {"spec": spec}}})

    stage.start("db")

    findings.wait("LeakedClaim", "db.b", "info")
    findings.wait_counted(f"{stage.network}-red", {"leaked": 1})
    assert stage.ips("db.b") == ips
    findings.wait_calm()


def test_a_long_stop_is_a_reservation(stage: Stage, findings: Findings) -> None:
    """Without graces it is one at once."""
    stage.nad()
    stage.run("db")
    stage.stop("db")
    findings.wait("IdleReservation", "db.blue", "info")
    findings.wait_counted(stage.network, {"vm_stopped": 1})
