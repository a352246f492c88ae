"""Every remediation against its case file: what it plans, what it refuses and why; and what each has to have."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from exporter.checks import all_checks
from reconcile.plan import Refused
from reconcile.remediation import COMMON_PRECONDITIONS, Remediation
from reconcile.remediations import all_remediations
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.evaluation import NOW
from tests.rows import full

CASES = Path(__file__).parents[1] / "remediations"


@cache
def cases_of(remediation: Remediation) -> dict[str, dict[str, Any]]:
    """The cases, and those of `unseen/`, which were written without a look at the code."""
    return {**_cases(CASES / f"{remediation.id}.yaml"), **_cases(CASES / "unseen" / f"{remediation.id}.yaml")}


def _cases(path: Path) -> dict[str, dict[str, Any]]:
    """Each with `_about` and the rows under `_always`, as far as it does not give the same itself."""
    if not path.exists():
        return {}
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    about, always, _ = loaded.pop("_about"), loaded.pop("_always", []), loaded.pop("_undo", {})
    for case in loaded.values():
        given = {(row["kind"], row.get("namespace"), row["name"]) for row in case["given"]}
        case["given"] += [row for row in always if (row["kind"], row.get("namespace"), row["name"]) not in given]
        case["about"] = about | case.get("hint", {})
    return loaded


ALL = [
    pytest.param(remediation, case, id=f"{remediation.id}-{name}")
    for remediation in all_remediations()
    for name, case in cases_of(remediation).items()
]


@pytest.mark.parametrize(("remediation", "case"), ALL)
def test_case(remediation: Remediation, case: dict[str, Any]) -> None:
    objects = [full(row) for row in case["given"]]
    reads = MemoryReads(objects, case.get("fails"), case.get("absent", ()))
    answer = confirmed(remediation, hint_of(case["about"], objects), reads, NOW + case.get("later", 0))

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
    assert wanted.get("owner", "") in (plan.proposal.owner if plan.proposal else "")


@pytest.mark.parametrize("remediation", all_remediations(), ids=lambda remediation: remediation.id)
def test_every_precondition_is_tried_and_so_is_a_plan(remediation: Remediation) -> None:
    cases = cases_of(remediation).values()
    refused = Counter(case.get("refuses", "") for case in cases)
    assert set(refused) - {"", "any"} <= remediation.preconditions.keys() | COMMON_PRECONDITIONS.keys()
    assert remediation.preconditions.keys() <= refused.keys()
    assert {"finding_holds", "everything_seen"} <= refused.keys()
    assert refused[""]


@pytest.mark.parametrize("remediation", all_remediations(), ids=lambda remediation: remediation.id)
def test_declaration(remediation: Remediation) -> None:
    checks = {check.id: check for check in all_checks()}
    for check, reasons in remediation.answers.items():
        assert set(reasons) <= checks[check].reasons.keys()
    module = __import__(f"reconcile.remediations.{remediation.id}", fromlist=["REMEDIATION"])
    assert "\nUndo: " in str(module.__doc__)
    assert remediation.writes or remediation.proposes_only


def test_every_case_file_is_of_a_remediation() -> None:
    assert {path.stem for path in CASES.glob("*.yaml")} == {each.id for each in all_remediations()}
