"""`plan -o diff`: what each write does to its object, and nothing that may be a secret."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from exporter.facts.record import Ref
from reconcile.carry_out.confirm import Confirmed
from reconcile.cli.commands.plan import diffs
from reconcile.config.settings import Mode
from reconcile.decide.repair import Found, Hint, Repair
from reconcile.plan.effects import WITHHELD
from reconcile.plan.plan import Action, Add, Call, Create, Delete, Patch, Plan, Proposal, Refused, Remove, Replace, Step
from tests.repairs import plan

VM = Ref("VirtualMachine", "shop", "db", "u1")
SECRETS = {
    "userData": "#cloud-config\npassword: swordfish-1",
    "userDataBase64": "c3dvcmRmaXNoLTI=",
    "networkData": "swordfish-3",
    "rootPassword": "swordfish-4",
    "apiToken": "swordfish-5",
    "note": "psk-password = swordfish-6",
    "args": '{"args": ["--verbose"], "token": "swordfish-7"}',
    "key": "-----BEGIN OPENSSH PRIVATE KEY-----swordfish-8",
}


def whole(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {
            "name": "db",
            "namespace": "shop",
            "uid": "u1",
            "resourceVersion": "7",
            "managedFields": [{"manager": "kubectl"}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": '{"x": "swordfish-0"}'},
        },
        "spec": {"runStrategy": "Always", **spec},
    }


def shown(step: Step, of: dict[str, Any], **more: Any) -> str:
    made: Plan = msgspec.structs.replace(plan(target=VM), step=step, **more)
    found = Found(Hint(made.check, made.reason, VM, made.fingerprint), "warning", "")
    confirmed = Confirmed(made, of)
    return diffs([(Repair.of(found, "repair", Mode.PLAN, 0.0).planned(confirmed.plan), confirmed)])


def test_a_patch_is_shown_with_the_lines_around_what_it_changes() -> None:
    step = Patch(target=VM, ops=(Replace("/spec/runStrategy", "Halted"), Add("/metadata/annotations/b", "c")))
    text = shown(step, whole(template={"a": 1, "b": 2, "c": 3, "d": 4}))
    first, second, *lines = text.splitlines()
    assert first == "# repair: VirtualMachine shop/db, finding f1, OrphanClaim (ipam_claims), mode plan"
    assert second.startswith("# plan ")
    assert lines == [
        "--- VirtualMachine shop/db now",
        "+++ VirtualMachine shop/db then",
        "@@ -6,8 +6,9 @@",
        "   uid: u1",
        "   annotations:",
        "     kubectl.kubernetes.io/last-applied-configuration: (not shown)",
        "+    b: c",
        " spec:",
        "-  runStrategy: Always",
        "+  runStrategy: Halted",
        "   template:",
        "     a: 1",
        "     b: 2",
    ]


def test_what_is_created_is_all_new_and_what_is_deleted_is_all_old() -> None:
    target = Ref("VirtualMachineInstanceMigration", "shop", "m")
    manifest = {"kind": target.kind, "metadata": {"name": "m"}, "spec": {"vmiName": "db"}}
    created = shown(Create(target=target, manifest=manifest, of=VM), whole()).splitlines()[2:]
    assert created[:2] == ["--- /dev/null", "+++ VirtualMachineInstanceMigration shop/m then"]
    assert created[3:] == [
        "+kind: VirtualMachineInstanceMigration",
        "+metadata:",
        "+  name: m",
        "+spec:",
        "+  vmiName: db",
    ]
    deleted = shown(Delete(target=VM), whole()).splitlines()[2:]
    assert deleted[:2] == ["--- VirtualMachine shop/db now", "+++ /dev/null"]
    assert {line[0] for line in deleted[3:]} == {"-"}
    assert "-  runStrategy: Always" in deleted
    assert not any("managedFields" in line or "resourceVersion" in line for line in deleted)


def test_a_cancelled_evacuation_is_the_request_that_goes() -> None:
    of = {**whole(), "status": {"evacuationNodeName": "node01", "phase": "Running"}}
    step = Call(target=VM, action=Action.CANCEL_EVACUATION, body={"evacuationNodeName": "node01"})
    assert "-  evacuationNodeName: node01" in shown(step, of).splitlines()


@pytest.mark.parametrize("step", [Delete(target=VM), Patch(target=VM, ops=(Remove("/spec/runStrategy"),))])
def test_secrets_are_never_shown(step: Step) -> None:
    volumes = [{"name": "init", "cloudInitNoCloud": SECRETS}, SECRETS]
    text = shown(step, whole(volumes=volumes, accessCredentials=[{"secret": {"secretName": "keys"}}]))
    assert "swordfish" not in text
    assert "c3dvcmRmaXNo" not in text
    assert WITHHELD in text


def test_a_change_of_a_secret_is_told_and_not_shown() -> None:
    step = Patch(target=VM, ops=(Replace("/spec/userData", "swordfish-9"),))
    text = shown(step, whole(userData="swordfish-1"))
    assert "swordfish" not in text
    assert text.splitlines()[2:] == ["# the change isn't shown: it might be a secret"]


def test_the_data_of_a_secret_goes_with_its_names() -> None:
    of = {"kind": "Secret", "metadata": {"name": "s"}, "data": {"swordfish": "c3dvcmRmaXNo"}}
    assert "swordfish" not in shown(Delete(target=VM), of)


def test_names_and_values_of_others_control_no_terminal_and_begin_no_line() -> None:
    of = whole(hostname="\x1b[2J\n+++ evil", tail="\u202eevil")
    proposal = Proposal(owner="Argo CD application `x\n+ evil`", where="Change it.")
    text = shown(Delete(target=VM), of, proposal=proposal)
    assert "\x1b" not in text
    assert "\n+" not in text.replace("\n+++ /dev/null", "")
    assert "# owner: Argo CD application `x?+ evil`" in text.splitlines()


def test_of_a_refused_plan_the_reason_is_shown_and_no_diff() -> None:
    found = Found(Hint("ipam_claims", "OrphanClaim", VM, "f1"), "warning", "")
    repair = Repair.of(found, "repair", Mode.PLAN, 0.0).unplanned(Refused("vm_gone", "VM shop/db exists"))
    assert diffs([(repair, None)]).splitlines() == [
        "# repair: VirtualMachine shop/db, finding f1, OrphanClaim (ipam_claims), mode plan",
        "# refused: vm_gone: VM shop/db exists",
    ]
    assert diffs([]) == "# There is nothing to repair.\n"
