"""The controllers themselves: stopped, restarted, without their webhook, and what they miss meanwhile."""

from __future__ import annotations

from functools import partial

import pytest

from tests.cluster.client import ApiError
from tests.cluster.exporter import Exporter
from tests.cluster.resources import IPAM_CLAIMS, PODS, VMIS, VMS
from tests.networks.annotations import given
from tests.networks.causes import causes
from tests.networks.findings import Findings
from tests.networks.stage import FINALIZER, Stage
from tests.waiting import wait_until

from .control_plane import HOOK


def collected(stage: Stage, claim: str) -> bool:
    return "deletionTimestamp" in (stage.claim(claim) or {"metadata": {}})["metadata"]


@causes(ControllerNotReady="ipam-extensions does not run: its webhook does not answer, so no launcher pod is created")
def test_without_ipam_extensions_no_vm_starts(stage: Stage, findings: Findings) -> None:
    """Its webhook must answer; what its absence explains is not reported of the VMs."""
    stage.nad()
    stage.vm("db")
    stage.plane.ipam.stop()
    findings.wait("ControllerNotReady", severity="critical")

    with pytest.raises(ApiError, match="failed calling webhook"):
        stage.begin("db")

    assert stage.claim("db.blue") is None
    assert "MissingClaim" not in findings.reasons()
    stage.plane.start_ipam()
    findings.wait_none("ControllerNotReady")
    stage.runs("db", stage.pod("db"))
    stage.wait_ips("db.blue")
    findings.wait_calm()


@causes(WebhookMissing="nobody registered the webhook: pods start without references, and claims stay empty")
def test_without_its_webhook_a_vm_starts_without_its_claim(stage: Stage, findings: Findings) -> None:
    """With the webhook an annotated pod gets the reference, and OVN-Kubernetes fills the claim from the pod."""
    stage.nad()
    stage.plane.unhook()
    findings.wait("WebhookMissing", severity="critical")
    pod = stage.run("db")
    assert stage.ips("db.blue") == []
    assert "EmptyClaim" not in findings.reasons()  # the missing webhook explains it

    stage.plane.hook()
    found = findings.wait("EmptyClaim", "db.blue", "warning")
    assert found["evidence"]["cause"] == "NotReferenced"
    assert found["next"] == "Before the VM stops or migrates, annotate its pod. The webhook then adds the reference."
    stage.touch(PODS, pod["metadata"]["name"])

    assert stage.wait_ips("db.blue") == given(pod)[f"{stage.namespace}/blue"]
    findings.wait_calm()


@causes(
    IpDrift="a reference that was added after the pod had another address; or a person writes the status",
    NotReferenced="a VM that started while the webhook was not registered",
)
def test_a_pod_without_a_reference_has_another_address_than_its_claim(stage: Stage, findings: Findings) -> None:
    """It ends with the pod; with the reference the VM gets the claim's at its next start."""
    stage.nad()
    stage.run("db")
    kept = stage.wait_ips("db.blue")
    stage.plane.unhook()
    findings.wait("WebhookMissing")

    pod = stage.restart("db")

    assert given(pod)[f"{stage.namespace}/blue"] != kept
    stage.plane.hook()
    findings.wait("NotReferenced", "db.blue", "warning")
    stage.touch(PODS, pod["metadata"]["name"])
    findings.wait("IpDrift", "db.blue", "critical")
    assert given(stage.restart("db"))[f"{stage.namespace}/blue"] == kept
    findings.wait_calm()


@causes(WebhookUntrusted="nobody wrote the CA bundle: the API server creates no launcher pod")
def test_a_webhook_that_is_not_trusted_keeps_pods_from_being_made(stage: Stage, findings: Findings) -> None:
    stage.nad()
    stage.vm("db")
    stage.plane.distrust()
    findings.wait("WebhookUntrusted", HOOK, "critical")
    try:
        with pytest.raises(ApiError, match="certificate signed by unknown authority"):
            stage.begin("db")
    finally:
        stage.plane.hook()
    findings.wait_none("WebhookUntrusted")


@causes(ControllerMissing="ipam-extensions is not installed: a restart gives another address")
def test_without_ipam_extensions_at_all_vms_lose_their_addresses(stage: Stage, findings: Findings) -> None:
    stage.nad()
    with stage.plane.without_ipam(installed=False):
        findings.wait("ControllerMissing", severity="critical")
        first = given(stage.run("db"))[f"{stage.namespace}/blue"]
        assert given(stage.restart("db"))[f"{stage.namespace}/blue"] != first
        assert stage.claim("db.blue") is None
    findings.wait_none("ControllerMissing")


@causes(ControlPlaneNotReady="the cluster manager does not run, or fails over a claim or a NAD")
def test_without_the_cluster_manager_no_address_is_given(stage: Stage, findings: Findings) -> None:
    stage.nad()
    stage.plane.ovn.stop()
    findings.wait("ControlPlaneNotReady", severity="critical")
    stage.vm("db")

    pod = stage.begin("db")

    wait_until(lambda: stage.claim("db.blue"), 30, "the claim is there")
    assert "EmptyClaim" not in findings.reasons()  # the stack explains it
    stage.plane.start_ovn()
    stage.runs("db", pod)
    assert stage.wait_ips("db.blue")
    findings.wait_none("ControlPlaneNotReady")


def test_a_restart_of_the_cluster_manager_reserves_all_claims_again(stage: Stage, findings: Findings) -> None:
    stage.nad(subnets="192.168.200.0/29")
    stage.run("a")
    stage.run("b")
    kept = [*stage.wait_ips("a.blue"), *stage.wait_ips("b.blue")]
    stage.stop("b")

    stage.plane.restart_ovn()

    took = [given(stage.runs_plain(f"pod-{count}"))[f"{stage.namespace}/blue"][0] for count in range(4)]
    assert not set(took) & set(kept)
    assert given(stage.start("b"))[f"{stage.namespace}/blue"] == kept[1:]


@causes(
    StuckTerminatingBlocksOwnerDeletion="ipam-extensions missed the end of the VMI",
    StuckTerminatingOwnerGone="ipam-extensions missed the end of the VM",
)
@pytest.mark.parametrize(
    ("policy", "reason"),
    [("Background", "StuckTerminatingOwnerGone"), ("Foreground", "StuckTerminatingBlocksOwnerDeletion")],
)
def test_the_end_of_a_vm_that_ipam_extensions_missed_leaves_the_finalizer(
    stage: Stage, findings: Findings, policy: str, reason: str
) -> None:
    """Restarted it does not look: claims are not watched, and a VM that is gone has no events."""
    stage.nad()
    stage.run("db")
    with stage.plane.without_ipam():
        stage.delete("db", policy)
        wait_until(lambda: collected(stage, "db.blue"), 60, "the claim is collected")
    stage.run("web")  # it works
    stage.delete("web")
    stage.wait_gone(IPAM_CLAIMS, "web.blue")

    findings.wait(reason, "db.blue")
    assert stage.client.get(IPAM_CLAIMS, stage.namespace, "db.blue")["metadata"]["finalizers"] == [FINALIZER]
    assert (stage.client.find(VMS, stage.namespace, "db") is None) is (policy == "Background")


@causes(
    StuckTerminatingOwnerDeleting=(
        "garbage collection deletes the claim of a VM in foreground deletion; ipam-extensions waits for the VMI"
    )
)
def test_while_the_vmi_is_there_a_claim_in_deletion_waits(stage: Stage, findings: Findings) -> None:
    stage.nad()
    stage.run("db")
    stage.client.delete(VMS, stage.namespace, "db", propagationPolicy="Foreground")
    wait_until(lambda: collected(stage, "db.blue"), 60, "the claim is collected")
    findings.wait("StuckTerminatingOwnerDeleting", "db.blue", "info")
    findings.wait_calm()

    stage.delete("db", "Foreground")

    stage.wait_gone(VMS, "db")
    assert stage.claim("db.blue") is None


@causes(
    OwnerUidMismatch=(
        "ipam-extensions missed that the VM was made again; OVN-Kubernetes gives the old claim's address to the new VM"
    )
)
def test_a_vm_that_is_made_again_meanwhile_runs_on_the_claim_of_its_predecessor(
    stage: Stage, findings: Findings
) -> None:
    stage.nad()
    stage.run("db")
    ips = stage.wait_ips("db.blue")
    with stage.plane.without_ipam():
        stage.delete("db")
        stage.wait_gone(VMS, "db")
        wait_until(lambda: collected(stage, "db.blue"), 60, "the claim is collected")
        stage.vm("db")
    findings.wait("OwnerUidMismatch", "db.blue", "warning")

    pod = stage.start("db")

    assert given(pod)[f"{stage.namespace}/blue"] == ips
    findings.wait("OwnerUidMismatch", "db.blue", "critical")
    wait_until(lambda: 'found an existing IPAMClaim for \\"db.blue\\"' in stage.plane.ipam.said(), 30, "it logs that")


def test_a_claim_of_another_interface_keeps_the_others_from_being_made(stage: Stage, findings: Findings) -> None:
    """ipam-extensions stops at it, and tries again, each time in another order and after a longer pause: it comes upon
    the others by and by. Of so many VMs with so many interfaces, in one of them one comes after the foreign.
    """
    vms = [f"db-{count}" for count in range(5)]
    stage.nad("blue", f"{stage.network}-blue")
    for vm in vms:
        stage.run(vm, {"a": "blue"})
    with stage.plane.without_ipam():
        for vm in vms:
            stage.delete(vm)
        for vm in vms:
            stage.wait_gone(VMS, vm)
            wait_until(partial(collected, stage, f"{vm}.a"), 60, "the claim is collected")
    names = {f"n{count}": f"net-{count}" for count in range(6)}
    for count, nad in enumerate(names.values()):
        stage.nad(nad, f"{stage.network}-{count}", allowPersistentIPs=None)
    for vm in vms:
        stage.vm(vm, {"a": "blue", **names})
        stage.vmi(vm)
    for vm in vms:
        wait_until(partial(fails_over_and_over, stage, vm), 60, "ipam-extensions pauses for more than a minute")
    for nad in names.values():
        stage.configure(nad, allowPersistentIPs=True)
    for vm in vms:
        stage.touch(VMIS, vm)

    found = findings.wait("MissingClaim")

    assert found["evidence"]["cause"] == "OwnerUidMismatch"
    wanted = [f"{vm}.{name}" for vm in vms for name in names]
    wait_until(lambda: all_made(stage, vms, wanted), 60, "the others are made too")
    findings.wait_none("MissingClaim")


def fails_over_and_over(stage: Stage, vm: str) -> bool:
    """Whether it has failed so often that it pauses for 5 ms * 2^14. An event of the VMI makes it try at once."""
    stage.touch(VMIS, vm)
    failure = f'"leaked IPAMClaim found" err="failed since it found an existing IPAMClaim for \\"{vm}.a\\""'
    return stage.plane.ipam.said().count(failure) > 14


def all_made(stage: Stage, vms: list[str], claims: list[str]) -> bool:
    if all(map(stage.claim, claims)):
        return True
    for vm in vms:
        stage.touch(VMIS, vm)
    return False


@causes(
    OwnerlessClaim=(
        "a VM that is deleted as an orphan: garbage collection takes the owner off, ipam-extensions the finalizer"
    )
)
def test_a_vm_that_is_deleted_as_an_orphan_leaves_a_claim_for_good(stage: Stage, findings: Findings) -> None:
    """Garbage collection takes the owner off, and ipam-extensions the finalizer, while the VMI runs on."""
    stage.nad()
    stage.run("db")
    ips = stage.wait_ips("db.blue")
    stage.client.delete(VMS, stage.namespace, "db", propagationPolicy="Orphan")
    stage.unhold(VMS, "db", "kubevirt.io/virtualMachineControllerFinalize")
    stage.wait_gone(VMS, "db")

    findings.wait("OwnerlessClaim", "db.blue", "warning")
    stage.stop("db")
    stage.wait_gone(VMIS, "db")
    claim = stage.client.get(IPAM_CLAIMS, stage.namespace, "db.blue")
    assert not claim["metadata"].get("finalizers")
    assert not claim["metadata"].get("ownerReferences")
    assert stage.ips("db.blue") == ips


@causes(OrphanClaim="garbage collection does not run; neither of the two deletes claims")
def test_without_garbage_collection_a_claim_outlives_its_vm(
    stage: Stage, findings: Findings, patient: Exporter
) -> None:
    """It comes after each VM that is deleted, so it is nothing to report at once."""
    stage.nad()
    stage.run("db")
    with stage.plane.without_garbage_collection():
        stage.delete("db")
        stage.wait_gone(VMS, "db")
        found = findings.wait("OrphanClaim", "db.blue", "warning")
        assert "The IPAMClaim holds" in found["message"]
        assert not collected(stage, "db.blue")
        later = Findings(patient, stage.namespace)
        later.wait_counted(stage.network, {"orphaned": 1})
        assert "OrphanClaim" not in later.reasons()
    stage.wait_gone(IPAM_CLAIMS, "db.blue")
