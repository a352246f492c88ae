"""Names and NADs for which ipam-extensions can make no claim, or one for two."""

from __future__ import annotations

from tests.networks.annotations import given
from tests.networks.causes import causes
from tests.networks.findings import Findings
from tests.networks.stage import Stage
from tests.waiting import wait_until


@causes(NameTooLong="the API server rejects the claim of ipam-extensions, whose webhook refers to it all the same")
def test_names_that_are_too_long_get_no_claim(stage: Stage, findings: Findings) -> None:
    """The webhook refers to it all the same, so the pod waits for ever."""
    name = f"db-{'x' * 61}"
    stage.nad()
    stage.vm(name)

    pod = stage.begin(name)

    findings.wait("NameTooLong", name, "warning")
    found = findings.wait("MissingClaim", name, "critical")
    assert found["evidence"]["cause"] == "NameTooLong"
    wait_until(lambda: "must be no more than 63" in stage.plane.ipam.said(), 30, "the claim is not accepted")
    assert given(stage.again(pod)) == {}


@causes(NameCollision="ipam-extensions gives both claims one name: the VMs share an address")
def test_two_vms_whose_claims_have_one_name_share_an_address(stage: Stage, findings: Findings) -> None:
    stage.nad()
    first = stage.run("a.b", {"c": "blue"})
    stage.vm("a", {"b_c": "blue"})

    second = stage.start("a")

    assert given(first) == given(second)
    findings.wait("NameCollision", "a", "critical")
    findings.wait("NameCollision", "a.b", "critical")


@causes(
    MissingClaim=(
        "ipam-extensions makes no claim of a VM with an interface whose NAD is missing, and stops for a while at one "
        "whose claim is another VM's"
    )
)
def test_a_missing_nad_of_one_interface_leaves_all_without_claims(stage: Stage, findings: Findings) -> None:
    stage.nad()
    stage.vm("db", {"a": "blue", "b": "nowhere"})

    stage.begin("db")

    found = findings.wait("MissingClaim", "db")
    assert found["evidence"]["cause"] == "NadMissing"
    assert stage.claim("db.a") is None
