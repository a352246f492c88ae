"""The example of CONTRIBUTING.md: copied into place it is found, runs through its cases, and is complete.

It is read from docs/, with the check that it answers and the page that it gives this check. What else holds of each
remediation is tried by `make test-examples`, with both examples copied into place.
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import msgspec
import pytest

import exporter.checks
from exporter.checks import drains as check_area
from exporter.findings.check import Check
from reconcile.carry_out.confirm import Confirmed
from reconcile.plan import remediations
from reconcile.plan.plan import Patch, Refused
from reconcile.plan.remediation import COMMON_PRECONDITIONS, Remediation
from reconcile.plan.remediations import drains as remediation_area
from reconcile.plan.undo import COMMON_UNDO_PRECONDITIONS, Undo
from reconcile.plan.writes import Patched
from tests import confirming, remediation_cases, undoing
from tests.case_files import read_yaml
from tests.pages import known_pages
from tests.remediation_cases import answered
from tests.shared import REPO

EXAMPLE, CHECK = REPO / "docs/example_remediation", REPO / "docs/example_check"
ID = "annotate_paused_vmi"
FILE = EXAMPLE / f"tests/remediations/{ID}.yaml"
CASES = remediation_cases._cases(FILE)
UNDONE: dict[str, dict[str, Any]] = read_yaml(FILE.read_text(encoding="utf-8"))["_undo"]
PLACED = (
    (check_area, CHECK / "exporter/checks/drains", "paused_vms"),
    (remediation_area, EXAMPLE / "reconcile/plan/remediations/drains", ID),
)


@pytest.fixture(autouse=True)
def placed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The modules of the example are found as they would be in their folders."""
    known = set(sys.modules)
    known_pages(monkeypatch, CHECK / "exporter", EXAMPLE / "exporter")
    for package, folder, _ in PLACED:
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(folder)])
    checks = exporter.checks.all_checks.__wrapped__()
    monkeypatch.setattr(confirming, "all_checks", lambda: checks)
    monkeypatch.setattr(undoing, "undo_of", remediations.all_undos.__wrapped__().get)
    yield
    for package, _, name in PLACED:
        if (module := f"{package.__name__}.{name}") not in known:
            sys.modules.pop(module, None)
            vars(package).pop(name, None)


@pytest.fixture
def check() -> Check:
    (found,) = (each for each in exporter.checks.all_checks.__wrapped__() if each.id == "paused_vms")
    return found


@pytest.fixture
def remediation() -> Remediation:
    (found,) = (each for each in remediations.all_remediations.__wrapped__() if each.id == ID)
    return found


@pytest.fixture
def undo() -> Undo:
    found = remediations.all_undos.__wrapped__()[ID]
    assert isinstance(found, Undo)
    return found


def stepped(answer: Confirmed) -> Any:
    """The write, with the name of its target, as a case has it."""
    step = msgspec.json.decode(msgspec.json.encode(answer.plan.step))
    return step | {"target": step["target"]["name"]}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str, remediation: Remediation) -> None:
    case = CASES[name]
    answer = answered(remediation, case)
    if "refuses" in case:
        assert isinstance(answer, Refused), answer
        assert answer.precondition == case["refuses"], answer.why
        assert case.get("because", "") in answer.why
        return
    assert isinstance(answer, Confirmed), answer
    assert stepped(answer).items() >= case["plans"]["step"].items()
    assert case["plans"].get("effect", "") in answer.plan.effect


@pytest.mark.parametrize("name", UNDONE)
def test_undo(name: str, remediation: Remediation) -> None:
    case = UNDONE[name]
    answer = undoing.undoing(remediation, CASES[case["of"]], case).made(*case.get("accept", ()))
    if "refuses" in case:
        assert isinstance(answer, Refused), answer
        assert answer.precondition == case["refuses"], answer.why
        return
    assert isinstance(answer, Confirmed), answer
    assert stepped(answer).items() >= case["plans"]["step"].items()


def test_every_precondition_has_a_case(remediation: Remediation, undo: Undo) -> None:
    refused = {case["refuses"] for case in CASES.values() if "refuses" in case}
    assert refused >= {*remediation.preconditions, "finding_holds", "everything_seen"}
    assert refused <= remediation.preconditions.keys() | COMMON_PRECONDITIONS.keys()
    kept = {case["refuses"] for case in UNDONE.values() if "refuses" in case}
    assert undo.preconditions.keys() | undo.losses.keys() <= kept
    assert kept <= undo.preconditions.keys() | undo.losses.keys() | COMMON_UNDO_PRECONDITIONS.keys()


def test_it_may_write_what_it_plans_and_nothing_else(remediation: Remediation) -> None:
    (write,) = remediation.writes
    (form,) = write.forms
    assert isinstance(form, Patched)
    (field,) = form.fields
    for case in CASES.values():
        if "plans" in case:
            answer = answered(remediation, case)
            assert isinstance(answer, Confirmed), answer
            assert isinstance(answer.plan.step, Patch)
            *tests, written = answer.plan.step.ops
            assert tests
            assert field.path.startswith(written.path)


def test_the_page_of_the_check_names_it(check: Check, remediation: Remediation) -> None:
    assert remediation.answers == {check.id: tuple(check.reasons)}
    assert "\nUndo: " in str(import_module(f"{remediation_area.__name__}.{ID}").__doc__)


def test_it_adds_to_the_example_of_a_check_and_changes_nothing() -> None:
    path = "exporter/checks/drains/paused_vms.yaml"
    before, after = ((each / path).read_text(encoding="utf-8").splitlines() for each in (CHECK, EXAMPLE))
    changes = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    assert [line for line in changes if line.startswith("-")] == []
    assert [line.split() for line in changes] == [["+", "remediation:", ID]]
