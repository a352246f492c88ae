"""VMs with a change that waits for a restart: what the finding says of it."""

from __future__ import annotations

import pytest

from exporter.checks.features.restart_required import CHECK
from exporter.findings.finding import Finding, Since
from tests.check_cases import cases_of, evaluated


def found(case: str) -> Finding:
    (finding,) = evaluated(CHECK, cases_of(CHECK)[case]).engine.findings()
    return finding


@pytest.mark.parametrize(
    ("case", "differs"),
    [
        ("network_and_device_wait", ["network b", "feature vsock"]),
        ("device_waits_to_be_taken_away", ["feature vsock"]),
        ("device_is_from_its_instancetype", None),
        ("its_preference_may_have_changed", None),
        ("hardware_waits", ["cpu.cores"]),
        ("volume_waits", ["PVC new"]),
        ("serial_waits", ["firmware serial"]),
        ("identity_waits", ["firmware UUID"]),
        ("kubevirt_wrote_the_uuid_and_something_else_changed", ["persistent state of TPM or EFI"]),
    ],
)
def test_what_waits(case: str, differs: list[str] | None) -> None:
    finding = found(case)
    assert finding.evidence.get("differs") == differs
    assert f'KubeVirt says: "{finding.evidence["reported"]}"' in finding.message
    assert ("differs from the VMI in" in finding.message) == (differs is not None)
    assert ("A restart changes the identity" in finding.message) == (case == "identity_waits")
    assert finding.next.startswith("Before the restart, which can wait, check ")


@pytest.mark.parametrize(
    "case",
    [
        "values_that_kubevirt_filled_in_stand_in_the_template_by_now",
        "release_with_the_fix_does_not_report_the_uuid",
        "release_keeps_the_condition_when_the_change_is_taken_back",
    ],
)
def test_a_report_without_a_change_that_is_seen_is_said_to_be_one(case: str) -> None:
    finding = found(case)
    assert finding.reason == "RestartReportedOfNothing"
    assert "Template and VMI agree in networks, firmware, features, CPU, memory, machine type" in finding.message
    assert "check the VM's other findings" in finding.next
    assert "differs" not in finding.evidence


def test_since_when_it_waits() -> None:
    finding = found("network_and_device_wait")
    assert finding.since == 1_789_898_400  # 2026-09-20T10:00:00Z
    assert finding.since_source is Since.CONDITION


@pytest.mark.parametrize(
    ("case", "stays"),
    [
        ("release_keeps_the_condition_when_the_change_is_taken_back", True),
        ("kubevirt_wrote_the_uuid_and_something_else_changed", True),
        ("release_with_the_fix_does_not_report_the_uuid", False),
        ("network_and_device_wait", False),
    ],
)
def test_a_release_that_keeps_reporting_it_is_named(case: str, stays: bool) -> None:
    assert ("keeps the report even if" in found(case).message) == stays


def test_what_kubevirt_did_itself_needs_no_restart() -> None:
    finding = found("kubevirt_wrote_the_uuid")
    assert "No other change is found" in finding.message
    assert finding.next.startswith("Leave the VM running.")
