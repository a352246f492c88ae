"""Repairs of IPAMClaims with the network's own controllers: the address is free afterwards, and is given again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.cluster.exporter import Exporter, binding
from tests.cluster.repair_faults import KUBEVIRT, LATER, settings
from tests.cluster.repair_ground import ACCOUNT, Ground
from tests.cluster.resources import IPAM_CLAIMS, NAMESPACES, VMS
from tests.cluster.sidecar import Sidecar
from tests.networks.annotations import given
from tests.networks.causes import causes
from tests.networks.control_plane import IPAM_ACCOUNT, ControlPlane
from tests.networks.findings import Findings
from tests.networks.stage import FINALIZER, Stage
from tests.waiting import wait_until

SIX = "192.168.200.0/29"  # addresses


@pytest.fixture(scope="session")
def ground(shared_plane: ControlPlane, eager: Exporter, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    """Where the sidecar may write, and KubeVirt is deployed, as far as its object says."""
    admin = shared_plane.admin
    if admin.find(NAMESPACES, None, "kubevirt") is None:
        admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
        admin.make(KUBEVIRT)
    full = binding("cluster-admin")
    full["metadata"]["name"], full["subjects"][0]["name"] = "repairs", ACCOUNT
    admin.apply(full)
    return Ground(shared_plane.server, eager, tmp_path_factory.mktemp("sidecars"))


def repairing(ground: Ground, stage: Stage, *remediations: str) -> Sidecar:
    """One that carries these out by itself in the stage's namespace, long after what it is about."""
    ground.free_lease(stage.namespace)
    auto = settings({(each, stage.namespace): "auto" for each in remediations})
    return ground.sidecar(stage.namespace, auto, ahead=LATER)


def fill(stage: Stage, count: int) -> None:
    for each in range(count):
        stage.runs_plain(f"pod-{each}")


def waits_in_vain(stage: Stage) -> None:
    """No address is left: one more pod says so."""
    stage.plain_pod("late")
    wait_until(lambda: stage.events("ErrorAllocatingPod"), 30, "OVN-Kubernetes says that the network is full")


@contextmanager
def missed_by_ipam_extensions(stage: Stage) -> Iterator[list[str]]:
    """A VM in a network that is full, which is deleted meanwhile; gives its addresses."""
    stage.nad(subnets=SIX)
    stage.run("db")
    ips = stage.wait_ips("db.blue")
    fill(stage, 5)
    with stage.plane.without_ipam():
        yield ips
        wait_until(lambda: "deletionTimestamp" in stage.claim("db.blue")["metadata"], 60, "the claim is collected")  # type: ignore[index]


def test_a_claim_that_nobody_releases_is_released_and_its_address_given_again(
    ground: Ground, stage: Stage, findings: Findings
) -> None:
    """ipam-extensions was down when the VM went: the event that it missed does not come again."""
    with missed_by_ipam_extensions(stage) as ips:
        stage.delete("db")
        stage.wait_gone(VMS, "db")
    findings.wait("StuckTerminatingOwnerGone", "db.blue")
    waits_in_vain(stage)
    assert stage.claim("db.blue") is not None

    with repairing(ground, stage, "release_ipam_claim") as sidecar:
        sidecar.wait_for("verified")

    assert stage.claim("db.blue") is None
    stage.takes("late", ips)
    findings.wait_none("StuckTerminatingOwnerGone")


def test_a_vm_that_waits_for_its_claim_is_touched_and_ipam_extensions_does_the_rest(
    ground: Ground, stage: Stage, findings: Findings
) -> None:
    with missed_by_ipam_extensions(stage) as ips:
        stage.delete("db", "Foreground")
    findings.wait("StuckTerminatingBlocksOwnerDeletion", "db.blue", "critical")
    waits_in_vain(stage)

    with repairing(ground, stage, "release_ipam_claim") as sidecar:
        stage.wait_gone(VMS, "db")
        sidecar.wait_for("done")

    assert stage.claim("db.blue") is None
    assert ground.writes(stage.namespace) == [("patch", "virtualmachines", "db")]
    assert stage.plane.writers("ipamclaims", "db.blue", stage.namespace)[-1] == IPAM_ACCOUNT
    stage.takes("late", ips)


def test_an_orphan_is_deleted_and_released_and_its_address_given_again(
    ground: Ground, stage: Stage, findings: Findings
) -> None:
    """Neither ipam-extensions nor garbage collection ran while the VM went."""
    stage.nad(subnets=SIX)
    stage.run("db")
    ips = stage.wait_ips("db.blue")
    fill(stage, 5)
    with stage.plane.without_garbage_collection():
        with stage.plane.without_ipam():
            stage.delete("db")
            stage.wait_gone(VMS, "db")
        findings.wait("OrphanClaim", "db.blue")
        waits_in_vain(stage)
        claim = stage.client.get(IPAM_CLAIMS, stage.namespace, "db.blue")
        assert claim["metadata"]["finalizers"] == [FINALIZER]

        with repairing(ground, stage, "delete_orphan_ipam_claim", "release_ipam_claim") as sidecar:
            sidecar.wait_for("verified", 2, seconds=120)

        assert stage.claim("db.blue") is None
        written = [verb for verb, *what in ground.writes(stage.namespace) if what == ["ipamclaims", "db.blue"]]
        assert written == ["delete", "patch"]
        stage.takes("late", ips)


@causes(
    StuckTerminatingDeletedByHand=(
        "a person deletes the claim; ipam-extensions' finalizer holds it. Released under the VM its address goes to "
        "another pod"
    )
)
def test_a_claim_that_a_pod_still_uses_is_not_released(ground: Ground, stage: Stage, findings: Findings) -> None:
    """By hand it can be: then OVN-Kubernetes gives the address of the running pod to another one."""
    stage.nad(subnets=SIX)
    pod = stage.run("db")
    ips = stage.wait_ips("db.blue")
    fill(stage, 5)
    waits_in_vain(stage)
    stage.client.delete(IPAM_CLAIMS, stage.namespace, "db.blue")
    findings.wait("StuckTerminatingDeletedByHand", "db.blue")
    with repairing(ground, stage, "release_ipam_claim") as sidecar:
        sidecar.runs_again()
        assert "intended" not in sidecar.events()
    assert stage.claim("db.blue") is not None

    stage.release("db.blue")

    stage.takes("late", ips)
    assert given(stage.again(pod))[f"{stage.namespace}/blue"] == ips
