"""What belongs beside each check and each remediation is there, or its missing file is named: the page of a check, and
what the tests with real servers need.

Each is a module of its own, so that nobody has to edit a list.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.resources import RESOURCES
from exporter.checks import all_checks, areas
from exporter.store.kind import ApiKind
from reconcile.plan.remediation import Remediation
from reconcile.plan.remediations import all_remediations
from tests.all_of import each_of
from tests.case_files import read_yaml
from tests.cluster.repair_faults import BY_REMEDIATION
from tests.cluster.stories import all_stories
from tests.evaluation import api_kinds
from tests.kubevirt.write_rules import RULES as WRITE_RULES
from tests.rows import full
from tests.rules import FILES, RULES, rules_of
from tests.shared import REPO

ACROSS = "VMFirmwareUUIDDuplicateAcrossClusters"  # needs two clusters: tests/cluster/test_fleet.py follows it
RUNBOOKS = [
    path
    for path in sorted((RULES / "runbooks").glob("*.md"))
    if not path.stem.startswith("Steward") and path.stem != ACROSS
]
KINDS = api_kinds()
REASONS = {reason for check in all_checks() for reason in check.reasons}


PAGES = {path.stem: path for path in (REPO / "exporter/checks").glob("*/*.yaml")}


@each_of("area", areas())
def test_each_check_has_its_page(area: str) -> None:
    for check in areas()[area]:
        file = f"exporter/checks/{area}/{check.id}.yaml"
        assert (REPO / file).exists(), f"{file} is missing: the page of the check, with a section for each reason"
        said = read_yaml(PAGES[check.id].read_text(encoding="utf-8"))["reasons"]
        assert check.reasons.keys() == said.keys(), f"{file} has all reasons of the check, and no others"


def test_no_page_is_of_a_check_that_there_is_not() -> None:
    assert PAGES.keys() - {check.id for check in all_checks()} == set()


def test_each_command_with_a_name_is_of_several_reasons_or_of_a_finding() -> None:
    named = read_yaml((REPO / "exporter/checks/commands.yaml").read_text(encoding="utf-8"))
    used = Counter(each for check in all_checks() for reason in check.reasons.values() for each in reason.commands)
    sources = "".join(path.read_text(encoding="utf-8") for path in (REPO / "exporter").rglob("*.py"))
    needless = {name for name, text in named.items() if used[text] < 2 and f'command("{name}")' not in sources}
    assert needless == set(), "one that a single reason has stands in its page"


@each_of("runbook", RUNBOOKS, ids=lambda runbook: runbook.stem)
def test_each_reason_of_a_runbook_has_a_story(runbook: Path) -> None:
    meaning = runbook.read_text(encoding="utf-8").partition("## Impact")[0]
    named = {name for name in re.findall(r"`(\w+)`", meaning) if name in REASONS}
    told = {story.reason for story in all_stories() if story.alert == runbook.stem}
    assert named - told == set(), (
        "a module of tests/cluster/stories, a new one maybe, defines STORIES with one for these"
    )
    assert told - named == set(), f"the section Meaning of {runbook.name} does not name these reasons of its stories"


@each_of("remediation", all_remediations(), ids=str)
def test_each_remediation_has_a_fault_or_says_why_not(remediation: Remediation) -> None:
    file = f"tests/cluster/repair_faults/{remediation.id}.py"
    assert remediation.id in BY_REMEDIATION, f"{file} is missing: it defines FAULTS, or says in its docstring why not"
    for fault in BY_REMEDIATION[remediation.id]:
        assert fault.remediation == remediation.id
        assert fault.reason in {reason for reasons in remediation.answers.values() for reason in reasons}


@each_of("remediation", all_remediations(), ids=str)
def test_each_remediation_has_a_rule_of_its_writes(remediation: Remediation) -> None:
    file = f"tests/kubevirt/write_rules/{remediation.id}.py"
    assert remediation.id in WRITE_RULES, f"{file} is missing: it defines RULE, which holds a write to the audit log"


def test_no_fault_and_no_rule_is_of_a_remediation_that_there_is_not() -> None:
    ids = {each.id for each in all_remediations()}
    assert (BY_REMEDIATION.keys() | WRITE_RULES.keys()) - ids == set()


OF_FINDINGS = {reason.alert for check in all_checks() for reason in check.reasons.values()}


@each_of("file", FILES, ids=lambda file: file.stem)
def test_what_pages_is_said_twice(file: Path) -> None:
    said = RULES.parent / f"tests/pages/{file.stem}.yaml"
    named = set(read_yaml(said.read_text(encoding="utf-8"))) if said.exists() else set()
    rules = (rule for rule in rules_of(file) if rule.alerts and rule.name in OF_FINDINGS)
    paging = {rule.name for rule in rules if rule.labels["severity"] == "critical"}
    assert paging == named, f"tests/pages/{file.stem}.yaml has each alert that pages, and the reasons for it"


@each_of("kind", KINDS.values(), ids=lambda kind: kind.name)
def test_each_kind_is_served_where_tests_look(kind: ApiKind[Any]) -> None:
    rows = [row for row in RESOURCES if (row.group, row.kind) == (kind.group, kind.name)]
    assert rows, f"demo/apiserver/resources.py has no row of {kind.name}: what a real API server serves of it"
    assert (rows[0].plural, rows[0].namespaced) == (kind.plural, kind.namespaced)
    assert rows[0].version in kind.versions


def test_a_row_may_be_of_any_kind_that_is_served() -> None:
    spec = {"holderIdentity": "a"}
    made = full({"kind": "Lease", "name": "steward", "spec": spec, "labels": {"a": "b"}, "over": {"spec": {"x": 1}}})
    assert (made["apiVersion"], made["kind"]) == ("coordination.k8s.io/v1", "Lease")
    assert (made["metadata"]["namespace"], made["metadata"]["labels"]) == ("ns", {"a": "b"})
    assert made["spec"] == {"holderIdentity": "a", "x": 1}
    with pytest.raises(KeyError, match="Nothing"):
        full({"kind": "Nothing", "name": "x"})
