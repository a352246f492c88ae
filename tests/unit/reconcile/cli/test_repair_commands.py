"""The commands that are shown with a plan, or after a write: they are those that work then."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import msgspec
import pytest

from exporter.cli.output.text.layout import written
from exporter.facts.record import Ref
from reconcile.cli.plan_text import grouped, shown, shown_wide
from reconcile.cli.writing import named_directory, taking_back
from reconcile.decide.gates import Blocked
from reconcile.decide.repair import Repair
from reconcile.plan.plan import Add, Compared, Create, Delete, Patch, Plan, Refused, Remove
from reconcile.plan.text import sentence
from tests.ledgers import plan

PLAN = plan()
DELETION: Plan = msgspec.structs.replace(PLAN, step=Delete(target=PLAN.target), undo="create it again")
CREATE = "steward reconcile ledger a-1 --ledger '/the ledger' --object | kubectl create -f -"
UNDOABLE: Plan = msgspec.structs.replace(PLAN, undo="put the finalizer back")


@pytest.mark.parametrize(
    ("mode", "verb"), [("plan", "apply"), ("approve", "approve"), ("auto", "apply"), ("apply", None)]
)
def test_a_plan_is_shown_with_what_carries_it_out_in_its_mode(mode: str, verb: str | None) -> None:
    repair = repair_of(PLAN, mode)
    command = f"steward reconcile {verb} 3f9c2a --remediation release_ipam_claim --plan {PLAN.hash}"

    assert repair.commands == ((command,) if verb else ())


@pytest.mark.parametrize(
    ("written", "back"),
    [
        (UNDOABLE, "To undo it: steward reconcile undo a-1 --ledger '/the ledger'"),
        (PLAN, "It can't be undone: none"),
        (DELETION, f"To create the object again: {CREATE}"),
    ],
)
def test_what_was_written_is_shown_with_what_takes_it_back(written: Plan, back: str) -> None:
    assert taking_back(written, "a-1", Path("/the ledger")) == back


def test_a_default_ledger_is_not_named() -> None:
    directory = named_directory(argparse.Namespace(ledger=None, config=None), None)

    assert taking_back(UNDOABLE, "a-1", directory).endswith("undo a-1")


def test_one_object_that_blocks_several_repairs_comes_first() -> None:
    refused = Refused("everything_seen", "annotation a could not be read", "Pod ns/web", "mend it")
    repairs = [
        Repair(
            fingerprint=f"f{at}",
            remediation="release_ipam_claim",
            check="ipam_claims",
            reason="OrphanClaim",
            namespace="ns",
            mode="plan",
            state="refused",
            at=0.0,
            refused=refused,
        )
        for at in range(9)
    ]
    assert shown(repairs).splitlines()[:4] == [
        "1 object blocks 9 repairs: Pod ns/web",
        "  why      annotation a could not be read",
        "  remedy   mend it",
        "",
    ]


def test_what_is_refused_names_the_object_of_the_finding() -> None:
    refused = Repair(
        fingerprint="3f9c2a",
        remediation="release_ipam_claim",
        check="ipam_claims",
        reason="StuckTerminatingOwnerGone",
        subject="IPAMClaim ns/db.blue",
        namespace="ns",
        mode="plan",
        state="refused",
        at=0.0,
        refused=Refused("vm_gone", "VM ns/db exists"),
    )

    assert shown([refused]).splitlines() == [
        "release_ipam_claim: IPAMClaim ns/db.blue, finding 3f9c2a, StuckTerminatingOwnerGone (ipam_claims), mode plan",
        "  refused  vm_gone: VM ns/db exists",
    ]


def test_a_patch_is_shown_with_the_values_that_it_writes() -> None:
    ops = (Add(path="/spec/uuid", value="6f"), Remove(path="/spec/serial"))
    written = msgspec.structs.replace(PLAN, step=Patch(target=PLAN.target, ops=ops))
    long = msgspec.structs.replace(PLAN, step=Patch(target=PLAN.target, ops=(Add(path="/spec/l", value=["x" * 200]),)))

    assert sentence(written) == f'patch {PLAN.target}: add /spec/uuid: "6f", remove /spec/serial'
    assert sentence(long).endswith("x…")
    assert len(sentence(long)) < 200


def test_what_is_created_is_shown_whole_against_what_the_vm_runs_with() -> None:
    """What would be created says more than its name: the CPUs of a VM, and the devices of the host that it gets."""
    before = {"kind": "ControllerRevision", "data": {"spec": {"cpu": {"guest": 1}}}}
    after = {"kind": "ControllerRevision", "data": {"spec": {"cpu": {"guest": 64}, "hostDevices": ["\x1b[2J"]}}}
    target = Ref("ControllerRevision", "ns", "db-small")
    step = Create(target=target, manifest=after, of=PLAN.target)
    runs = Compared(of="what VirtualMachineInstance ns/db runs with", manifest=before)
    repair = repair_of(msgspec.structs.replace(PLAN, step=step, compared=runs))

    assert repair.content == after
    assert msgspec.json.decode(msgspec.json.encode(repair))["content"] == after
    lines = shown([repair]).splitlines()
    place = lines.index("  content  of the new object, against what VirtualMachineInstance ns/db runs with:")
    assert lines[place + 1 :] == [
        "      {",
        '        "data": {',
        '          "spec": {',
        '            "cpu": {',
        '    -         "guest": 1',
        "    -       }",
        '    +         "guest": 64',
        "    +       },",
        '    +       "hostDevices": [',
        '    +         "\\u001b[2J"',
        "    +       ]",
        "          }",
        "        },",
        '        "kind": "ControllerRevision"',
        "      }",
    ]


def test_what_is_created_and_compared_with_nothing_is_all_new() -> None:
    step = Create(target=Ref("Migration", "ns", "m"), manifest={"spec": {"vmiName": "db"}}, of=PLAN.target)
    repair = repair_of(msgspec.structs.replace(PLAN, step=step))

    assert {line[:2] for line in repair.difference} == {"+ "}
    assert '+     "vmiName": "db"' in repair.difference
    assert "  content  of the new object:" in shown([repair]).splitlines()


def test_what_is_not_created_has_no_content() -> None:
    repair = repair_of(PLAN)

    assert (repair.content, repair.difference) == (None, ())
    assert "content" not in shown([repair])


def repair_of(made: Plan, mode: str = "plan") -> Repair:
    return Repair(
        fingerprint=made.fingerprint,
        remediation=made.remediation,
        check=made.check,
        reason=made.reason,
        namespace="ns",
        mode=mode,
        state="",
        at=0.0,
    ).planned(made)


HELD = Blocked("canary", "the canary of remediation release_ipam_claim follows IPAMClaim ns/web.blue until 10:42", 9.0)


def test_what_waits_for_the_canary_of_another_object_is_held_and_says_by_which() -> None:
    repair = repair_of(PLAN, "auto").held_up((HELD,))

    assert f"  canary   {HELD.why}" in shown([repair]).splitlines()
    assert [row.split()[-12:] for row in shown_wide([repair]).splitlines()[1:]] == [
        ["held", PLAN.hash, *HELD.why.split()]
    ]
    assert grouped([repair])[0].states == {"held": 1}
    found = json.loads(written([repair], "json", shown))[0]
    assert found["blocked"] == [{"gate": "canary", "why": HELD.why, "until": 9.0}]
    assert repair.commands == ()


def test_what_another_gate_holds_back_too_is_blocked() -> None:
    repair = repair_of(PLAN, "auto").held_up((Blocked("paused", "everything is paused"), HELD))

    assert grouped([repair])[0].states == {"blocked": 1}
    assert "  blocked  paused: everything is paused" in shown([repair]).splitlines()
    assert f"everything is paused; {HELD.why}" in shown_wide([repair])
    assert shown_wide([]) == "There is nothing to repair.\n"
