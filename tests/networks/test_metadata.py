"""What others write into claims: ipam-extensions puts nothing back, and takes nothing else away."""

from __future__ import annotations

import pytest

from demo.fleet import objects, pods
from tests.cluster.resources import IPAM_CLAIMS, VMS
from tests.networks.causes import causes
from tests.networks.findings import Findings
from tests.networks.stage import Stage
from tests.waiting import wait_until


@causes(ForeignClaim="a person, or an import; neither of the two makes such a claim, and both leave it alone")
def test_a_claim_of_nobody_that_a_vm_comes_upon_is_used_unprotected(stage: Stage, findings: Findings) -> None:
    """One that was made by hand is filled and used, and ipam-extensions makes none beside it."""
    stage.nad()
    claim = pods.claim(stage.namespace, "db.blue", stage.network, finalizers=())
    stage.client.create({key: value for key, value in claim.items() if key != "status"})
    findings.wait("ForeignClaim", "db.blue", "info")

    stage.run("db")

    assert stage.wait_ips("db.blue")
    findings.wait("UnprotectedClaim", "db.blue", "warning")
    wait_until(lambda: 'found an existing IPAMClaim for \\"db.blue\\"' in stage.plane.ipam.said(), 30, "it logs that")


@causes(
    UnprotectedClaim="a person takes the finalizer off, or makes the claim before ipam-extensions does",
    UnlabelledClaim="a person takes the label off; ipam-extensions then does not find the claim when the VM goes",
)
@pytest.mark.parametrize("missing", ["finalizers", "labels", "ownerReferences"])
def test_what_a_person_takes_off_is_not_put_back(stage: Stage, findings: Findings, missing: str) -> None:
    reasons = {"finalizers": "UnprotectedClaim", "labels": "UnlabelledClaim", "ownerReferences": "OwnerlessClaim"}
    stage.nad()
    stage.run("db")
    stage.wait_ips("db.blue")
    stage.client.patch(IPAM_CLAIMS, stage.namespace, "db.blue", {"metadata": {missing: None}})
    findings.wait(reasons[missing], "db.blue", "warning")

    stage.restart("db")

    claim = stage.client.get(IPAM_CLAIMS, stage.namespace, "db.blue")
    assert not claim["metadata"].get(missing)
    if missing == "labels":  # and so its deletion hangs
        stage.delete("db")
        stage.wait_gone(VMS, "db")
        findings.wait("StuckTerminatingOwnerGone", "db.blue")
    if missing == "finalizers":  # and so a deletion frees the address at once
        stage.client.delete(IPAM_CLAIMS, stage.namespace, "db.blue")
        assert stage.claim("db.blue") is None
        findings.wait("MissingClaim", "db", "critical")


@causes(StuckTerminatingForeignFinalizer="somebody else's finalizer: ipam-extensions removes its own alone")
def test_another_finalizer_holds_what_the_controllers_let_go(stage: Stage, findings: Findings) -> None:
    stage.nad()
    stage.run("db")
    held = ["example.com/audit", objects.IPAM_FINALIZER]
    stage.client.patch(IPAM_CLAIMS, stage.namespace, "db.blue", {"metadata": {"finalizers": held}})

    stage.delete("db")

    findings.wait("StuckTerminatingForeignFinalizer", "db.blue", "warning")
    claim = stage.client.get(IPAM_CLAIMS, stage.namespace, "db.blue")
    assert claim["metadata"]["finalizers"] == ["example.com/audit"]
