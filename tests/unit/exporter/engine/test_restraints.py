"""What findings forbid to be done to their VMs, as the engine keeps it."""

from __future__ import annotations

import sys
from random import Random

from exporter.domain.acts import NOTHING_FORBIDDEN, Act, Forbids
from exporter.domain.identity import Standing
from exporter.engine.restraints import Restraints
from exporter.facts.record import Ref
from exporter.findings.advice import key_of, with_others
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity

UNSURE = Forbids((Act.RESTART, Act.STOP), "its next start fails")
CLAIM = Ref("IPAMClaim", "ns", "db.blue", "c1")


def finding(reason: str, vm: str = "db", subject: Ref | None = None, **more: object) -> Finding:
    about = subject or Ref("VirtualMachine", "ns", vm, f"uid-{vm}")
    values = {"fingerprint": f"{reason}-{about.name}", "next": "Do so.", "does": (), **more}
    return Finding(reason=reason, severity=Severity.WARNING, subject=about, message="It is so.", vm=vm, **values)  # type: ignore[arg-type]


RESTART = finding(
    "Restart", next="Restart the VM.", commands=("kubectl get x", "virtctl restart -n ns db"), does=(Act.RESTART,)
)
BROKEN = finding("Broken", forbids=UNSURE)


def test_it_lasts_as_long_as_the_finding_that_forbids_it() -> None:
    restraints = Restraints()
    restraints.update((), (RESTART, BROKEN))

    shown = restraints.applied(RESTART)
    assert shown.next == "Before you restart the VM, see Broken: its next start fails. Restart the VM."
    assert shown.commands == ("kubectl get x",)
    assert restraints.applied(BROKEN) is BROKEN

    restraints.update((BROKEN,), ())
    assert restraints.applied(RESTART) is RESTART


def test_other_vms_are_not_concerned() -> None:
    restraints = Restraints()
    restraints.update((), (finding("Broken", "web", forbids=UNSURE), finding("Fine", forbids=NOTHING_FORBIDDEN)))
    elsewhere = Ref("VirtualMachine", "other", "db", "u9")
    restraints.update((), (finding("Broken", subject=elsewhere, forbids=UNSURE),))

    assert restraints.applied(RESTART) is RESTART


def test_a_vmi_and_a_pod_are_of_their_vm() -> None:
    restraints = Restraints()
    restraints.update((), (finding("Broken", subject=Ref("Pod", "ns", "virt-launcher-db-x", "p1"), forbids=UNSURE),))
    vmi = finding("Restart", subject=Ref("VirtualMachineInstance", "ns", "db", "i1"), does=(Act.RESTART,))

    assert restraints.applied(vmi).next.startswith("Before you restart the VM, see Broken: ")


def test_what_is_deleted_is_the_object_and_not_another_one_of_the_vm() -> None:
    keep = Forbids((Act.DELETE,), "another one has its address")
    delete = finding("Leaked", subject=CLAIM, next="Delete it.", does=(Act.DELETE,))
    restraints = Restraints()
    restraints.update((), (finding("Twice", subject=Ref("IPAMClaim", "ns", "db.red", "c2"), forbids=keep),))
    assert restraints.applied(delete) is delete

    restraints.update((), (finding("Twice", subject=CLAIM, forbids=keep),))
    assert restraints.applied(delete).next == "Before you delete it, see Twice: another one has its address. Delete it."


def test_several_are_named_once_each_and_in_order() -> None:
    restraints = Restraints()
    others = [
        finding(reason, forbids=UNSURE, fingerprint=f"{reason}{at}") for reason in ("Zap", "Abc") for at in (1, 2)
    ]
    restraints.update((), others)

    said = restraints.applied(RESTART).next
    assert [said.count(name) for name in ("Abc", "Zap")] == [1, 1]
    assert said.index("Abc") < said.index("Zap")


def test_a_text_that_is_withheld_stays_so() -> None:
    restraints = Restraints()
    restraints.update((), (BROKEN,))
    withheld = finding("Restart", next="", does=(Act.RESTART,))

    assert restraints.applied(withheld) is withheld


def test_what_is_kept_is_what_there_is_whatever_came_and_went() -> None:
    random, restraints, open_ = Random(1), Restraints(), dict[str, Finding]()
    for _ in range(2000):
        at, vm = random.randrange(12), random.choice(("db", "web"))
        was = open_.pop(f"f{at}", None)
        made = finding(f"R{at % 5}", vm, fingerprint=f"f{at}", forbids=random.choice((None, UNSURE, NOTHING_FORBIDDEN)))
        come = (made,) if random.random() < 0.6 else ()
        restraints.update((was,) if was else (), come)
        open_ |= {each.fingerprint: each for each in come}
        beside = [each for each in open_.values() if key_of(each) == key_of(RESTART)]
        assert restraints.applied(RESTART) == with_others(RESTART, beside)
    assert any(each.forbids is UNSURE for each in open_.values())


def test_a_look_costs_the_same_however_many_claims_are_labelled_with_the_vm() -> None:
    keep = Forbids((Act.DELETE,), "another one has its address")

    def compared(count: int) -> int:
        restraints, compared_with = Restraints(), 0
        own = finding("Leaked", subject=CLAIM, next="Delete it.", does=(Act.DELETE,))
        claims = [Ref("IPAMClaim", "ns", f"db.{at}", f"c{at}") for at in range(1, count + 1)]
        restraints.update((), [finding("Twice", subject=each, forbids=keep) for each in (CLAIM, *claims)])

        def trace(*_: object) -> object:
            nonlocal compared_with
            compared_with += 1
            return trace

        before = sys.gettrace()
        sys.settrace(trace)  # type: ignore[arg-type]
        try:
            shown = restraints.applied(own)
        finally:
            sys.settrace(before)
        assert shown.next.startswith("Before you delete it, see Twice")
        return compared_with

    assert compared(2000) == compared(2)


def test_a_next_step_that_stops_a_vm_says_what_that_loses() -> None:
    restraints = Restraints(lambda *vm: Standing(fleeting="root (containerDisk)" if vm == ("ns", "db") else ""))
    lost = "A stop or restart loses what the guest wrote to root (containerDisk)."
    assert restraints.applied(RESTART).next == f"{RESTART.next} {lost}"
    assert restraints.applied(BROKEN) is BROKEN
    other = finding("Restart", vm="web", next="Restart the VM.", does=(Act.RESTART,))
    assert restraints.applied(other) is other
    moved = finding("Move", next="Migrate the VM.", does=(Act.MIGRATE,))
    assert restraints.applied(moved) is moved
