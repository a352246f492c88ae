"""The sidecar's own metrics: what the rules rely on is there from the start, and only where it is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import aiohttp
import msgspec
import pytest

from exporter.serve.application import serving
from reconcile.app import build
from reconcile.carry_out.metrics import Measures, ShownRepairs
from reconcile.config.loading import LoadedSidecar, load
from reconcile.config.settings import SidecarConfig, may_write
from reconcile.decide.canary import CanaryState
from reconcile.decide.gates import GATES
from reconcile.ledger import Event, Ledger
from reconcile.ledger.history import History
from reconcile.plan.remediation import COMMON_PRECONDITIONS
from reconcile.plan.remediations import all_remediations

from ....all_of import each_of
from ....ledgers import opened, plan
from ....rules import RULES, rules_of, selectors

ALL = all_remediations()
RELEASE = next(each for each in ALL if each.id == "release_ipam_claim")
SIDECAR = RULES / "repairs.yaml"


def measured(board: ShownRepairs | None = None, **more: Any) -> Measures:
    return Measures(ALL, dict.fromkeys((each.id for each in ALL), "plan"), board or ShownRepairs(), **more)


def configured(folder: Path, **settings: Any) -> SidecarConfig:
    file = folder / "reconcile.yaml"
    file.write_text(json.dumps(settings), encoding="utf-8")
    loaded = load(ALL, file)
    assert isinstance(loaded, LoadedSidecar), loaded
    return loaded.config


@each_of("outcome", ["done", "failed", "unclear"])
@each_of("remediation", [each.id for each in ALL])
def test_attempts_are_counted_from_0_on(remediation: str, outcome: str) -> None:
    labels = {"remediation": remediation, "mode": "auto", "outcome": outcome}

    assert measured().registry.get_sample_value("kubevirt_steward_repairs_total", labels) == 0


@pytest.mark.parametrize(
    ("settings", "may"),
    [
        ({}, False),
        ({"mode": "approve"}, True),
        ({"mode": "auto", "remediations": {"release_ipam_claim": {"mode": "plan"}}}, False),
        ({"remediations": {"release_ipam_claim": {"mode": "approve"}}}, True),
        ({"remediations": {"release_ipam_claim": {"namespaces": {"shop": "auto"}}}}, True),
        ({"mode": "auto", "remediations": {"release_ipam_claim": {"mode": "off", "namespaces": {"a": "plan"}}}}, False),
    ],
)
def test_what_may_write_in_one_namespace_is_enabled(settings: dict[str, Any], may: bool, tmp_path: Path) -> None:
    enabled = may_write(configured(tmp_path, **settings), [RELEASE])
    measures = measured(enabled={"release_ipam_claim"} if enabled else ())
    value = measures.registry.get_sample_value("kubevirt_steward_repair_enabled", {"remediation": "release_ipam_claim"})

    assert (enabled, value) == (may, float(may))


def test_a_replica_that_follows_reports_no_storm_pause_or_edit_war() -> None:
    measures = measured()
    now = measures.standing
    now.leading, now.storm, now.paused, now.edit_wars, now.ledger_writable = True, "storm", 2, 1, True
    now.follow()
    found = measures.registry.get_sample_value

    assert found("kubevirt_steward_repair_storm", {"state": "storm"}) == 0
    assert found("kubevirt_steward_repair_paused") == 0
    assert found("kubevirt_steward_repair_edit_wars") == 0
    assert found("kubevirt_steward_repair_ledger_writable") == 1


def repaired_in_vain(ledger: Ledger, name: str, times: int) -> None:
    for _ in range(times):
        attempt = ledger.append(
            Event.INTENDED, plan=msgspec.structs.replace(plan(name), fingerprint=name), mode="auto"
        ).attempt
        ledger.append(Event.DONE, attempt=attempt)
        ledger.append(Event.RETURNED, attempt=attempt, why="argocd wrote it back")


def test_edit_wars_are_counted_by_object_until_a_person_resumes_it(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        repaired_in_vain(ledger, "db.blue", 3)
        repaired_in_vain(ledger, "web.blue", 2)
        history = History.of(ledger.entries(), 2000.0)
        before = len(history.wars(3, 3600.0))
        history.add(ledger.append(Event.RESUMED, scope="IPAMClaim ns/db.blue"))

        assert (before, len(history.wars(3, 3600.0))) == (1, 0)


@pytest.mark.parametrize(
    ("leading", "source_up", "ready"), [(False, False, 200), (True, False, 503), (True, True, 200)]
)
async def test_a_replica_that_waits_for_the_lease_is_ready(leading: bool, source_up: bool, ready: int) -> None:
    measures = measured()
    measures.standing.leading, measures.standing.source_up = leading, source_up
    async with (
        serving(build(ShownRepairs(), measures, {}, "run"), "127.0.0.1", 0) as url,
        aiohttp.ClientSession() as session,
        session.get(f"{url}/readyz") as answer,
    ):
        assert answer.status == ready


@pytest.mark.parametrize(
    ("label", "known"),
    [
        ("gate", {gate.id for gate in GATES}),
        (
            "precondition",
            {
                "approved",
                *(g.id for g in GATES),
                *COMMON_PRECONDITIONS,
                *(name for r in ALL for name in r.preconditions),
            },
        ),
        ("outcome", {"done", "failed", "unclear"}),
        ("state", {"normal", "storm", "cooldown", *get_args(CanaryState)}),
    ],
)
def test_rules_ask_for_gates_and_preconditions_that_exist(label: str, known: set[str]) -> None:
    asked = {
        value
        for rule in rules_of(SIDECAR)
        for selector in selectors(rule.expr)
        for matcher in selector.matchers
        if matcher.name == label
        for value in matcher.value.split("|")
    }

    assert asked
    assert asked <= known
