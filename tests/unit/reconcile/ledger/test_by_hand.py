"""What people took back in the sidecar's pod counts for its metrics."""

from __future__ import annotations

from pathlib import Path

import pytest
from prometheus_client import generate_latest

from exporter.__main__ import main
from reconcile.carry_out.metrics import Measures, ShownRepairs
from reconcile.cli.writing import opened
from reconcile.ledger import Event, Ledger, LedgerError
from reconcile.ledger.manual import ManualLedger, folder
from reconcile.plan.remediations import all_remediations
from tests.confirming import MemoryReads, confirmed, hint_of
from tests.evaluation import NOW
from tests.rows import full

ABOUT = {"check": "ipam_claims", "reason": "OrphanClaim", "kind": "IPAMClaim", "subject": "db.blue"}


def test_what_was_taken_back_is_counted_once_it_is_done(tmp_path: Path) -> None:
    objects = [
        full({"kind": "Namespace", "name": "ns"}),
        full({"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.5/24"]}),
    ]
    remediation = next(each for each in all_remediations() if each.id == "delete_orphan_ipam_claim")
    made = confirmed(remediation, hint_of(ABOUT, objects), MemoryReads(objects))
    by_hand, measures = ManualLedger(tmp_path), Measures(all_remediations(), {}, ShownRepairs())
    sample = 'kubevirt_steward_repairs_undone_total{remediation="delete_orphan_ipam_claim"}'

    def shown() -> float:
        measures.standing.undone = by_hand.undone()
        lines = generate_latest(measures.registry).decode().splitlines()
        return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(sample))

    assert shown() == 0
    with Ledger.open(folder(tmp_path), clock=lambda: NOW) as ledger:
        intended = ledger.append(Event.INTENDED, plan=made.plan, mode="undo", whole={}, undoes="another")  # type: ignore[union-attr]
        assert shown() == 0
        ledger.append(Event.DONE, attempt=intended.attempt)
        assert shown() == 1
        other = ledger.append(Event.INTENDED, plan=made.plan, mode="apply", whole={})  # type: ignore[union-attr]
        ledger.append(Event.DONE, attempt=other.attempt)
        assert shown() == 1


def test_a_person_writes_beside_the_sidecar_that_holds_the_ledger(tmp_path: Path) -> None:
    with Ledger.open(tmp_path, clock=lambda: NOW), opened(tmp_path, "u1") as ledger:
        assert ledger.directory == folder(tmp_path)


def test_a_ledger_that_was_altered_is_not_passed_over(tmp_path: Path) -> None:
    with Ledger.open(tmp_path, clock=lambda: NOW) as ledger:
        ledger.append(Event.PAUSED, scope="", why="a")
        ledger.append(Event.PAUSED, scope="", why="b")
    (file,) = tmp_path.glob("*.jsonl")
    file.write_text(file.read_text("utf-8").replace('"why":"a"', '"why":"c"'), encoding="utf-8")

    with pytest.raises(LedgerError), opened(tmp_path, "u1"):
        pass
    assert not folder(tmp_path).exists()


def test_what_people_did_is_proven_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for each in (tmp_path, folder(tmp_path)):
        with Ledger.open(each, clock=lambda: NOW) as ledger:
            ledger.append(Event.PAUSED, scope="", why="a")
            ledger.append(Event.PAUSED, scope="", why="b")
    verify = ["reconcile", "ledger", "--ledger", str(tmp_path), "--verify"]
    assert main(verify) == 0
    assert capsys.readouterr().out.count("unbroken from entry 1 to entry 2") == 2
    (file,) = folder(tmp_path).glob("*.jsonl")
    file.write_text(file.read_text("utf-8").replace('"why":"a"', '"why":"c"'), encoding="utf-8")

    assert main(verify) == 1
    said = capsys.readouterr().out
    assert said.count("unbroken from entry 1 to entry 2") == 1
    assert f"Its second ledger, of commands of people ({folder(tmp_path)}): " in said
    assert "was altered" in said


def test_a_last_line_that_is_cut_off_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Ledger.open(tmp_path, clock=lambda: NOW) as ledger:
        ledger.append(Event.PAUSED, scope="", why="a")
        ledger.append(Event.PAUSED, scope="", why="b")
    (file,) = tmp_path.glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-50])

    assert main(["reconcile", "ledger", "--ledger", str(tmp_path), "--verify"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("1 entry, unbroken from entry 1 to entry 1")
    assert f"The last line of {file.name} has no end and is not counted" in said


@pytest.mark.parametrize("verb", ["pause", "resume"])
@pytest.mark.parametrize("given", [["-n", ""], ["", "ns/db"], ["VirtualMachine", ""]])
def test_an_empty_name_is_not_everything(verb: str, given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """As of a variable that is not set."""
    assert main(["reconcile", verb, *given]) == 2
    assert f"a name is empty. To {verb} everything, omit all names" in capsys.readouterr().err
