"""Known bugs of releases: each is reported on every release that has it, and on none with the fix."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.domain.features.known_bugs import KNOWN_BUGS, KnownBug
from exporter.facts.rules import BY_ID
from exporter.facts.versions import Version
from tests.impacts import evaluation_of

ASKING: dict[str, dict[str, Any]] = {
    "vsock": {"devices": {"autoattachVSOCK": True}},
    "host_devices": {"devices": {"hostDevices": [{"name": "nic", "deviceName": "vendor.com/nic"}]}},
    "persistent_reservation": {"devices": {"disks": [{"name": "lun", "lun": {"bus": "scsi", "reservation": True}}]}},
    "persistent_state": {"devices": {"tpm": {"persistent": True}}},
    "gpu_dra": {"devices": {"gpus": [{"name": "gpu", "claimName": "claim", "requestName": "gpu"}]}},
}


@pytest.mark.parametrize("bug", KNOWN_BUGS, ids=lambda bug: bug.id)
def test_a_bug_ends_with_its_fix(bug: KnownBug) -> None:
    assert bug.fixed.keys() == bug.proof.keys()
    for (major, minor), patch in bug.fixed.items():
        assert reported(bug, f"v{major}.{minor}.{patch - 1}"), "the last release before the fix"
        assert not reported(bug, f"v{major}.{minor}.{patch}"), "the release with the fix"
    newest = max(bug.fixed)
    assert not reported(bug, f"v{newest[0]}.{newest[1] + 1}.0"), "the branch after it"


@pytest.mark.parametrize("bug", KNOWN_BUGS, ids=lambda bug: bug.id)
def test_a_bug_of_what_nobody_uses_is_not_reported(bug: KnownBug) -> None:
    (major, minor), patch = min(bug.fixed.items())
    assert not reported(bug, f"v{major}.{minor}.{patch - 1}", used=False)


def test_a_distributors_build_may_have_the_fix() -> None:
    for version in ("1.6.3-150700.3.16.2", "v1.6.3-12-gb3a54913fd"):
        (message,) = reported(KNOWN_BUGS[0], version)
        assert "has a known bug, unless the fix was backported to this build: " in message
    (message,) = reported(KNOWN_BUGS[0], "v1.6.3")
    assert "unless" not in message
    assert reported(KNOWN_BUGS[0], "v4.20.2", built="v1.6.3-12-gb3a54913fd")
    assert not reported(KNOWN_BUGS[0], "v4.20.2", built="v1.6.4-1-gb3a54913fd")


def test_of_an_unknown_patch_no_bug_is_known() -> None:
    for bug in KNOWN_BUGS:
        assert not reported(bug, "v4.20.2")
        assert not reported(bug, "v4.21.2")


def test_a_name_that_fits_is_none_that_is_too_long() -> None:
    (bug,) = (each for each in KNOWN_BUGS if each.long_name)
    assert not reported(bug, "v1.8.1", name="a" * bug.long_name)
    assert reported(bug, "v1.8.1", name="a" * (bug.long_name + 1))


def test_the_fix_of_a_release() -> None:
    vsock = KNOWN_BUGS[0]
    assert vsock.fixed_in(Version(1, 6, 0)) == "v1.6.4"
    assert vsock.fixed_in(Version(1, 6, 4)) == ""
    assert vsock.fixed_in(Version(1, 5, 0)) == "", "nothing is known of a branch without a backport"


def reported(bug: KnownBug, version: str, *, used: bool = True, name: str = "a" * 60, built: str = "") -> list[str]:
    gates = ["VSOCK", "GPU", "HostDevices", "PersistentReservation", "VMPersistentState", "GPUsWithDRA"]
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": version, "built": built}
    if version.startswith("v4."):
        kubevirt |= {"name": "kubevirt-kubevirt-hyperconverged"}
    vmi: dict[str, Any] = {"kind": "VirtualMachineInstance", "name": name, "uid": "i1"}
    if used and bug.asks:
        vmi["domain"] = ASKING[bug.asks[0]]
    elif used:
        gates.append(bug.gate)
    assert all(rule in BY_ID for rule in bug.asks)
    evaluation = evaluation_of({**kubevirt, "gates": gates}, vmi)
    return [each.message for each in evaluation.engine.findings() if each.evidence.get("bug") == bug.id]
