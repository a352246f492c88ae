"""No two findings of one VM tell its owner to do what the other one warns of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import permutations
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.domain.acts import Act, Forbids
from exporter.domain.drains.departure import REMEDIES
from exporter.facts.record import Ref
from exporter.findings.advice import advised, in_turn, next_step, with_others
from exporter.findings.check import Check, Reason
from exporter.findings.finding import Finding
from tests.all_of import all_of, named, whole
from tests.check_cases import ALL, outcome

SUBJECT = Ref("VirtualMachine", "ns", "db", "u1")

# What a command does, said a second time.
CALLED = {
    Act.START: r"\bvirtctl start\b",
    Act.STOP: r"\bvirtctl stop\b",
    Act.RESTART: r"\bvirtctl restart\b",
    Act.MIGRATE: r"\bvirtctl migrate\b|^kind: VirtualMachineInstanceMigration$|/migrate\b",
    Act.DRAIN: r"\bkubectl drain\b",
    Act.END: r"\bkubectl delete --raw \S+/virtualmachineinstances/|\bkubectl delete (vmi|virtualmachineinstance)",
    Act.DELETE: r"\bkubectl delete --raw (?!\S+/virtualmachineinstances/)|\bkubectl delete (?!--raw|vmi|virtualm)",
}
# And what a sentence asks for, or warns of: "restart the VM", "Do not restart it".
_VM = r"(?:the VM|the VMI|it|that|the copy|that one|the other one)\b"
SAID = {
    Act.START: rf"\bstart {_VM}",
    Act.STOP: rf"\b(?:stop {_VM}|shut (?:it|the VM|the guest) down)",
    Act.RESTART: rf"\brestart {_VM}",
    Act.MIGRATE: rf"\bmigrate (?:or restart )?{_VM}",
    Act.DRAIN: r"\bdrain (?:the node|node \S+)",
    Act.END: r"\bdelete (?:the VMI|its VMI)\b",
}
_PLAIN = {Act.STOP_NOW: Act.STOP}


def reasons() -> Iterator[tuple[str, Reason]]:
    """Each advice that a reason can come with: its own, and those of the cases of a drain."""
    for check in all_checks():
        for name, reason in check.reasons.items():
            yield f"{check.id}/{name}", reason


def findings() -> list[Finding]:
    """A finding of one VM for each reason that there is, and for each remedy of it."""
    made = []
    for check in all_checks():
        for name, reason in check.reasons.items():
            bare = Finding(
                reason=name,
                severity=reason.severities[0],
                subject=SUBJECT,
                message="The VM is so.",
                check=check.id,
                vm="db",
                fingerprint=f"{check.id}/{name}",
            )
            made.append(advised(bare, reason))
            for case, remedy in REMEDIES.items():
                if case.startswith(f"{name}/") and check.id in ("evictions", "migrations"):
                    own = {"next": next_step(remedy, {}), "commands": remedy.commands, "does": remedy.does}
                    made.append(advised(Finding(**_fields(bare) | own), reason))
    return made


def _fields(finding: Finding) -> dict[str, Any]:
    return {name: getattr(finding, name) for name in finding.__struct_fields__}


def done_by(command: str) -> set[Act]:
    return {act for act, pattern in CALLED.items() if re.search(pattern, command, re.MULTILINE)}


def said_in(text: str) -> set[Act]:
    of_vm = re.sub(r"(?:virt-handler|cert-manager)[^.:]*", "", text)  # which can be restarted too
    return {act for act, pattern in SAID.items() if re.search(pattern, of_vm, re.IGNORECASE)}


def undeclared(text: str, commands: tuple[str, ...], does: tuple[Act, ...], forbids: Forbids | None) -> set[str]:
    """What is asked for and not declared: a command is done, a sentence may warn."""
    declared = {_PLAIN.get(act, act) for act in does} | ({Act.STOP, Act.START} if Act.RESTART in does else set())
    warned = set(forbids.acts) if forbids else set()
    done = {act for command in commands for act in done_by(command)}
    return {act.name for act in (done - declared) | (said_in(text) - declared - warned)}


def test_every_pair_of_findings_of_a_vm_can_be_followed_together() -> None:
    every, wrong, restrained = findings(), [], 0
    for one, other in permutations(every, 2):
        shown = with_others(one, (other,))
        meant = set(one.does or ()) & set(other.forbids.acts if other.forbids else ())
        if one.reason == other.reason or not meant:
            assert shown is one
            continue
        restrained += 1
        first, _, rest = shown.next.partition(": ")
        what = " or ".join(act.value for act in one.does or () if act in meant)
        again = meant & set(other.does or ())  # the other one asks for it too, at its time
        wanted = (
            f"First follow {other.reason}, which says when to {what}"
            if again
            else f"Before you {what}, see {other.reason}"
        )
        fine = (
            first == wanted
            and rest.endswith(one.next)
            and not any(done_by(command) & meant for command in shown.commands)
            and [each for each in one.commands if not done_by(each) & meant] == list(shown.commands)
        )
        wrong += [] if fine else [(one.fingerprint, other.fingerprint, shown.next, shown.commands)]

    assert wrong == []
    assert restrained > 500


def test_what_forbids_an_act_of_another_finding_comes_before_it() -> None:
    every = findings()
    behind = [
        (one.fingerprint, other.fingerprint)
        for one, other in permutations(every, 2)
        if with_others(one, (other,)) is not one
        and with_others(other, (one,)) is other
        and in_turn((one, other)) != [other, one]
    ]

    assert behind == []
    assert in_turn(every[:3]) == [each for each in in_turn(every[:3]) if each in every[:3]]


def test_no_two_findings_wait_for_one_another() -> None:
    """Unless both leave it open: they say what to do instead of the act, which they warn of themselves."""
    waits = []
    for one, other in permutations(findings(), 2):
        if one.forbids is None or other.forbids is None or one.reason == other.reason:
            continue
        held = set(one.does or ()) & set(other.forbids.acts), set(other.does or ()) & set(one.forbids.acts)
        if all(held) and not (held[0] <= set(one.forbids.acts) and held[1] <= set(other.forbids.acts)):
            waits.append((one.fingerprint, other.fingerprint))

    assert waits == []


@all_of(named(sorted(REMEDIES), str), whole)
def test_a_remedy_declares_what_it_does(name: str) -> None:
    remedy, reason = REMEDIES[name], name.partition("/")[0]
    forbids = [each.forbids for key, each in reasons() if key.endswith(f"/{reason}") and each.forbids]

    assert undeclared(next_step(remedy, {}), remedy.commands, remedy.does, forbids[0] if forbids else None) == set()


@all_of([pytest.param(*each, id=each[0]) for each in reasons()], whole)
def test_a_reason_declares_what_its_advice_does(name: str, reason: Reason) -> None:
    assert undeclared(reason.next, reason.commands, reason.does, reason.forbids) == set()


@all_of(ALL, whole)
def test_a_finding_declares_what_its_advice_does(check: Check, name: str) -> None:
    for finding in outcome(check, name).findings:
        reason = check.reasons[finding.reason]
        does = reason.does if finding.does is None else finding.does
        said = finding.next or reason.next, finding.commands or reason.commands
        assert undeclared(*said, does, finding.forbids or reason.forbids) == set(), said


def test_what_is_not_declared_is_noticed() -> None:
    assert undeclared("Restart the VM when it suits its owner.", (), (), None) == {"RESTART"}
    assert undeclared("Look.", ("virtctl stop -n ns db",), (), Forbids((Act.STOP,), "why")) == {"STOP"}
    assert undeclared("Do not restart it.", (), (), Forbids((Act.RESTART,), "why")) == set()


def test_whoever_must_not_stop_a_vm_must_not_restart_it() -> None:
    wrong = [name for name, reason in reasons() if reason.forbids and _halves(reason.forbids.acts)]

    assert wrong == []


def _halves(acts: tuple[Act, ...]) -> bool:
    return Act.STOP in acts and Act.RESTART not in acts
