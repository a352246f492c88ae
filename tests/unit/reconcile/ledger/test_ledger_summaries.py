"""What is carried from file to file: a start knows as much as if it read all entries, in little memory."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reconcile.carry_out.outcomes import AttemptOutcomes
from reconcile.cli.ledger_pages import history_of
from reconcile.ledger import Entry, Event, Ledger, LedgerError, Retention
from reconcile.ledger.history import History
from reconcile.ledger.manual import folder
from tests.ledgers import plan
from tests.shared import REPO

from ....ledgers import ENTRIES_OF_ONE, Unsynced, long_ledger

DAY = 86_400.0
NOW = 1_790_000_000.0
MODES = ("auto", "approve", "undo")
STEPS = st.lists(st.tuples(st.sampled_from(list(Event)), st.integers(0, 3), st.booleans()), max_size=25)


def known(history: History) -> dict[str, Any]:
    return {name: value for name, value in vars(history).items() if name != "_clock"}


def append(ledger: Ledger, step: tuple[Event, int, bool], begun: list[str]) -> Entry | None:
    event, number, happened = step
    fields: dict[str, Any] = {"why": f"by {number}"}
    if event is Event.INTENDED:
        mode = MODES[number % 3]
        fields |= {"plan": plan(f"c{number}"), "mode": mode, "undoes": "x" if mode == "undo" else "", "by": f"{number}"}
        fields["whole"] = {"of": number}
    elif event in (Event.PAUSED, Event.RESUMED):
        fields["scope"] = ("", "ns", "IPAMClaim ns/c1", "IPAMClaim ns/c2")[number]
    else:
        fields |= {"attempt": begun[number % len(begun)] if begun else "none", "happened": happened}
    try:
        return ledger.append(event, **fields)
    except ValueError:
        return None  # it makes no sense there


@given(STEPS, st.integers(1, 4000))
def test_a_start_knows_what_whoever_read_all_of_it_knows(steps: list[tuple[Event, int, bool]], max_bytes: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        now = NOW
        begun: list[str] = []
        with Ledger.open(Path(folder), clock=lambda: now, disk=Unsynced(), max_bytes=max_bytes) as ledger:
            history, following = History(keep=DAY, clock=lambda: now), AttemptOutcomes(keep=DAY)
            ledger.recall(history=history, following=following)
            for step in steps:
                now += 60.0
                if (entry := append(ledger, step, begun)) is not None:
                    begun += [entry.attempt] if entry.event is Event.INTENDED else []
                    history.add(entry)
                    following.add(entry)
            everything = list(ledger.entries())
            unfinished = [(each.attempt, each.whole) for each in ledger.unfinished()]
        with Ledger.open(Path(folder), clock=lambda: now, disk=Unsynced(), max_bytes=max_bytes) as ledger:
            again, followed = History(keep=DAY, clock=lambda: now), AttemptOutcomes(keep=DAY)
            ledger.recall(history=again, following=followed)
            assert [(each.attempt, each.whole) for each in ledger.unfinished()] == unfinished
        whole = History(keep=DAY)
        for entry in everything:
            whole.add(entry)
        assert known(again) == known(history) == known(whole)
        assert vars(followed) == vars(following) == vars(AttemptOutcomes(everything, keep=DAY))


def recalled(directory: Path, now: float, keep: float = DAY) -> tuple[History, AttemptOutcomes]:
    history, following = History(keep=keep, clock=lambda: now), AttemptOutcomes(keep=keep)
    with Ledger.open(directory, clock=lambda: now, disk=Unsynced()) as ledger:
        ledger.recall(history=history, following=following)
    history.forget(now)
    return history, following


def test_who_is_to_look_back_further_than_before_reads_further(tmp_path: Path) -> None:
    """The setting is `editWar.within`."""
    now = long_ledger(tmp_path, 60, days=30.0, max_bytes=60_000)
    _, following = recalled(tmp_path, now)
    assert len(following.due(now, 0.0, found(60))) == 3
    _, following = recalled(tmp_path, now, keep=10 * DAY)
    assert len(following.due(now, 0.0, found(60))) == 21


def found(attempts: int) -> set[str]:
    return {f"{number:016x}" for number in range(attempts)}


def test_what_is_carried_does_not_grow_with_the_ledger(tmp_path: Path) -> None:
    long_ledger(tmp_path, 400, days=400.0, max_bytes=200_000)
    first = (json.loads(path.read_bytes().splitlines()[0]) for path in sorted(tmp_path.glob("*.jsonl")))
    sizes = [len(json.dumps(each["opens"]["carried"])) for each in first]
    assert len(sizes) > 15
    assert max(sizes) < 2 * sizes[2]


def test_an_attempt_can_be_looked_up_in_any_file(tmp_path: Path) -> None:
    long_ledger(tmp_path, 40, max_bytes=60_000)
    with Ledger.open(tmp_path, clock=lambda: NOW, disk=Unsynced()) as ledger:
        for entry in ledger.entries():
            intended = ledger.intended(entry.attempt)
            assert intended is not None
            assert (intended.event, intended.attempt) == (Event.INTENDED, entry.attempt)
            assert ledger.sum_at(entry.seq) == entry.sum
        assert ledger.intended("3f9c2a-9999") is None
        assert ledger.intended("by hand") is None
        assert ledger.sum_at(9999) is None


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """1,500 attempts: their objects take 150 MiB where all are kept."""
    directory = tmp_path_factory.mktemp("long")
    return directory, long_ledger(directory, 1500, max_bytes=2 * 2**20)


@pytest.mark.parametrize("what", ["start", "list of 50", "verify"])
def test_it_is_read_in_little_memory(long: tuple[Path, float], what: str) -> None:
    directory, now = long
    assert sum(path.stat().st_size for path in directory.iterdir()) > 15 * 2**20
    command = [sys.executable, "-m", "bench.ledger", "--measure", what, str(directory), str(now)]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=True, timeout=120)
    figures = json.loads(done.stdout)
    assert figures["found"] == {"start": 17, "list of 50": 50, "verify": 1500 * ENTRIES_OF_ONE}[what]
    assert figures["memory, peak (MiB)"] < 24


class OfLater(History):
    """A release that carries something else."""

    def carried(self) -> bytes:
        return b'{"keep": 1e9, "new": true}'


def test_what_another_release_carries_is_not_taken_for_nothing(tmp_path: Path) -> None:
    with Ledger.open(tmp_path, clock=lambda: NOW, disk=Unsynced(), max_bytes=1) as ledger:
        history: History = OfLater(clock=lambda: NOW)
        ledger.recall(history=history)
        for scope in ("a", "b", "c"):
            history.add(ledger.append(Event.PAUSED, scope=scope))
    with Ledger.open(tmp_path, clock=lambda: NOW, disk=Unsynced()) as ledger:
        whole = History(clock=lambda: NOW)
        ledger.recall(history=whole)
        assert all(whole.paused(scope) for scope in "abc")
    with Ledger.open(tmp_path, clock=lambda: NOW, disk=Unsynced(), retention=Retention(max_size=1)) as ledger:
        ledger.recall(history=OfLater(clock=lambda: NOW))  # removes all but the newest file
        assert next(ledger.entries()).seq == 3
        with pytest.raises(LedgerError, match=r"records about earlier entries can't be read.*Use the release"):
            ledger.recall(history=History(clock=lambda: NOW))


def test_a_person_knows_of_removed_entries_what_was_carried(tmp_path: Path) -> None:
    """Limits, pauses and edit wars hold for `apply`, too."""
    retention = Retention(max_size=1)
    with Ledger.open(tmp_path, clock=lambda: NOW, disk=Unsynced(), max_bytes=1, retention=retention) as ledger:
        history = History(clock=lambda: NOW)
        ledger.recall(history=history)
        history.add(ledger.append(Event.PAUSED, scope="ns", why="a reason"))
        intended = ledger.append(Event.INTENDED, plan=plan(), mode="auto")
        for entry in (intended, ledger.append(Event.DONE, attempt=intended.attempt)):
            history.add(entry)
        history.add(ledger.append(Event.RESUMED, scope="other"))
        assert [each.seq for each in ledger.entries()] == [4]
    with Ledger.open(folder(tmp_path), clock=lambda: NOW, disk=Unsynced()) as by_hand:
        by_hand.append(Event.INTENDED, plan=plan("other"), mode="apply")
    found = history_of(tmp_path, NOW + 60.0)
    assert found.paused("ns") is not None
    assert found.executed(NOW - 1.0) == [NOW, NOW]
