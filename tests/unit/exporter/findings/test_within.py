"""Who may list in one namespace alone is told nothing that is not so, and what can't be known from there is unknown."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import pytest

from exporter.findings.check import Check
from exporter.findings.finding import Finding
from exporter.store.kind import ApiKind
from exporter.store.source import SyncState
from tests.amounts import drawn, part
from tests.check_cases import CASES_OF, CHECKS
from tests.evaluation import Evaluation
from tests.rows import CLUSTER_WIDE

OTHERS = [each for each in CHECKS if each.id != "sources"]


def plain(case: dict[str, Any]) -> bool:
    """Whether the case is of a cluster of which all is seen."""
    return "unsynced" not in case and "sync_state" not in case


def whole(check: Check, case: dict[str, Any]) -> Evaluation:
    evaluation = Evaluation([check])
    evaluation.given(case["given"])
    evaluation.evaluate()
    return evaluation


def within(check: Check, case: dict[str, Any], namespace: str, *, cluster_wide: bool) -> Evaluation:
    """As somebody sees it who may list in one namespace, and KubeVirt and what has none if `cluster_wide`."""
    evaluation = Evaluation([check])
    for row in case["given"]:
        kind = evaluation.kinds[row["kind"]]
        if place(row) == namespace if in_part(kind) else cluster_wide:
            evaluation.given([row])
    for name, kind in evaluation.kinds.items():
        if in_part(kind):
            evaluation.intake.seen_within(kind, (namespace,), f"{kind.resource} is seen in {namespace} alone")
        elif not cluster_wide:
            evaluation.sync_state(name, SyncState.FORBIDDEN)
    evaluation.evaluate()
    return evaluation


def namespaces(case: dict[str, Any]) -> list[str]:
    return sorted({place(row) for row in case["given"]} - {""})


def place(row: dict[str, Any]) -> str:
    """The namespace of an object; empty for one that has none."""
    return "" if row["kind"] in CLUSTER_WIDE else row.get("namespace", "ns")


def in_part(kind: ApiKind[Any]) -> bool:
    """Whether it is seen in part: the KubeVirt object everybody may see who may see what has no namespace."""
    return kind.namespaced and kind.name != "KubeVirt"


def by_fingerprint(evaluation: Evaluation) -> dict[str, Finding]:
    return {each.fingerprint: each for each in evaluation.engine.findings()}


def silent(evaluation: Evaluation, check: Check, namespace: str) -> bool:
    """Whether the check claims to have an answer for all that is in a namespace."""
    engine = evaluation.engine
    if check.id in engine.unknown_everywhere() or check.id in engine.not_applicable():
        return False
    return (namespace, check.id) not in set(engine.unknown_namespaces())


@drawn
@pytest.mark.parametrize("check", OTHERS, ids=lambda check: check.id)
def test_nothing_is_found_that_is_not_so_and_nothing_is_missed_in_silence(check: Check) -> None:
    for name, case in part(list(CASES_OF[check].items()), 3):
        everything = by_fingerprint(whole(check, case)) if plain(case) else {}
        for namespace in namespaces(case) if plain(case) else ():
            for cluster_wide in (True, False):
                seen = within(check, case, namespace, cluster_wide=cluster_wide)
                found, at = by_fingerprint(seen), (name, namespace, cluster_wide)
                assert found.keys() <= everything.keys(), at
                assert all(found[each].severity.rank <= everything[each].severity.rank for each in found), at
                missed = [f for key, f in everything.items() if key not in found and f.subject.namespace == namespace]
                assert not [f.reason for f in missed if silent(seen, check, namespace)], at


def test_what_is_in_the_namespace_alone_is_found() -> None:
    """So the others try something."""
    for check in (each for each in OTHERS if each.id in ("eviction_stops", "firmware_vms", "instancetype_vms")):
        for name, case in CASES_OF[check].items():
            for namespace in namespaces(case) if plain(case) else ():
                seen = within(check, case, namespace, cluster_wide=True)
                every = by_fingerprint(whole(check, case)).items()
                assert by_fingerprint(seen).keys() == {key for key, f in every if f.subject.namespace == namespace}, (
                    name
                )
                assert not seen.engine.unknowns(), name


@drawn
@pytest.mark.parametrize("check", OTHERS, ids=lambda check: check.id)
def test_what_comes_late_waits_for_no_grace(check: Check) -> None:
    """A look lists kind after kind and may be refused some for good: what is there was there before anybody looked."""
    names = [kind.name for kind in dict.fromkeys((*check.reads, *check.requires)) if isinstance(kind, ApiKind)]
    optional = [name for name in names if name not in {kind.name for kind in check.requires}]
    for name, case in part(list(CASES_OF[check].items()), 6):
        if not plain(case) or len(namespaces(case)) != 1:
            continue
        for refused in optional:
            for seed in range(2):
                late = Random(f"{check.id} {name} {refused} {seed}")
                found = arriving(check, case, names, refused, late)
                assert found == arriving(check, case, names, refused, None), (name, refused, seed)


def arriving(
    check: Check, case: dict[str, Any], names: list[str], refused: str, late: Random | None
) -> list[tuple[str, str, str, str]]:
    """What is found in the end, if kinds come one after the other and it is evaluated in between; without `late` they
    come at once, and nothing waits for a grace.
    """
    clock = itertools.count()
    evaluation = Evaluation([check], initial=late is None, timer=lambda: next(clock) * 1e-3)
    evaluation.engine.settle = 0.0
    for name in names:
        evaluation.sync_state(name, SyncState.FORBIDDEN)
    if late is not None:
        evaluation.evaluate()
        late.shuffle(names := list(names))
    for name in names:
        kind = evaluation.kinds[name]
        for row in case["given"] if name != refused else ():
            if row["kind"] == name:
                evaluation.given([row])
                _a_few_steps(evaluation, late)
        if name != refused and in_part(kind):
            evaluation.intake.seen_within(kind, namespaces(case), f"{kind.resource} is seen there alone")
        elif name != refused:
            evaluation.sync_state(name, SyncState.READ)
        _a_few_steps(evaluation, late)
    return evaluation.found()


def _a_few_steps(evaluation: Evaluation, late: Random | None) -> None:
    for _ in range(late.choice((0, 1, 5, 50)) if late is not None else 0):
        if not evaluation.engine.step():
            return
