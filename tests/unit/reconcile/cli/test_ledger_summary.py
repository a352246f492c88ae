"""`steward reconcile ledger --summary`: what was done in a time, which canaries stopped, and what failed and why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exporter.__main__ import main
from exporter.findings.causes import Reference
from reconcile.ledger import Counted, Event, Ledger
from reconcile.ledger.manual import folder
from reconcile.plan.plan import Plan
from tests.ledgers import plan

DAY = 86_400.0
BEGAN = 1_790_000_000.0  # 2026-09-21T14:13:20Z
SINCE = ("--since", "2026-09-22T00:00:00Z")


def of(name: str, network: str = "blue") -> Plan:
    made: Plan = msgspec.structs.replace(
        plan(f"{name}.{network}"), fingerprint=f"f-{name}", cause=Reference(network=network)
    )
    return made


@pytest.fixture
def told(tmp_path: Path) -> Path:
    now = BEGAN
    with Ledger.open(tmp_path / "ledger", clock=lambda: now, cluster="c-1") as ledger:

        def wrote(made: Plan, mode: str, by: str = "") -> str:
            attempt = ledger.append(Event.INTENDED, plan=made, mode=mode, by=by).attempt
            ledger.append(Event.DONE, attempt=attempt)
            return attempt

        def failed(name: str, event: Event, why: str) -> None:
            attempt = ledger.append(Event.INTENDED, plan=of(name, "red"), mode="auto").attempt
            ledger.append(event, attempt=attempt, why=why)

        failed("long-ago", Event.FAILED, "refused")
        now += 2 * DAY
        ledger.append(Event.COUNTED, counts={"release_ipam_claim": Counted(44, 42)})
        for at in range(40):
            ledger.append(Event.SHADOWED, plan=of(f"vm{at}"), mode="shadow")
        first = wrote(of("a", "red"), "approve", "0123456789abcdef by alice until 2026-09-24T00:00:00Z")
        ledger.append(Event.VERIFIED, attempt=first)
        second = wrote(of("b", "red"), "apply", "bob")
        now += 60
        failed("c", Event.FAILED, "denied by a <webhook>\u202e\nof theirs")
        now += 60
        failed("d", Event.UNCLEAR, "no answer")
        now += 60
        third = wrote(of("e", "red"), "auto")
        ledger.append(Event.RETURNED, attempt=third, why="flux wrote it back")
    with Ledger.open(folder(tmp_path / "ledger"), clock=lambda: now + 1) as by_hand:
        undo = by_hand.append(Event.INTENDED, plan=of("b", "red"), mode="undo", by="ann", undoes=second)
        by_hand.append(Event.DONE, attempt=undo.attempt)
    return tmp_path / "ledger"


def summary(capsys: pytest.CaptureFixture[str], directory: Path, *words: str) -> str:
    assert main(["reconcile", "ledger", "--summary", "--ledger", str(directory), *words]) == 0
    return capsys.readouterr().out


def as_json(capsys: pytest.CaptureFixture[str], directory: Path, *words: str) -> Any:
    return json.loads(summary(capsys, directory, *words, "-o", "json"))


def test_what_was_done_since_then_is_counted_by_remediation(capsys: pytest.CaptureFixture[str], told: Path) -> None:
    tally = as_json(capsys, told, *SINCE)["remediations"]["release_ipam_claim"]
    assert {name: number for name, number in tally.items() if number} == {
        "found": 45,
        "planned": 45,
        "shadowed": 40,
        "approved": 1,
        "written": 3,
        "failed": 1,
        "unclear": 1,
        "verified": 1,
        "returned": 1,
        "undone": 1,
    }
    assert as_json(capsys, told, "--since", "2026-09-01")["remediations"]["release_ipam_claim"]["failed"] == 2
    head, row, *_ = summary(capsys, told, *SINCE).splitlines()
    assert head.split("  ")[0] == "REMEDIATION"
    assert "40 shadowed, 1 approved, 3 written, 1 failed, 1 unclear, 1 verified, 1 came back, 1 undone" in row


def test_what_failed_or_did_not_hold_is_listed_with_why_the_newest_first(
    capsys: pytest.CaptureFixture[str], told: Path
) -> None:
    failed = as_json(capsys, told, *SINCE)["failed"]
    assert [(each["target"], each["why"]) for each in failed] == [
        ("IPAMClaim ns/e.red", "flux wrote it back"),
        ("IPAMClaim ns/d.red", "no answer"),
        ("IPAMClaim ns/c.red", "denied by a <webhook>\u202e\nof theirs"),
    ]
    assert [each["why"] for each in as_json(capsys, told, *SINCE, "--limit", "1")["failed"]] == ["flux wrote it back"]
    *_, third, second, first = summary(capsys, told, *SINCE).splitlines()
    assert [" came back " in third, " unclear " in second, " failed " in first] == [True] * 3
    assert third.endswith("flux wrote it back")
    assert "\u202e" not in first
    assert first.endswith("of theirs")


def test_nothing_is_said_as_nothing(capsys: pytest.CaptureFixture[str], told: Path) -> None:
    assert summary(capsys, told, "--since", "2099-01-01") == "Nothing was done.\n"


def stopped(directory: Path) -> Path:
    """A canary whose finding came back, that ann resumed, and that stopped again."""
    now = BEGAN
    with Ledger.open(directory, clock=lambda: now) as ledger:
        for name, event in (("a", Event.RETURNED), ("b", Event.PERSISTS)):
            attempt = ledger.append(Event.INTENDED, plan=of(name), mode="auto", canary="t").attempt
            ledger.append(Event.DONE, attempt=attempt)
            if event is Event.RETURNED:
                ledger.append(Event.VERIFIED, attempt=attempt)
            now += 3600
            ledger.append(event, attempt=attempt, why="flux did")
            if event is Event.RETURNED:
                now += 600
                scope = "remediation release_ipam_claim"
                ledger.append(Event.RESUMED, scope=scope, by="ann", why="flux is out of it")
    return directory


def test_it_says_what_stopped_a_canary_when_by_which_finding_and_who_resumed_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    directory = stopped(tmp_path / "ledger")
    found = as_json(capsys, directory, "--since", "2026-09-21")["canaries"]

    assert [(each["object"], each["why"], each["fingerprint"]) for each in found] == [
        ("IPAMClaim ns/b.blue", "the finding persists: flux did", "f-b"),
        ("IPAMClaim ns/a.blue", "the finding came back: flux did", "f-a"),
    ]
    assert [each["remediation"] for each in found] == ["release_ipam_claim"] * 2
    assert [each["at"] - BEGAN for each in found] == [7800, 3600]
    assert [(each.get("resumed"), each.get("by")) for each in found] == [(None, None), (BEGAN + 4200, "ann (as given)")]
    text = summary(capsys, directory, "--since", "2026-09-21")
    of_canaries = text.split("\n\n")[1].splitlines()
    assert of_canaries[0].startswith("CANARY STOPPED")
    assert "OwnerGone f-b" in of_canaries[1]
    assert "2026-09-21T15:23:20Z by ann (as given): flux is out of it" in of_canaries[2]


def test_a_canary_that_stopped_before_the_time_and_was_resumed_in_it_is_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    directory = stopped(tmp_path / "ledger")
    for since, objects in (("15:20", ["b", "a"]), ("15:30", ["b"]), ("17:00", [])):
        found = as_json(capsys, directory, "--since", f"2026-09-21T{since}:00Z")["canaries"]
        assert [each["object"] for each in found] == [f"IPAMClaim ns/{name}.blue" for name in objects]
