"""After a write it could not be seen whether something uses what it released: an outcome of its own, and no failure."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from exporter.__main__ import main
from reconcile.ledger import Event, Ledger
from reconcile.ledger.history import History
from reconcile.ledger.manual import ManualLedger, folder
from tests.ledgers import plan
from tests.repairs import NOW, entry, written

WHY = (
    "who uses what it released can't be seen: remediation x can't see pods: 503 away. "
    "Check by hand whether the address is in use"
)


def told(attempt: str, *, happened: bool | None = True) -> History:
    """Unclear at first, and at its end."""
    begun, *_ = written(1, NOW - 60, canary="auto")
    at_first = entry("unclear", attempt=attempt, happened=happened, why=WHY)
    return History.of([begun, at_first, entry("unseen", attempt=attempt, why=WHY)], NOW)


def test_it_is_neither_a_failure_nor_a_strike_nor_in_use() -> None:
    history = told("a1")
    assert [each.id for each in history.unfinished()] == ["a1"]  # the end is an entry of its own
    assert history.canary("repair").strike is None
    assert (history.failures("repair").count, history.in_use(0.0), history.unseen(0.0)) == (0, 0, 1)

    history.add(entry("resolved", attempt="a1", happened=True))
    assert history.unfinished() == []
    assert history.canary("repair").strike is None
    assert history.failures("repair").count == 0
    assert history.executed(NOW - 3600) == [NOW - 60]


def test_a_write_of_which_nobody_knows_whether_it_happened_is_a_failure_as_before() -> None:
    assert told("a1", happened=None).failures("repair").count == 1


def test_it_is_carried_for_a_day_and_what_an_earlier_release_carried_is_read() -> None:
    history, again = told("a1"), History()
    again.restore(history.carried())
    assert again.unseen(NOW - 86_400) == 1
    again.forget(NOW + 86_401)
    assert again.unseen(0.0) == 0

    earlier = {name: each for name, each in msgspec.json.decode(history.carried()).items() if name != "unseen"}
    again.restore(msgspec.json.encode(earlier))
    assert again.unseen(0.0) == 0


@pytest.mark.parametrize(("event", "said"), [(Event.UNSEEN, "use of the address unknown"), (Event.IN_USE, "in use")])
def test_the_list_and_the_attempt_say_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, event: Event, said: str
) -> None:
    with Ledger.open(tmp_path / "ledger", clock=lambda: NOW) as ledger:
        attempt = ledger.append(Event.INTENDED, plan=plan(), mode="auto").attempt
        ledger.append(event, attempt=attempt, why=WHY)
        ledger.append(Event.RESOLVED, attempt=attempt, happened=True)
        ledger.append(Event.VERIFIED, attempt=attempt)
    asked = ["reconcile", "ledger", "--ledger", str(tmp_path / "ledger")]
    assert main(asked) == 0
    _, row = capsys.readouterr().out.splitlines()
    assert f"  verified, {said}  " in row
    assert main([*asked, attempt]) == 0
    out = capsys.readouterr().out
    assert event.value in out
    assert WHY in " ".join(out.split())


def test_an_undo_that_is_unclear_for_a_while_is_counted_once(tmp_path: Path) -> None:
    with Ledger.open(folder(tmp_path), clock=lambda: NOW) as ledger:
        made = plan()
        attempt = ledger.append(Event.INTENDED, plan=made, mode="undo", by="ann", undoes="a0").attempt
        ledger.append(Event.UNCLEAR, attempt=attempt, happened=True, why=WHY)
        ledger.append(Event.UNSEEN, attempt=attempt, why=WHY)
        ledger.append(Event.RESOLVED, attempt=attempt, happened=True)
    by_hand = ManualLedger(tmp_path)
    assert by_hand.undone() == {made.remediation: 1}
    assert by_hand.takers() == {"a0": attempt}
