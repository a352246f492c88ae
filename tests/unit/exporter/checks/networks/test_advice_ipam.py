"""What the checks of IPAMClaims and their networks advise: a next step, and commands with the names filled in."""

from __future__ import annotations

import re

import pytest

from exporter.checks import all_checks
from exporter.domain.acts import NOTHING_FORBIDDEN, Act
from exporter.findings.advice import values_of
from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.findings.pages import command
from tests.all_of import all_of, whole
from tests.check_cases import CASES_OF, evaluated, findings_of, outcome

CHECKS = [check for check in all_checks() if check.id.startswith("ipam_")]
CASES = [
    pytest.param(check, name, id=f"{check.id}-{name}")
    for check in CHECKS
    for name, case in CASES_OF[check].items()
    if case["finds"] not in ("unknown", [])
]
WORD = re.compile(r"\b[A-Z][A-Z0-9]+\b(?!:\.)")  # not the head of a column
HOSTILE = ["a'b", 'a"b', "a b", "a\nb", "$(touch x)", "a;b", "`x`", "a|b", "a*b", "a\\b", "a&b"]


def found(case: str, check: str = "ipam_claims") -> Finding:
    (which,) = (each for each in CHECKS if each.id == check)
    (finding,) = outcome(which, case).findings
    return finding


@all_of(CASES, whole)
def test_each_finding_has_a_next_step_and_commands_with_its_names(check: Check, name: str) -> None:
    for finding in outcome(check, name).findings:
        known = {word for word, value in values_of(finding).items() if value}

        assert finding.next.endswith(".")
        assert finding.commands
        assert [word for each in finding.commands for word in WORD.findall(each) if word in known] == []
        at = f"/{check.reasons[finding.reason].alert}.md#{finding.reason.lower()}"
        assert finding.runbook.endswith(at) or not finding.runbook


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_never_enters_a_command(name: str) -> None:
    check = next(each for each in CHECKS if each.id == "ipam_claims")
    vm = {"kind": "VirtualMachine", "name": name, "uid": "u1"}
    claim = {"kind": "IPAMClaim", "name": "db.blue", "vm": name, "owner": "u1", "deleting": True, "network": name}
    engine = evaluated(check, {"given": [vm, {**claim, "ips": [f"{name}/24"]}]}).engine

    (finding,) = [each for each in engine.findings() if each.reason == "StuckTerminatingDeletedByHand"]

    assert finding.evidence["vmName"] == name
    assert [each for each in finding.commands if name in each] == []
    assert any("-n ns VMNAME" in each for each in finding.commands)


@pytest.mark.parametrize(
    ("case", "check", "words"),
    [
        ("vm_made_again_and_running", "ipam_claims", "Do not remove the finalizer while the VM runs"),
        ("owner_reference_stripped_and_vm_lives", "ipam_claims", "Make VM db the owner"),
        ("owner_reference_stripped_and_vm_gone", "ipam_claims", "Verify that the VM is NotFound"),
        ("two_interfaces_on_one_nad", "ipam_claims", "Change one of the two interfaces to a NAD of another network"),
        ("controller_is_scaled_to_nothing", "ipam_stack", "Find out who scaled the Deployment to 0"),
    ],
)
def test_the_next_step_is_of_the_case(case: str, check: str, words: str) -> None:
    assert found(case, check).next.startswith(words)


def test_a_controller_that_is_scaled_down_is_scaled_up_by_a_command() -> None:
    finding = found("controller_is_scaled_to_nothing", "ipam_stack")
    assert f"-n {finding.subject.namespace} {finding.subject.name} --current-replicas=0" in finding.commands[-1]


def test_a_pod_that_lacks_its_reference_is_annotated() -> None:
    (check,) = (each for each in CHECKS if each.id == "ipam_claims")
    findings = [finding for finding in findings_of(check) if finding.reason == "NotReferenced"]

    assert findings
    for finding in findings:
        (pod,) = (ref.name for ref in finding.related)
        assert command("nudge_pod").replace("NAMESPACE LAUNCHERPOD", f"ns {pod}") in finding.commands


def test_what_fails_the_next_start_of_the_control_plane_says_first_not_to_restart_it() -> None:
    fatal = {
        name: reason.next
        for check in all_checks()
        for name, reason in check.reasons.items()
        if re.search("ovnkube-control-plane (fails|can fail) at its next start", reason.impact)
    }
    assert len(fatal) > 4
    assert {
        name for name, text in fatal.items() if not text.startswith("Do not restart ovnkube-control-plane.")
    } == set()


def test_a_vm_is_not_started_with_addresses_that_its_network_can_not_allocate() -> None:
    stopped = found("two_addresses_of_one_subnet")
    assert stopped.forbids is not None
    assert stopped.forbids.acts == (Act.START,)

    running = found("two_of_one_subnet_and_the_vms_own_pod_has_them")
    assert running.forbids == NOTHING_FORBIDDEN


@pytest.mark.parametrize(
    ("case", "edited"),
    [
        ("the_accepted_one_rules_whatever_it_is_called", True),
        ("two_nads_differ_in_the_flag", False),
        ("two_nads_differ_and_neither_is_accepted", False),
        ("most_of_the_accepted_ones_rule", False),
        ("the_rejected_one_is_rendered", False),
        ("the_rejected_one_differs_in_more_than_a_sentence_holds", False),
    ],
)
def test_a_rejected_nad_is_opened_where_it_is_clear_what_it_gets(case: str, edited: bool) -> None:
    finding = found(case, "ipam_networks")
    edit = f"kubectl edit network-attachment-definitions.k8s.cni.cncf.io -n ns {finding.subject.name}"
    assert (edit in finding.commands) is edited
    assert ("an unused `name`" in finding.next) is edited
    assert finding.next.endswith("write them into the NADs.") is not edited


@pytest.mark.parametrize(
    "case", ["a_plain_pod_holds_the_address_of_a_stopped_vm", "pod_of_the_labelled_vm_holds_the_owners_address"]
)
def test_nothing_is_stopped_for_an_address_of_a_stopped_vm(case: str) -> None:
    finding = found(case)
    assert finding.does == ()
    assert not any("virtctl stop" in each for each in finding.commands)
