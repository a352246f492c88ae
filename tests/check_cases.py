"""The cases of each check, and an engine that has evaluated one."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import pytest

from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET, Check
from exporter.findings.finding import Finding, Unknown
from exporter.store.source import SyncState
from tests.case_files import load
from tests.evaluation import Evaluation
from tests.shared import REPO

CASES = REPO / "tests/checks"
_MAY = {"sync_state": dict, "but": list, "unknown_in": list, "unsynced": list}
_FOUND = (
    "namespace",
    "subject",
    "reason",
    "severity",
    "feature",
    "evidence",
    "next",  # a part of it
)  # a text is asserted in a test of its own


CHECKS = [check for check in all_checks() if check.scope is not PER_FLEET]  # those are tried by test_across.py


@cache
def _loaded(check: str) -> bytes:
    """The file of a check, pickled: each who asks gets its own, and a dozen do."""
    return pickle.dumps(load(CASES / f"{check}.yaml", {"given": list, "finds": (list, str)}, _MAY, _FOUND))


def cases_of(check: Check) -> dict[str, dict[str, Any]]:
    """The cases of a check; the rows under `_always` are in each of them that does not give the same object."""
    loaded: dict[str, Any] = pickle.loads(_loaded(check.id))
    loaded.pop("_unforbidden", None)
    always: list[dict[str, Any]] = loaded.pop("_always", [])
    for case in loaded.values():
        given = {_named(row) for row in case["given"]}
        case["given"] += [row for row in always if _named(row) not in given and row["name"] not in case.get("but", ())]
    return loaded


def unforbidden(check: Check) -> dict[str, str]:
    """Reasons that say that a VM can't do something without forbidding it, and why that is right, by the case file."""
    why: dict[str, str] = pickle.loads(_loaded(check.id)).get("_unforbidden", {})
    return why


def _named(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["kind"], row.get("namespace", "ns"), row["name"]


def evaluated(check: Check, case: dict[str, Any]) -> Evaluation:
    evaluation = Evaluation([check], case.get("unsynced", ()), only_read=True)
    for name, sync_state in case.get("sync_state", {}).items():
        evaluation.sync_state(name, SyncState(sync_state))
    evaluation.given(case["given"])
    evaluation.evaluate()
    return evaluation


class Outcome(NamedTuple):
    """What an engine says of a case: its open findings, and where it has no answer."""

    findings: tuple[Finding, ...]
    unknowns: tuple[Unknown, ...]


@cache
def outcome(check: Check, name: str) -> Outcome:
    """Of one case, which is evaluated once: a dozen look at the findings of all."""
    engine = evaluated(check, CASES_OF[check][name]).engine
    return Outcome(tuple(engine.findings()), tuple(engine.unknowns()))


def findings_of(check: Check) -> Iterator[Finding]:
    """What is found in the cases of a check, one after the other."""
    for name in CASES_OF[check]:
        yield from outcome(check, name).findings


CASES_OF = {check: cases_of(check) for check in CHECKS}  # to read: whoever changes one asks `cases_of`
ALL = [pytest.param(check, name, id=f"{check.id}-{name}") for check in CHECKS for name in CASES_OF[check]]
