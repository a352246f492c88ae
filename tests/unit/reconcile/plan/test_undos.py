"""The undo of every remediation against its cases, the section `_undo` of the case file; and what holds of each."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import msgspec
import pytest

from exporter.facts.record import Ref
from reconcile.carry_out.confirm import Confirmed
from reconcile.permissions.rbac import read_role
from reconcile.plan.annotations import APPROVED_PLAN, PAUSED
from reconcile.plan.managed_fields import applied
from reconcile.plan.plan import Delete, Patch, Refused
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations, all_undos
from reconcile.plan.undo import COMMON_UNDO_PRECONDITIONS, LOSSES, NoUndo, Unaccepted, Undo
from tests.all_of import all_of, each_of
from tests.case_files import read_yaml
from tests.confirming import MemoryReads
from tests.remediation_cases import CASES, cases_of
from tests.undoing import Undoing, undoing

REMEDIATIONS = {each.id: each for each in all_remediations()}
UNDOS = [each for each in all_undos().values() if isinstance(each, Undo)]
WORDS = tuple(word.value for word in LOSSES)


@cache
def _read(of: str) -> Any:
    text = (CASES / f"{of}.yaml").read_text(encoding="utf-8")
    return read_yaml(text)


def cases(of: str) -> dict[str, dict[str, Any]]:
    loaded: dict[str, Any] = _read(of)
    found: dict[str, dict[str, Any]] = loaded.get("_undo", {})
    return found


def made(of: str, case: dict[str, Any]) -> Undoing:
    remediation = REMEDIATIONS[of]
    return undoing(remediation, cases_of(remediation)[case["of"]], case)


ALL = [pytest.param(each.id, case, id=f"{each.id}-{name}") for each in UNDOS for name, case in cases(each.id).items()]


@all_of(ALL)
def test_case(of: str, case: dict[str, Any]) -> None:
    found = made(of, case)
    answer = found.made(*case.get("accept", ()))

    if "refuses" in case:
        assert isinstance(answer, Refused), answer
        assert answer.precondition == case["refuses"], answer.why
        assert case.get("because", "") in answer.why
        assert list(answer.words if isinstance(answer, Unaccepted) else ()) == case.get("words", [])
        return
    assert isinstance(answer, Confirmed), answer
    plan, wanted = answer.plan, case["plans"]
    step = msgspec.json.decode(msgspec.json.encode(plan.step))
    for name, value in wanted["step"].items():
        assert (step[name]["name"] if name == "target" else step[name]) == value
    assert plan.risk == wanted["risk"]
    assert wanted.get("effect", "") in plan.effect
    assert list(plan.loses) == wanted.get("loses", [])
    assert plan.accepted == tuple(case.get("accept", ()))
    assert (plan.undoes, plan.undo) == ("a-1", "none: repair the object again")


@each_of("undo", UNDOS, ids=lambda undo: undo.id)
def test_every_precondition_is_tried_and_every_loss_accepted(undo: Undo) -> None:
    own = cases(undo.id).values()
    refused = Counter(case.get("refuses", "") for case in own)
    assert set(refused) - {""} <= undo.preconditions.keys() | undo.losses.keys() | COMMON_UNDO_PRECONDITIONS.keys()
    assert undo.preconditions.keys() | undo.losses.keys() <= refused.keys()
    accepted = {word for case in own if "plans" in case for word in case.get("accept", ())}
    assert accepted == {word.value for word, _ in undo.losses.values()}
    assert [case for case in own if "plans" in case and not case.get("accept")]


@each_of("remediation", all_remediations(), ids=lambda remediation: remediation.id)
def test_each_remediation_that_writes_says_how_it_is_taken_back(remediation: Remediation) -> None:
    undo = all_undos().get(remediation.id)
    assert (undo is None) is remediation.proposes_only, (
        f"the module of {remediation.id} defines UNDO where it writes, and only there"
    )
    if isinstance(undo, Undo):
        rules = read_role([remediation], [])["rules"]
        allowed = {(group, plural) for rule in rules for group in rule["apiGroups"] for plural in rule["resources"]}
        assert {(kind.group, kind.plural) for kind in undo.reads} <= allowed
        assert not undo.preconditions.keys() & (undo.losses.keys() | COMMON_UNDO_PRECONDITIONS.keys())


def test_every_undo_is_of_a_remediation() -> None:
    assert all_undos().keys() <= REMEDIATIONS.keys()


@pytest.mark.parametrize(
    "undo", [each for each in all_undos().values() if isinstance(each, NoUndo)], ids=lambda u: u.id
)
def test_what_no_write_takes_back_says_what_there_is_to_know(undo: NoUndo) -> None:
    remediation = REMEDIATIONS[undo.id]
    case = next(each for each in cases_of(remediation).values() if "plans" in each)
    answer = undoing(remediation, case, {}).made()
    assert isinstance(answer, Refused)
    assert answer.precondition == "can_be_undone"
    assert undo.why in answer.why


# Cases in which something is taken back, with what was accepted for that.
PLANNED = [each for each in ALL if "plans" in each.values[1]]  # type: ignore[operator]


@all_of(PLANNED)
def test_another_object_of_the_name_is_left_alone_whatever_is_accepted(of: str, case: dict[str, Any]) -> None:
    found = made(of, case)
    found.target["metadata"]["uid"] = "another"
    for words in ((), tuple(case.get("accept", ()))):
        answer = found.made(*words)
        assert isinstance(answer, Refused)
        assert answer.precondition == "same_object"
        assert not isinstance(answer, Unaccepted)


@all_of(PLANNED)
def test_what_somebody_wrote_since_is_left_alone_whatever_is_accepted(of: str, case: dict[str, Any]) -> None:
    found = made(of, case)
    answer = found.made(*case.get("accept", ()))
    assert isinstance(answer, Confirmed)
    step = answer.plan.step
    if isinstance(step, Delete):
        changed = [name for name in ("spec", "data") if name in found.target]
        assert changed
        found.target[changed[0]] = {"somebody": "else"}
    else:
        assert isinstance(step, Patch)
        place, last = path_of(found.target, step.ops[0].path)
        kept = place.get(last, "to be put back")
        place[last] = not kept if isinstance(kept, bool) else type(kept)()  # as empty as its kind can be
    for words in ((), tuple(case.get("accept", ())), WORDS):
        again = found.made(*words)
        assert isinstance(again, Refused)
        assert again.precondition == "unchanged_since", again.why
        assert not isinstance(again, Unaccepted)


def path_of(whole: Any, path: str) -> tuple[Any, str]:
    *parents, last = (part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:])
    for part in parents:
        whole = whole[int(part) if isinstance(whole, list) else part]
    return whole, last


@all_of(PLANNED)
def test_what_can_not_be_read_refuses_whatever_is_accepted(of: str, case: dict[str, Any]) -> None:
    found = made(of, case)
    assert isinstance(found.made(*case.get("accept", ())), Confirmed)
    for kind in {kind for kind, _, _ in found.reads.asked}:
        found.reads = MemoryReads(found.objects, {kind: 403})
        for words in (tuple(case.get("accept", ())), WORDS):
            answer = found.made(*words)
            assert isinstance(answer, Refused), kind
            assert answer.precondition == "everything_seen", (kind, answer.why)


@all_of(PLANNED)
def test_a_word_for_what_would_not_be_lost_refuses(of: str, case: dict[str, Any]) -> None:
    found = made(of, case)
    for word in set(WORDS) - set(case.get("accept", ())):
        answer = found.made(*case.get("accept", ()), word)
        assert isinstance(answer, Refused)
        assert answer.precondition == "accepted_is_lost"
        assert f"the undo would lose no {word}" in answer.why


@all_of(PLANNED)
def test_what_is_taken_back_is_paused(of: str, case: dict[str, Any]) -> None:
    answer = made(of, case).made(*case.get("accept", ()))
    assert isinstance(answer, Confirmed)
    step = answer.plan.step
    if isinstance(step, Delete):
        assert step.target.uid == "created"  # what it was created for is paused before it is deleted
        return
    assert isinstance(step, Patch)
    if step.subresource:  # which can't: the object is paused before
        assert PAUSED not in str(step.ops)
        return
    pause = step.ops[-1]
    assert PAUSED in str(pause.path).replace("~1", "/") or list(pause.value) == [PAUSED]  # type: ignore[union-attr]


def test_a_pause_that_is_there_keeps_its_reason() -> None:
    found = made("repair_ipam_claim_metadata", cases("repair_ipam_claim_metadata")["no_deletion_waits"])
    found.target["metadata"]["annotations"] = {PAUSED: "we look at it"}
    answer = found.made()
    assert isinstance(answer, Confirmed)
    assert isinstance(answer.plan.step, Patch)
    assert not [op for op in answer.plan.step.ops if "annotations" in op.path]


@pytest.mark.parametrize("paused", [False, True])
def test_an_approval_is_taken_off_with_it(paused: bool) -> None:
    """One that was not used yet would else repair again what a person took back, once the pause ends."""
    found = made("repair_ipam_claim_metadata", cases("repair_ipam_claim_metadata")["no_deletion_waits"])
    notes = {APPROVED_PLAN: "x", **({PAUSED: "we look at it"} if paused else {})}
    found.target["metadata"]["annotations"] = notes
    answer = found.made()
    assert isinstance(answer, Confirmed)
    assert isinstance(answer.plan.step, Patch)
    after = applied(found.target, answer.plan.step.ops)["metadata"]["annotations"]
    assert list(after) == [PAUSED]


def test_annotations_that_came_since_stay() -> None:
    found = made("repair_ipam_claim_metadata", cases("repair_ipam_claim_metadata")["no_deletion_waits"])
    found.target["metadata"]["annotations"] = {"example.org/mine": "x"}
    answer = found.made()
    assert isinstance(answer, Confirmed)
    assert isinstance(answer.plan.step, Patch)
    assert answer.plan.step.ops[-1].path == f"/metadata/annotations/{PAUSED.replace('/', '~1')}"
    assert answer.plan.subject == Ref("IPAMClaim", "ns", "db.blue", answer.plan.subject.uid)


def test_what_somebody_wrote_before_the_object_was_read_back_is_left_alone() -> None:
    """As after a crash, when the object is read at the next start."""
    found = made("repair_ipam_claim_metadata", cases("repair_ipam_claim_metadata")["no_deletion_waits"])
    for whole in (found.taken.after, found.target):
        assert whole is not None
        whole["metadata"]["finalizers"].append("example.org/mine")
    answer = found.made()
    assert isinstance(answer, Refused)
    assert answer.precondition == "unchanged_since"
    assert "another client wrote too: /metadata/finalizers" in answer.why


def test_a_start_before_the_object_was_read_back_is_seen() -> None:
    """As after a crash: the VM was started with the new UUID, changed and stopped before the next start read it."""
    case = next(each for each in cases("reassign_firmware_uuid").values() if "was started since" in str(each))
    rows = [row | {"name": "revision-start-vm-u2-2"} for row in case["rows"]]
    found = made("reassign_firmware_uuid", case | {"rows": rows})
    for whole, generation in ((found.taken.before, 1), (found.taken.after, 3), (found.target, 3)):
        assert whole is not None
        whole["metadata"]["generation"] = generation
    answer = found.made()
    assert isinstance(answer, Unaccepted), answer
    assert "was started since, by ControllerRevision revision-start-vm-u2-2" in answer.why
