"""What is advised of a NAD whose namespace is being deleted."""

from __future__ import annotations

from typing import Any

import pytest

from tests.check_cases import CHECKS
from tests.evaluation import Evaluation
from tests.rows import full

ENDS = {"kind": "Namespace", "name": "ns", "deleting": True, "labels": {"tenant": "a"}}
RENDERED = {"kind": "NetworkAttachmentDefinition", "name": "red", "network": "cluster_udn_red", "deleting": True}
POD = {"kind": "Pod", "name": "web", "addresses": {"ns/red": ["10.0.0.5/16"]}}


def advised(*rows: dict[str, Any]) -> str:
    (check,) = (each for each in CHECKS if each.id == "network_deletions")
    evaluation = Evaluation([check])
    for row in (ENDS, {**RENDERED, "maker": "ClusterUserDefinedNetwork"}, *rows):
        evaluation.seen(full(row))
    evaluation.evaluate()
    (found,) = evaluation.engine.findings()
    return found.next


def test_the_label_by_which_it_is_selected_is_to_go() -> None:
    selects = {"kind": "ClusterUserDefinedNetwork", "name": "red", "selects": {"tenant": "a"}}
    assert advised(selects).startswith("Do not remove the finalizer. Change the namespace's labels")


@pytest.mark.parametrize(("tenant", "rows"), [("b", ()), ("a", (POD,))], ids=["not selected", "a pod is on it"])
def test_else_the_namespace_has_to_end_first(tenant: str, rows: tuple[dict[str, Any], ...]) -> None:
    selects = {"kind": "ClusterUserDefinedNetwork", "name": "red", "selects": {"tenant": tenant}}
    assert advised(selects, *rows).startswith("Check the remaining objects of the namespace")
