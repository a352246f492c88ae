"""`steward reconcile report`: what it has from a ledger, in each format, and that names of others stay text."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from exporter.__main__ import main
from exporter.findings.causes import Reference
from reconcile.ledger import Counted, Event, Ledger
from reconcile.ledger.manual import folder
from reconcile.plan.plan import Plan, Remove
from tests.ledgers import plan

DAY = 86_400.0
BEGAN = 1_790_000_000.0  # 2026-09-21T14:13:20Z
HOSTILE = "<script>alert(1)</script>|`x`\u202e\n# gone"
UNTIL = ("--until", "2026-09-28T00:00:00Z")


def of(name: str, network: str = "blue", path: str = "") -> Plan:
    made = plan(f"{name}.{network}")
    if path:
        made = msgspec.structs.replace(made, step=msgspec.structs.replace(made.step, ops=(Remove(path),)))
    return msgspec.structs.replace(made, fingerprint=f"f-{name}", cause=Reference(network=network))


@pytest.fixture
def told(tmp_path: Path) -> Path:
    now = BEGAN
    with Ledger.open(tmp_path / "ledger", clock=lambda: now, cluster="c-1") as ledger:

        def wrote(made: Plan, mode: str, by: str = "") -> str:
            attempt = ledger.append(Event.INTENDED, plan=made, mode=mode, by=by).attempt
            ledger.append(Event.DONE, attempt=attempt)
            return attempt

        wrote(of("long-ago"), "auto")
        now += 2 * DAY
        ledger.append(Event.COUNTED, counts={"release_ipam_claim": Counted(44, 42)})
        for at in range(40):
            ledger.append(Event.SHADOWED, plan=of(f"vm{at}"), mode="shadow")
        first = wrote(of("a", "red"), "approve", "0123456789abcdef by alice until 2026-09-24T00:00:00Z")
        ledger.append(Event.VERIFIED, attempt=first)
        second = wrote(of("b", "red", HOSTILE), "apply", HOSTILE)
        failed = ledger.append(Event.INTENDED, plan=of("c", "red"), mode="auto").attempt
        ledger.append(Event.FAILED, attempt=failed, why="refused")
    with Ledger.open(folder(tmp_path / "ledger"), clock=lambda: now + 1) as by_hand:
        undo = by_hand.append(Event.INTENDED, plan=of("b", "red"), mode="undo", by="ann", undoes=second)
        by_hand.append(Event.DONE, attempt=undo.attempt)
    return tmp_path / "ledger"


def report(capsys: pytest.CaptureFixture[str], directory: Path, *words: str) -> str:
    assert main(["reconcile", "report", "--ledger", str(directory), *words]) == 0
    return capsys.readouterr().out


def test_what_was_in_the_time_is_counted_by_remediation_and_by_cause(
    capsys: pytest.CaptureFixture[str], told: Path
) -> None:
    found = json.loads(report(capsys, told, "--since", "6d", *UNTIL, "-o", "json"))

    tally = {name: number for name, number in found["remediations"]["release_ipam_claim"].items() if number}
    assert tally == {
        "found": 44,
        "planned": 43,
        "shadowed": 40,
        "approved": 1,
        "written": 2,
        "failed": 1,
        "verified": 1,
        "undone": 1,
    }
    assert [(each["what"], each["objects"]) for each in found["causes"]] == [("network blue", 40), ("network red", 3)]
    assert [(each["by"], each["mode"], each["attempts"]) for each in found["approvers"]] == [
        (HOSTILE, "apply", 1),
        ("alice (as given)", "approve", 1),
    ]
    assert [each["by"] for each in found["takenBack"]] == ["ann"]
    assert found["cluster"] == "c-1"
    assert len(json.loads(report(capsys, told, "--since", "8d", *UNTIL, "-o", "json"))["written"]) == 4


@pytest.mark.parametrize("output", ["md", "html", "json"])
def test_the_same_ledger_and_time_give_the_same_report(
    capsys: pytest.CaptureFixture[str], told: Path, output: str
) -> None:
    first, second = (report(capsys, told, *UNTIL, "-o", output) for _ in range(2))
    assert first == second
    assert "alice" in first


class Seen(HTMLParser):
    """The tags of a page, what it refers to, and the texts of its cells."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.cells:
            self.cells[-1] += data


def test_html_is_one_file_and_names_of_others_are_text(capsys: pytest.CaptureFixture[str], told: Path) -> None:
    seen = Seen()
    seen.feed(report(capsys, told, *UNTIL, "-o", "html"))

    assert not seen.tags & {"script", "img", "link", "iframe"}
    assert not seen.attributes & {"src", "href", "onerror"}
    assert any("<script>alert(1)</script>|`x`\\u202e\n# gone" in cell for cell in seen.cells)


def test_markdown_has_the_tables_and_names_of_others_format_nothing(
    capsys: pytest.CaptureFixture[str], told: Path
) -> None:
    text = report(capsys, told, *UNTIL)
    rows = [line for line in text.splitlines() if line.startswith("| ")]

    assert "\u202e" not in text
    assert "<script>" not in text
    assert "# gone" not in text.splitlines()
    assert any("network red" in row and row.count(" | ") == 14 - 1 for row in rows)
    for row in rows:  # every line of a table has its columns, whatever is in a name
        assert row.endswith(" |")
    assert "## Taken back" in text


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("--since", "2027-01-01T00:00:00Z", *UNTIL), "--since 2027-01-01T00:00:00Z is not before --until"),
        (("--until", "soon"), "--until 'soon' is no time"),
    ],
)
def test_a_time_that_makes_no_sense_is_refused(
    capsys: pytest.CaptureFixture[str], told: Path, words: tuple[Any, ...], wrong: str
) -> None:
    assert main(["reconcile", "report", "--ledger", str(told), *words]) == 2
    assert wrong in capsys.readouterr().err


def test_nothing_is_reported_as_nothing(capsys: pytest.CaptureFixture[str], told: Path) -> None:
    text = report(capsys, told, "--since", "2026-01-01T00:00:00Z", "--until", "2026-01-02T00:00:00Z")
    assert "Nothing was done in this time." in text
    assert "Nothing was shadowed." in text


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
    found = json.loads(report(capsys, directory, *UNTIL, "-o", "json"))["canaries"]
    text, page = (report(capsys, directory, *UNTIL, "-o", output) for output in ("md", "html"))

    assert [(each["object"], each["why"], each["fingerprint"]) for each in found] == [
        ("IPAMClaim ns/a.blue", "the finding came back: flux did", "f-a"),
        ("IPAMClaim ns/b.blue", "the finding is there all the same: flux did", "f-b"),
    ]
    assert [each["remediation"] for each in found] == ["release_ipam_claim"] * 2
    assert [each["at"] - BEGAN for each in found] == [3600, 7800]
    assert [(each.get("resumed"), each.get("by")) for each in found] == [(BEGAN + 4200, "ann (as given)"), (None, None)]
    rows = [row for row in text.splitlines() if "flux did" in row]
    resumed = "2026-09-21T15:23:20Z by ann \\(as given\\): flux is out of it |"
    assert [row.rpartition(" | ")[2] for row in rows] == [resumed, "no |"]
    assert "Canaries that stopped" in page
    assert "2026-09-21T15:23:20Z by ann (as given): flux is out of it" in page


def test_a_canary_that_stopped_before_the_time_and_was_resumed_in_it_is_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    directory, time = stopped(tmp_path / "ledger"), ("--since", "2026-09-21T15:20:00Z", *UNTIL)
    resumed, both = (
        json.loads(report(capsys, directory, *words, "-o", "json"))["canaries"]
        for words in (("--since", time[1], "--until", "2026-09-21T15:30:00Z"), time)
    )
    assert [each["object"] for each in resumed] == ["IPAMClaim ns/a.blue"]
    assert len(both) == 2
