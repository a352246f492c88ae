"""Gates: each blocks when it should, says with what number and until when, and lets everything else through."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import yaml

from exporter.facts.record import Ref
from exporter.facts.times import Skew
from reconcile.carry_out.alertmanager import alert_labels, read, silenced_by
from reconcile.config.settings import Mode
from reconcile.decide.canary import tried
from reconcile.decide.gates import GATES, Blocked, blocked
from reconcile.decide.storms import Storm, StormState
from reconcile.ledger.entry import Entry
from reconcile.ledger.history import History
from reconcile.plan.annotations import PAUSED, annotations_of
from tests.all_of import each_of
from tests.repairs import CLAIM, NOW, REPAIR, VM, ask, config, entry, situation, written
from tests.rules import TESTS
from tests.shared import REPO
from tests.silence_rows import silence

SELECTING = {"remediations": {"repair": {"namespaceSelectors": [{"matchLabels": {"tier": "test"}, "mode": "auto"}]}}}
ALLOWED = {REPAIR.opt_in: "true"}


def hours(count: int, at: float = NOW - 600, **more: Any) -> list[Entry]:
    return [item for number in range(count) for item in written(number, at + number, "done", **more)]


def other_vms(count: int) -> list[Entry]:
    return [item for each in range(count) for item in written(each, NOW - 7200 - each, "verified", vm=f"v{each}")]


def returns(*ages: float) -> list[Entry]:
    """Repairs that came back so long ago, in seconds."""
    return [
        item
        for number, age in enumerate(sorted(ages, reverse=True))
        for item in written(number, NOW - age, "done", "verified", "returned", why="argocd-controller wrote it")
    ]


ON_TRIAL = tried(config(), REPAIR)


def trial(number: int, *after: str, at: float = NOW - 600, **more: Any) -> list[Entry]:
    """A write of the canary, of another object."""
    claim = Ref("IPAMClaim", "shop", f"vm{number}.blue", f"u{number}")
    told = {"canary": ON_TRIAL, "target": claim, "fingerprint": f"trial{number}", "vm": f"vm{number}", **more}
    return written(100 + number, at, *after, **told)


def gone(number: int) -> list[Entry]:
    return trial(number, "done", "verified", "stayed", at=NOW - 7200)


HISTORY = History.of(written(8, NOW - 60, "unclear"), NOW)

# gate, what is asked, what holds, the configuration, what the sentence has, until when
BLOCKS: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], str, float | None]] = [
    ("paused", {}, {"paused": "change freeze"}, {}, '"change freeze"', None),
    ("paused", {}, {"paused": None}, {}, "could not be read", None),
    (
        "paused",
        {},
        {"namespaces": {"shop": {PAUSED: "yes"}}},
        {},
        'namespace shop is paused: "yes". .* resume -n shop$',
        None,
    ),
    ("paused", {}, {"namespaces": {"shop": {PAUSED: ""}}}, {}, "no reason given. To resume: ", None),
    ("paused", {}, {"namespaces": {"shop": {PAUSED: "False"}}}, {}, '"False"', None),
    ("paused", {}, {"namespaces": {"shop": {PAUSED: "no\x1b[2J\n" * 99}}}, {}, r'"no\\u001b', None),
    ("paused", {}, {"namespaces": {"shop": None}}, {}, "could not be read", None),
    ("paused", {}, {"namespaces": {}}, {}, "could not be read", None),
    ("paused", {}, {"entries": [entry("paused", by="eve", why="wait")]}, {}, 'everything .* "eve": "wait"', None),
    ("paused", {}, {"entries": [entry("paused", scope="shop")]}, {}, "namespace shop has been paused since", None),
    (
        "object_paused",
        {"annotations": {str(CLAIM): {PAUSED: "1"}, VM: ALLOWED}},
        {},
        {},
        "IPAMClaim shop/db.blue",
        None,
    ),
    ("object_paused", {"annotations": {str(CLAIM): {}, VM: ALLOWED | {PAUSED: "x"}}}, {}, {}, f"{VM} is paused", None),
    ("object_paused", {"annotations": {str(CLAIM): None, VM: ALLOWED}}, {}, {}, "could not be read", None),
    ("object_paused", {"annotations": {VM: ALLOWED}}, {}, {}, "IPAMClaim shop/db.blue could not be read", None),
    ("object_paused", {}, {"entries": [entry("paused", scope=VM, why="mine")]}, {}, f'{VM} .* "mine"', None),
    ("object_paused", {}, {"entries": [entry("paused", scope=str(CLAIM))]}, {}, "IPAMClaim .* paused", None),
    ("opt_in", {"annotations": {str(CLAIM): {}, VM: {}}}, {}, {}, f'{REPAIR.opt_in}: "true"', None),
    ("opt_in", {"annotations": {str(CLAIM): {}, VM: {REPAIR.opt_in: "True"}}}, {}, {}, "VMs that allow it", None),
    ("opt_in", {"vm": ""}, {}, {}, "annotation .* of the VM", None),
    ("unclear", {}, {"entries": written(7, NOW - 60, "unclear")}, {}, "attempt a7, begun at .*:25:40Z", None),
    ("unclear", {}, {"entries": written(7, NOW - 60)}, {}, f"it writes to {CLAIM}. .* reconcile ledger a7", None),
    ("unclear", {}, {"by_hand": lambda: HISTORY.unfinished()}, {}, "attempt a8", None),
    ("labels", {}, {}, SELECTING, "the labels of namespace shop could not be read.*namespaceSelectors", None),
    ("labels", {}, {"labels": {"shop": None}}, SELECTING, "could not be read", None),
    ("clock", {}, {"skew": None}, {}, "no response had a date within 5 minutes", None),
    ("clock", {}, {"skew": Skew(900.4, 0.0, "pod-a")}, {}, "clock of pod-a is 900 s ahead of the API server's", None),
    ("clock", {}, {"skew": Skew(-30.5, 0.0, "pod-a")}, {}, "30 s behind the API server's, and the limit is 30 s", None),
    ("clock", {}, {"skew": Skew(20.0, 40.0, "pod-a")}, {}, "clocks of the API servers are 40 s apart", None),
    ("clock", {}, {"skew": Skew(float("nan"), 0.0, "pod-a")}, {}, "nan", None),
    ("leading", {}, {"leading": False}, {}, "Lease", None),
    ("ledger", {}, {"ledger": "no space left on /var/lib"}, {}, "no space left", None),
    ("source_age", {}, {"source_age": None}, {}, "hasn't responded", None),
    ("source_age", {}, {"source_age": 120.5}, {}, "2m old, and the limit is 2m .*source.oldest", None),
    ("source_age", {}, {"source_age": float("nan")}, {}, "nan", None),
    ("source_age", {}, {"source_age": float("inf")}, {}, "inf", None),
    ("source_age", {}, {"source_age": -61.0}, {}, "-61", None),
    ("source_age", {}, {"ready": False}, {}, "readyz", None),
    ("unknown_check", {}, {"unknown_checks": frozenset({"ipam_claims"})}, {}, "ipam_claims", None),
    ("unknown_check", {}, {"unknown_checks": None}, {}, "couldn't be asked", None),
    ("upgrade", {}, {"upgrading": True}, {}, "Progressing", None),
    ("upgrade", {}, {"upgrading": None}, {}, "unknown whether", None),
    ("storm", {}, {"storm": Storm(StormState.STORM, why="40 findings")}, {}, "40 findings", None),
    ("storm", {}, {"storm": Storm(StormState.COOLDOWN, until=NOW + 60)}, {}, "2026-05-28T20:27:40Z", NOW + 60),
    ("storm", {}, {"storms": {"shop": Storm(StormState.STORM, why="12 PDBs")}}, {}, "12 PDBs.* resume -n shop", None),
    ("storm", {}, {"storms": {"shop": Storm(StormState.COOLDOWN, until=NOW + 60)}}, {}, "in namespace shop", NOW + 60),
    (
        "budget_hour",
        {},
        {"entries": hours(4), "vms": {"shop": 20}},
        {"budgets": {"hour": 8}},
        "4 .* at most 8 .*namespace shop has used 4 of 1",
        NOW + 3000,
    ),
    ("budget_hour", {}, {"entries": hours(4), "vms": {}}, {"budgets": {"hour": 8}}, "of 1, no more", NOW + 3000),
    ("budget_run", {"planned": 5}, {}, {}, "5 writes of at most 5 .budgets.run", None),
    ("budget_run", {}, {}, {"budgets": {"run": 0}}, "0 writes of at most 0", None),
    (
        "budget_hour",
        {},
        {"entries": hours(3, target=Ref("N", "a", "b"))},
        {"budgets": {"hour": 2}},
        "3 .* at most 2",
        NOW - 599 + 3600,
    ),
    ("budget_hour", {}, {}, {"budgets": {"hour": 0}}, "as long as that is 0", None),
    ("budget_namespace", {}, {"entries": hours(5)}, {}, "5 writes in namespace shop .* at most 5", NOW + 3000),
    (
        "budget_namespace",
        {"mode": Mode.SHADOW},
        {"entries": hours(5)},
        {},
        "5 real or shadowed writes in namespace shop .* at most 5",
        NOW + 3000,
    ),
    (
        "budget_fleet",
        {"mode": Mode.SHADOW},
        {"entries": other_vms(1), "fleet": 3},
        {},
        "1 of 3 VMs were touched by real or shadowed writes within",
        NOW + 79_200,
    ),
    (
        "budget_fleet",
        {},
        {"entries": other_vms(5)},
        {},
        "5 of 100 VMs .* at most 5 .budgets.fleetShare 0.05",
        NOW + 79_196,
    ),
    ("budget_fleet", {}, {"entries": other_vms(1), "fleet": 3}, {}, "1 of 3 VMs .* at most 1", NOW + 79_200),
    ("budget_fleet", {}, {"fleet": None}, {}, "the number of VMs is unknown", None),
    ("budget_fleet", {}, {}, {"budgets": {"fleetShare": 0}}, "as long as that is 0", None),
    ("window", {}, {}, {"windows": [{"from": "22:00", "to": "05:00"}]}, "opens at 2026-05-28T22:00:00Z", NOW + 5600),
    (
        "blackout",
        {},
        {},
        {"blackouts": [{"from": "2026-05-28", "to": "2026-05-30", "reason": "freeze"}]},
        'active until 2026-05-31T00:00:00Z: "freeze"',
        1_780_185_600.0,
    ),
    ("min_age", {"since": None}, {}, {}, "unknown, and it must be at least 10m", None),
    ("min_age", {"since": NOW - 599}, {}, {}, "9m59s old. .* 10m", NOW + 1),
    ("min_age", {"since": NOW + 9}, {}, {}, "0s old", NOW + 609),
    ("silence", {}, {"silenced": lambda _: "silence 12 of alice"}, {}, "silence 12 of alice", None),
    ("silence", {}, {"silenced": lambda _: None}, {}, "couldn't be asked", None),
    (
        "edit_war",
        {},
        {"entries": returns(9000, 6000, 3000)},
        {},
        '3 times, .*"argocd-controller wrote it".* resume',
        None,
    ),
    ("edit_war", {"fingerprint": "f2"}, {"entries": returns(9000, 6000, 3000)}, {}, "were reverted 3 times", None),
    ("edit_war", {"target": None, "subject": Ref("VM", "a", "b")}, {"entries": returns(3, 2, 1)}, {}, "VM a/b", None),
    ("edit_war", {}, {"entries": returns(9e5, 9e5 + 1, 9e5 + 2, 10)}, {}, "4 times", None),
    (
        "canary",
        {},
        {"entries": trial(1)},
        {},
        "follows IPAMClaim shop/vm1.blue: the finding isn't resolved yet.* step 1 of 2 is one repair",
        None,
    ),
    (
        "canary",
        {},
        {"entries": trial(1, "done")},
        {},
        "resolved yet, and must then stay resolved for 1h .canary.stays.",
        None,
    ),
    (
        "canary",
        {},
        {"entries": trial(1, "done", "verified")},
        {},
        "follows IPAMClaim shop/vm1.blue until 2026-05-28T21:16:40Z: ",
        NOW + 3000,
    ),
    ("canary", {}, {"entries": trial(1, "done", settles=False)}, {}, "until 2026-05-28T21:16:40Z", NOW + 3000),
    ("canary", {}, {"entries": trial(1, "unclear")}, {}, "resolved yet", None),
    ("canary", {}, {"entries": [*gone(1), *trial(2, "unclear")]}, {}, "IPAMClaim shop/vm2.*step 2 of 2", None),
    (
        "canary",
        {},
        {"entries": [*gone(1), *trial(2), *trial(3, "done")]},
        {},
        "vm2.*vm3.* step 2 of 2 is two repairs",
        None,
    ),
    ("canary", {}, {"entries": [*gone(1), *gone(2), *trial(3, "done")]}, {}, "IPAMClaim shop/vm3.*step 2 of 2", None),
    *(
        (
            "canary",
            {},
            {"entries": trial(1, *events, why="flux did")},
            {},
            f"vm1.blue: .*{what}.*flux did.* resume",
            None,
        )
        for events, what in (
            (("done", "verified", "returned"), "came back"),
            (("done", "persists"), "the finding persists"),
            (("in_use", "done"), "in use"),
            (("done", "verified", "taken_back"), "undone"),
            (("unclear", "resolved"), "its outcome is unknown"),
        )
    ),
    # Where it may write is another thing now, but what is under way is followed all the same.
    ("canary", {}, {"entries": trial(1, "done")}, {"mode": "auto"}, "resolved yet", None),
    ("canary", {}, {"entries": trial(1, "done", "returned")}, {"mode": "auto"}, "stopped at .*vm1.blue", None),
]


def closed(asked: dict[str, Any], holds: dict[str, Any], values: dict[str, Any]) -> dict[str, Blocked]:
    state = situation(*holds.get("entries", []), **{name: each for name, each in holds.items() if name != "entries"})
    return {each.gate: each for each in blocked(ask(**asked), state, config(**values))}


@each_of(("gate", "asked", "holds", "values", "has", "until"), BLOCKS)
def test_a_gate_blocks_alone_and_says_why(
    gate: str, asked: dict[str, Any], holds: dict[str, Any], values: dict[str, Any], has: str, until: float | None
) -> None:
    found = closed(asked, holds, values)
    # What was not read of an object concerns both gates that read it.
    assert set(found) - ({"object_paused", "opt_in"} if asked.keys() & {"annotations", "target", "vm"} else set()) <= {
        gate
    }
    assert re.search(has, found[gate].why), found[gate].why
    assert found[gate].why.isprintable()
    assert found[gate].until == until


def test_every_gate_has_a_row_that_blocks() -> None:
    assert {gate.id for gate in GATES} - {"breaker"} == {row[0] for row in BLOCKS}


# What holds, and the configuration: all of it lets through.
LETS_THROUGH: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({}, {}, {}),
    ({}, {"namespaces": {"shop": {PAUSED: "false"}, "other": None}}, {}),
    ({"annotations": {str(CLAIM): {PAUSED: "false"}, VM: ALLOWED}}, {}, {}),
    ({}, {"entries": [entry("paused", scope="other"), entry("paused", scope="IPAMClaim other/x")]}, {}),
    ({}, {"entries": [entry("paused"), entry("resumed")]}, {}),
    ({}, {"source_age": 120.0}, {}),
    ({}, {"source_age": -60.0}, {}),
    ({}, {"unknown_checks": frozenset({"other"})}, {}),
    ({"planned": 4}, {}, {}),
    ({}, {"labels": {"shop": {}}}, SELECTING),
    ({}, {"labels": {"shop": {"tier": "test"}}}, SELECTING),
    ({}, {"skew": Skew(29.9, 29.9, "pod-a")}, {}),
    ({}, {"skew": Skew(-29.9, 0.0, "pod-a")}, {}),
    ({}, {"entries": written(1, NOW - 60, "unclear", target=Ref("IPAMClaim", "shop", "other", "u9"))}, {}),
    ({}, {"entries": written(1, NOW - 60, "unclear", "resolved")}, {}),
    ({}, {"entries": hours(4)}, {}),
    ({}, {"entries": hours(5, NOW - 3700)}, {}),
    ({}, {"entries": [*hours(5, NOW - 600, vm="db")]}, {"budgets": {"namespaceHour": 6, "fleetShare": 0.01}}),
    ({}, {"entries": other_vms(4)}, {}),
    ({}, {"entries": [], "fleet": 1}, {"budgets": {"fleetShare": 0.0001}}),
    ({}, {}, {"windows": [{"from": "20:00", "to": "05:00"}]}),
    ({}, {}, {"windows": [{"from": "20:26", "to": "20:27"}, {"days": ["Sun"]}]}),
    ({}, {}, {"blackouts": [{"from": "2026-05-29", "to": "2026-05-30", "reason": "freeze"}]}),
    ({"since": NOW - 600}, {}, {}),
    ({"since": None}, {}, {"remediations": {"repair": {"minAge": "0s"}}}),
    ({}, {"entries": returns(3 * 86_400, 86_401, 1)}, {}),
    ({}, {"entries": [*returns(30, 20, 10), entry("resumed", scope=str(CLAIM))]}, {}),
    ({"fingerprint": "f2", "target": None, "subject": Ref("VM", "a", "b")}, {"entries": returns(3, 2, 1)}, {}),
    ({}, {"entries": trial(1, "failed")}, {}),
    ({}, {"entries": [*trial(1, "unclear"), entry("resolved", attempt="a101", happened=False)]}, {}),
    ({}, {"entries": gone(1)}, {}),
    ({}, {"entries": [*gone(1), *trial(2, "done")]}, {}),  # the first of two
    ({}, {"entries": [*gone(1), *gone(2), *gone(3)]}, {}),
    ({}, {"entries": [*gone(1), *gone(2), *gone(3), entry("returned", attempt="a103")]}, {}),  # it was over by then
    ({"fingerprint": "trial1"}, {"entries": trial(1, "done", settles=False)}, {}),  # the repair takes two writes
    ({}, {"entries": [*trial(1, "done", "returned"), entry("resumed", scope="remediation repair")]}, {}),
    ({}, {"entries": trial(1, "done")}, {"canary": {"enabled": False}}),
    ({}, {"entries": trial(1, "done", "returned")}, {"remediations": {"repair": {"canary": {"enabled": False}}}}),
    ({}, {"entries": gone(1)}, {"mode": "auto"}),  # which begins anew
    ({"mode": Mode.APPROVE}, {"entries": trial(1, "done", "returned")}, {}),
    ({"remediation": replace(REPAIR, id="another")}, {"entries": trial(1, "done", "returned")}, {}),
]


@each_of(("asked", "holds", "values"), LETS_THROUGH)
def test_gates_let_through(asked: dict[str, Any], holds: dict[str, Any], values: dict[str, Any]) -> None:
    if "target" in asked:
        asked = asked | {"annotations": {"VM a/b": {}, VM: ALLOWED}}
    assert closed(asked, holds, values) == {}


def failing(*events: str, at: float = NOW - 60, mode: str = "auto") -> list[Entry]:
    return [entry for each, event in enumerate(events) for entry in written(each, at - each, event, mode=mode)]


@each_of(
    ("entries", "blocks"),
    [
        (failing("failed", "failed", "failed"), True),
        (failing("failed", "unclear", "persists"), True),
        (failing("failed", "failed"), False),
        (failing("failed", "failed", "verified"), False),
        (failing("failed", "failed", "done"), False),
        (failing("failed", "failed", "failed", at=NOW - 3600), False),  # one more may be tried
        (failing("failed", "failed", "failed", mode="undo"), False),
    ],
)
def test_a_remediation_that_failed_in_a_row_rests(entries: list[Entry], blocks: bool) -> None:
    found = closed({}, {"entries": entries}, {})
    assert ("breaker" in found) == blocks
    if blocks:
        assert found["breaker"].until == NOW - 60 + 3600
        assert "failed 3 times in a row in namespace shop" in found["breaker"].why
    assert "breaker" not in closed({"remediation": replace(REPAIR, id="another")}, {"entries": entries}, {})


@pytest.mark.parametrize(
    ("namespaces", "why"),
    [
        (("shop", "shop", "shop"), "failed 3 times in a row in namespace shop"),
        (("a", "a", "a", "a", "shop", "shop"), ""),  # whoever makes it fail there stops nobody else
        (("a", "b", "shop"), "failed in 3 namespaces in a row"),
    ],
)
def test_a_namespace_in_which_a_remediation_fails_stops_no_other(namespaces: tuple[str, ...], why: str) -> None:
    entries = [
        each
        for number, namespace in enumerate(namespaces)
        for each in written(number, NOW - 60, "failed", target=Ref("IPAMClaim", namespace, "db.blue", "u"))
    ]
    found = closed({}, {"entries": entries}, {})
    assert ("breaker" in found) == bool(why)
    if why:
        assert why in found["breaker"].why


def test_after_the_rest_one_more_failure_is_enough() -> None:
    entries = [*failing("failed", "failed", "failed", at=NOW - 4000), *written(9, NOW - 10, "failed")]
    assert closed({}, {"entries": entries}, {})["breaker"].until == NOW - 10 + 3600


ALL_CLOSED: dict[str, Any] = {
    "paused": "p",
    "leading": False,
    "ledger": "full",
    "source_age": None,
    "unknown_checks": None,
    "upgrading": None,
    "storm": Storm(StormState.STORM),
    "fleet": None,
    "silenced": lambda _: None,
    "skew": None,
    "entries": [
        *returns(40, 30, 20),
        *trial(1),
        *(each for n in range(9) for each in written(20 + n, NOW - 5, "unclear")),
    ],
}
FROZEN = {"from": "2020-01-01", "to": "2030-01-01", "reason": "r"}
CLOSING = {
    **SELECTING,
    "blackouts": [FROZEN],
    "windows": [{"from": "22:00"}],
    "budgets": {"hour": 1, "namespaceHour": 1},
}
REPAIRS = {gate.id for gate in GATES}
OF_THE_SIDECAR = {"labels", "leading", "storm", "window", "blackout", "min_age", "canary", "silence"}


@each_of(
    ("mode", "asked"),
    [
        (Mode.AUTO, REPAIRS),
        (Mode.APPROVE, REPAIRS - {"canary"}),
        (Mode.APPLY, REPAIRS - OF_THE_SIDECAR),
        (Mode.UNDO, {"unclear", "ledger", "clock", "upgrade"}),
        (Mode.PLAN, set()),
        (Mode.OFF, {"mode"}),
    ],
)
def test_all_reasons_are_gathered_and_each_mode_has_its_gates(mode: Mode, asked: set[str]) -> None:
    found = closed({"mode": mode, "annotations": None, "since": None, "planned": 99}, ALL_CLOSED, CLOSING)
    assert set(found) == asked
    order = [gate.id for gate in GATES]
    assert [each for each in found if each in order] == [each for each in order if each in asked]


def test_before_anything_was_read_only_that_is_left_out() -> None:
    unread, state = ask(annotations=None), situation()
    assert {each.gate for each in blocked(unread, state, config())} == {"object_paused", "opt_in"}
    assert blocked(unread, state, config(), reads=False) == ()


def test_a_pause_of_the_finding_s_subject_counts_where_another_object_is_written() -> None:
    of_subject = entry("paused", scope="VirtualMachine shop/other")
    found = closed({"subject": Ref("VirtualMachine", "shop", "other")}, {"entries": [of_subject]}, {})
    assert set(found) == {"object_paused"}


@pytest.mark.parametrize("annotations", [{VM: {PAUSED: None}}, {VM: {PAUSED: ["false"]}}, {VM: {PAUSED: False}}])
def test_what_is_no_text_pauses(annotations: dict[str, Any]) -> None:
    assert "object_paused" in closed({"annotations": {str(CLAIM): {}, **annotations}}, {}, {})


@each_of(
    ("whole", "wanted"),
    [
        ({"metadata": {"annotations": {"a": "b"}}}, {"a": "b"}),
        ({"metadata": {"annotations": None}}, {}),
        ({"metadata": {}}, {}),
        ({"metadata": {"annotations": ["a"]}}, None),
        ({"metadata": None}, None),
        ({}, None),
        (None, None),
    ],
)
def test_annotations_of_whatever_the_api_server_has(whole: Any, wanted: Any) -> None:
    assert annotations_of(whole) == wanted


@cache
def alerts_of_rules() -> list[dict[str, str]]:
    """The alerts about one object that the tests of our rules expect."""
    expected = [
        {"alertname": test["alertname"], **alert["exp_labels"]}
        for file in TESTS
        for each in yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)["tests"]
        for test in each.get("alert_rule_test", ())
        for alert in test.get("exp_alerts", ())
    ]
    return [each for each in expected if {"namespace", "name"} <= each.keys() and "cluster" not in each]


@pytest.mark.parametrize("name", sorted({each["alertname"] for each in alerts_of_rules()}))
def test_a_silence_of_what_our_rules_fire_is_for_the_finding(name: str) -> None:
    for alert in (each for each in alerts_of_rules() if each["alertname"] == name):
        subject = Ref(alert.get("kind", "Kind"), alert["namespace"], alert["name"])
        labels = alert_labels(name, "check", alert.get("reason", "Reason"), subject, alert.get("vm", "vm"))
        silences = read(json.dumps([silence(*((label, "=", value) for label, value in alert.items()))]).encode())
        assert silenced_by(silences, labels), alert
        other = alert_labels(name, "check", "R", Ref("Kind", alert["namespace"], "another"), "vm")
        assert silenced_by(silences, other) is None


def test_the_manual_has_every_gate_and_who_is_asked_for_it() -> None:
    text = (REPO / "docs" / "gates.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:3] == "| `"]
    modes = (Mode.APPROVE, Mode.AUTO, Mode.APPLY, Mode.UNDO)
    assert rows == [
        [f"`{gate.id}`", gate.title, *("yes" if mode in gate.modes else "" for mode in modes)] for gate in GATES
    ]
