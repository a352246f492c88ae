"""`steward reconcile ledger` and `plan` by cause and by day, and what mode `shadow` left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exporter.__main__ import main
from exporter.findings.causes import Reference
from reconcile.cli.plan_text import grouped, shown_by_cause
from reconcile.decide.repair import Repair
from reconcile.ledger import Counted, Event, Ledger
from reconcile.ledger.manual import folder
from reconcile.plan.plan import Plan, Refused
from tests.ledgers import plan

DAY = 86_400.0
BEGAN = 1_790_000_000.0  # 2026-09-21T14:13:20Z


def of(name: str, network: str = "blue") -> Plan:
    made: Plan = msgspec.structs.replace(
        plan(f"{name}.{network}"), fingerprint=f"f-{name}", cause=Reference(network=network), undo="put it back"
    )
    return made


class Story:
    """A ledger of a test, and that of a person beside it."""

    def __init__(self, directory: Path) -> None:
        self.directory, self.now = directory, BEGAN
        self.ledger = Ledger.open(directory, clock=lambda: self.now)

    def shadowed(self, name: str, network: str = "blue") -> str:
        return self.ledger.append(Event.SHADOWED, plan=of(name, network), mode="shadow").attempt

    def wrote(self, name: str, mode: str = "auto", by: str = "") -> str:
        attempt = self.ledger.append(Event.INTENDED, plan=of(name), mode=mode, by=by).attempt
        self.ledger.append(Event.DONE, attempt=attempt)
        return attempt

    def end(self, attempt: str, event: Event, **fields: Any) -> None:
        self.ledger.append(event, attempt=attempt, **fields)

    def taken_back(self, attempt: str) -> None:
        with Ledger.open(folder(self.directory), clock=lambda: self.now) as by_hand:
            undo = by_hand.append(Event.INTENDED, plan=of("undo"), mode="undo", by="ann", undoes=attempt)
            by_hand.append(Event.DONE, attempt=undo.attempt)


@pytest.fixture
def told(tmp_path: Path) -> Path:
    """Two days of shadow, and one of auto."""
    story = Story(tmp_path / "ledger")
    story.ledger.append(Event.COUNTED, counts={"release_ipam_claim": Counted(44, 42)})
    attempts = [story.shadowed(f"vm{at}") for at in range(40)]
    story.shadowed("web", "red")
    story.now += DAY
    story.end(attempts[0], Event.WENT, happened=False)
    story.end(attempts[1], Event.WENT, happened=True)
    story.now += DAY
    written = [
        story.wrote("a"),
        story.wrote("b", "approve", "0123456789abcdef by alice until 2026-09-24T00:00:00Z"),
        story.wrote("c", "apply", "bob"),
    ]
    story.end(written[0], Event.VERIFIED)
    story.end(written[1], Event.RETURNED)
    story.taken_back(written[2])
    story.ledger.close()
    return story.directory


def ledger(capsys: pytest.CaptureFixture[str], directory: Path, *words: str) -> str:
    assert main(["reconcile", "ledger", "--ledger", str(directory), *words]) == 0
    return capsys.readouterr().out


def test_forty_claims_of_one_network_are_one_row(capsys: pytest.CaptureFixture[str], told: Path) -> None:
    rows = ledger(capsys, told, "--shadow", "--by-cause").splitlines()
    assert [row.split("  ")[0] for row in rows] == ["REMEDIATION", "release_ipam_claim", "release_ipam_claim"]
    assert rows[1].split()[1] == "40"
    assert rows[1].endswith("40 shadowed, 2 went  OwnerGone of network blue")
    assert "OwnerGone of network red" in rows[2]

    (written,) = json.loads(ledger(capsys, told, "--by-cause", "-o", "json"))
    assert (written["what"], written["objects"], written["tally"]["written"]) == ("network blue", 3, 3)
    assert written["cause"] == rows[1].split()[2]


def test_what_was_shadowed_is_listed_with_whether_its_finding_is_there(
    capsys: pytest.CaptureFixture[str], told: Path
) -> None:
    rows = ledger(capsys, told, "--shadow", "--limit", "41").splitlines()[1:]
    assert len(rows) == 41
    assert [("open" in row, "gone, written by another client" in row) for row in (rows[-1], rows[-2], rows[-3])] == [
        (False, False),
        (False, True),
        (True, False),
    ]
    assert rows[0].endswith("release_ipam_claim  patch IPAMClaim ns/web.red: remove /metadata/finalizers/0")


def test_days_are_left_out_only_where_a_limit_is_given(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    story = Story(tmp_path / "ledger")
    for at in range(60):
        story.shadowed(f"vm{at}", f"net{at}")
        story.now += DAY
    story.ledger.close()
    since = ("--since", "2026-09-01T00:00:00Z")
    for shape in (("--daily",), ("--shadow", "--by-cause")):
        assert len(ledger(capsys, story.directory, *shape, *since).splitlines()) == 61
        assert len(ledger(capsys, story.directory, *shape, *since, "--limit", "3").splitlines()) == 4
    assert len(ledger(capsys, story.directory, "--shadow", *since).splitlines()) == 51


def test_by_default_only_what_was_written_is_listed(capsys: pytest.CaptureFixture[str], told: Path) -> None:
    head, *rows = ledger(capsys, told).splitlines()
    assert head.split() == ["AT", "ATTEMPT", "OUTCOME", "REMEDIATION", "WRITE"]
    assert len(rows) == 4
    assert sum("undo of " in row for row in rows) == 1
    assert not any("shadow" in row for row in rows)


def test_days_are_counted(capsys: pytest.CaptureFixture[str], told: Path) -> None:
    rows = json.loads(ledger(capsys, told, "--daily", "--since", "2026-09-01T00:00:00Z", "-o", "json"))
    found = {row["day"]: {name: number for name, number in row["tally"].items() if number} for row in rows}
    assert found == {
        "2026-09-21": {"found": 44, "planned": 42, "shadowed": 41},
        "2026-09-22": {"found": 2, "planned": 2, "went": 2},
        "2026-09-23": {
            "found": 3,
            "planned": 3,
            "approved": 1,
            "written": 3,
            "verified": 1,
            "returned": 1,
            "undone": 1,
        },
    }
    assert [row["day"] for row in rows] == sorted(found, reverse=True)
    head, first, *_ = ledger(capsys, told, "--daily", "--since", "2026-09-01T00:00:00Z").splitlines()
    assert head.split()[:4] == ["DAY", "(UTC)", "FOUND", "PLANNED"]
    assert first.split() == ["2026-09-23", "3", "3", "0", "3", "1", "1", "1", "release_ipam_claim"]


def test_nothing_is_proposed_to_be_created_again_of_what_was_not_deleted(
    capsys: pytest.CaptureFixture[str], told: Path
) -> None:
    shown = ledger(capsys, told, "--shadow", "-o", "json", "--limit", "1")
    attempt = json.loads(shown)[0]["attempt"]
    text = ledger(capsys, told, attempt)
    assert "shadowed" in text
    assert "To create the object again" not in text


def test_plans_of_one_cause_are_one_row() -> None:
    def repair(at: int, state: str) -> Repair:
        refused = Refused("vm_gone", "its VM is there") if state == "refused" else None
        return Repair(
            fingerprint=f"f{at}",
            remediation="release_ipam_claim",
            check="ipam_claims",
            reason="OwnerGone",
            subject=f"IPAMClaim ns{at % 3}/vm{at}.blue",
            cause="3f9c2a51d07be846",
            concerns="" if refused else "network blue",
            namespace=f"ns{at % 3}",
            mode="plan",
            state=state,
            at=0.0,
            refused=refused,
        )

    repairs = [repair(at, "refused" if at < 2 else "planned") for at in range(40)]
    _, row = shown_by_cause(grouped(repairs), None).splitlines()
    assert row == "release_ipam_claim  40       3f9c2a51d07be846  38 planned, 2 refused  OwnerGone of network blue"
