"""Every remediation against its case file: what it plans, what it refuses and why; and what each has to have."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from reconcile.plan.plan import Refused
from reconcile.plan.remediation import COMMON_PRECONDITIONS, Remediation
from reconcile.plan.remediations import all_remediations
from tests.all_of import all_of, each_of
from tests.remediation_cases import CASES, answered, cases_of, module_of

ALL = [
    pytest.param(remediation, case, id=f"{remediation.id}-{name}")
    for remediation in all_remediations()
    for name, case in cases_of(remediation).items()
]


@all_of(ALL)
def test_case(remediation: Remediation, case: dict[str, Any]) -> None:
    answer = answered(remediation, case)
    if "refuses" in case:
        assert isinstance(answer, Refused), answer
        assert case["refuses"] in ("any", answer.precondition), answer.why
        assert case.get("because", "") in answer.why
        return
    assert not isinstance(answer, Refused), answer
    plan = answer.plan
    wanted = case["plans"]
    step = msgspec.json.decode(msgspec.json.encode(plan.step))  # lists, as YAML has them
    for name, value in wanted["step"].items():
        assert (step[name]["name"] if name in ("target", "of") and isinstance(value, str) else step[name]) == value
    assert plan.risk == wanted.get("risk", plan.risk)
    assert wanted.get("effect", "") in plan.effect
    assert wanted.get("undo", "") in plan.undo
    assert list(plan.loses) == wanted.get("loses", list(plan.loses))
    assert (plan.proposal is not None) is wanted.get("proposed", False)
    for part in ("owner", "where", "patch"):
        assert wanted.get(part, "") in (getattr(plan.proposal, part) if plan.proposal else "")


@each_of("remediation", all_remediations(), ids=lambda remediation: remediation.id)
def test_every_precondition_is_tried_and_so_is_a_plan(remediation: Remediation) -> None:
    cases = cases_of(remediation).values()
    refused = Counter(case.get("refuses", "") for case in cases)
    assert set(refused) - {"", "any"} <= remediation.preconditions.keys() | COMMON_PRECONDITIONS.keys()
    assert remediation.preconditions.keys() <= refused.keys()
    assert {"finding_holds", "everything_seen"} <= refused.keys()
    assert refused[""]


@each_of("remediation", all_remediations(), ids=lambda remediation: remediation.id)
def test_declaration(remediation: Remediation) -> None:
    assert "\nUndo: " in str(module_of(remediation.id).__doc__)
    assert remediation.writes or remediation.proposes_only


def test_every_case_file_is_of_a_remediation() -> None:
    assert {path.stem for path in CASES.glob("*.yaml")} == {each.id for each in all_remediations()}
