"""The cases of each check, and an engine that has evaluated one."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.findings.check import PER_FLEET, Check
from exporter.store.source import SyncState
from tests.case_files import load
from tests.evaluation import Evaluation
from tests.rows import full
from tests.shared import REPO

CASES = REPO / "tests/checks"
_MAY = {"sync_state": dict, "but": list, "unknown_in": list, "unsynced": list}


CHECKS = [check for check in all_checks() if check.scope is not PER_FLEET]  # those are tried by test_across.py


@cache
def _loaded(check: str) -> bytes:
    """The file of a check, pickled: each who asks gets its own, and a dozen do."""
    return pickle.dumps(load(CASES / f"{check}.yaml", {"given": list, "finds": (list, str)}, _MAY))


def cases_of(check: Check) -> dict[str, dict[str, Any]]:
    """The cases of a check; the rows under `_always` are in each of them that does not give the same object."""
    loaded: dict[str, Any] = pickle.loads(_loaded(check.id))
    always: list[dict[str, Any]] = loaded.pop("_always", [])
    for case in loaded.values():
        given = {_named(row) for row in case["given"]}
        case["given"] += [row for row in always if _named(row) not in given and row["name"] not in case.get("but", ())]
    return loaded


def _named(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["kind"], row.get("namespace", "ns"), row["name"]


def evaluated(check: Check, case: dict[str, Any]) -> Evaluation:
    evaluation = Evaluation([check], case.get("unsynced", ()))
    for name, sync_state in case.get("sync_state", {}).items():
        evaluation.sync_state(name, SyncState(sync_state))
    for row in case["given"]:
        evaluation.seen(full(row))
    evaluation.evaluate()
    return evaluation


ALL = [pytest.param(check, case, id=f"{check.id}-{name}") for check in CHECKS for name, case in cases_of(check).items()]
