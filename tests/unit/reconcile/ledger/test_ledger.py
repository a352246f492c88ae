"""The ledger on real files: what it keeps, what it refuses, and how it says so."""

from __future__ import annotations

import json
import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from reconcile.ledger import Event, Ledger, LedgerError, Retention, verify
from reconcile.ledger.history import History
from tests.ledgers import opened, plan


def filled(directory: Path, count: int = 3) -> list[Path]:
    """A ledger in which so many attempts were done, closed; its files."""
    with opened(directory, max_bytes=2500) as ledger:
        for at in range(count):
            attempt = ledger.append(Event.INTENDED, plan=plan(f"c{at}"), mode="auto", whole={"at": at}).attempt
            ledger.append(Event.DONE, attempt=attempt)
    return sorted(directory.glob("*.jsonl"))


def test_an_attempt_is_kept_with_all_that_it_was(tmp_path: Path) -> None:
    request = {"method": "PATCH", "path": "/apis/…", "query": [["dryRun", "All"]], "body": [{"op": "remove"}]}
    with opened(tmp_path / "new" / "ledger") as ledger:
        made = ledger.append(
            Event.INTENDED, plan=plan(), mode="approve", by="admin", whole={"a": [1, None]}, request=request
        )
        assert made.attempt == f"{plan().hash}-1"
        assert ledger.unfinished() == [made]
        unclear = ledger.append(Event.UNCLEAR, attempt=made.attempt, why="no answer within 30 s")
        assert ledger.unfinished() == [made]
        resolved = ledger.append(Event.RESOLVED, attempt=made.attempt, happened=True)
        assert ledger.unfinished() == []
        paused = ledger.append(Event.PAUSED, scope="ns", by="admin")
        assert list(ledger.entries()) == [made, unclear, resolved, paused]
        assert made.plan == plan()
        assert made.at == 1000.5
    with opened(tmp_path / "new" / "ledger") as ledger:
        assert list(ledger.entries()) == [made, unclear, resolved, paused]
        assert ledger.append(Event.RESUMED, scope="ns").seq == 5
        assert ledger.verify() == []
    assert list(Ledger.read(tmp_path / "new" / "ledger"))[-1].event is Event.RESUMED


def test_an_unfinished_attempt_is_known_after_a_restart(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        made = [ledger.append(Event.INTENDED, plan=plan(name), whole={"name": name}) for name in "abc"]
        ledger.append(Event.FAILED, attempt=made[1].attempt, why="409 Conflict")
    with opened(tmp_path) as ledger:
        assert ledger.unfinished() == [made[0], made[2]]


def test_anybody_can_prove_the_chain(tmp_path: Path) -> None:
    previous = ""
    for path in filled(tmp_path):
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            assert sha256(line[:-74].encode() + b"}").hexdigest() == entry["sum"]
            assert entry.get("previous", "") == previous
            previous = entry["sum"]


def test_objects_are_for_the_owner_alone(tmp_path: Path) -> None:
    filled(tmp_path / "ledger")
    assert stat.S_IMODE((tmp_path / "ledger").stat().st_mode) == 0o700
    assert {stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "ledger").iterdir()} == {0o600}


@pytest.mark.parametrize(
    ("event", "fields", "why"),
    [
        (Event.INTENDED, {}, "needs its plan"),
        (Event.DONE, {"attempt": "x-1"}, "not under way"),
        (Event.UNCLEAR, {"attempt": "x-1"}, "not under way"),
        (Event.VERIFIED, {}, "name it"),
    ],
)
def test_what_makes_no_sense_is_not_appended(tmp_path: Path, event: Event, fields: dict[str, Any], why: str) -> None:
    with opened(tmp_path) as ledger:
        with pytest.raises(ValueError, match=why):
            ledger.append(event, **fields)
        attempt = ledger.append(Event.INTENDED, plan=plan()).attempt
        with pytest.raises(ValueError, match="by whether it happened"):
            ledger.append(Event.RESOLVED, attempt=attempt)
        ledger.append(Event.DONE, attempt=attempt)
        with pytest.raises(ValueError, match="not under way"):
            ledger.append(Event.FAILED, attempt=attempt)
        assert [each.event for each in ledger.entries()] == [Event.INTENDED, Event.DONE]


def nested(levels: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(levels):
        inner = {"a": inner}
    return inner


@pytest.mark.parametrize(
    "whole",
    [
        {"text": 'a\nb\r\n\u2028\u2029\x00\x1f"\\}\n{"seq":1}'},
        {"text": "x" * 2 * 2**20},
        {"text": '","sum":"' + "0" * 64 + '"}'},
        {"sum": "0" * 64, "previous": None},
        {"deep": nested(400)},
        {"number": 2**63, "more": 12345678901234567890123, "small": 5e-324, "name": "ünïcödé 🦆"},
    ],
    ids=["breaks", "2 MiB", "sum", "fields", "nested", "numbers"],
)
def test_hostile_objects_stay_whole(tmp_path: Path, whole: dict[str, Any]) -> None:
    with opened(tmp_path) as ledger:
        made = ledger.append(Event.INTENDED, plan=plan(), whole=whole, why="a\nb")
        ledger.append(Event.DONE, attempt=made.attempt)
    with opened(tmp_path) as ledger:
        assert next(iter(ledger.entries())).whole == whole
        assert ledger.verify() == []


@pytest.mark.parametrize("whole", [nested(501), nested(3000), {"a": "\ud800"}, {"a": object()}])
def test_what_cannot_be_kept_whole_is_refused_and_the_chain_goes_on(tmp_path: Path, whole: dict[str, Any]) -> None:
    with opened(tmp_path) as ledger:
        with pytest.raises(LedgerError, match="Nothing is written without a record"):
            ledger.append(Event.INTENDED, plan=plan(), whole=whole)
        assert ledger.unfinished() == []
        assert ledger.append(Event.INTENDED, plan=plan(), why="\udcff \ud800").why == "? ?"
        assert ledger.verify() == []


@pytest.mark.parametrize("event", [Event.DONE, Event.RESOLVED])
def test_what_came_of_a_write_is_recorded_even_without_the_object(tmp_path: Path, event: Event) -> None:
    with opened(tmp_path) as ledger:
        attempt = ledger.append(Event.INTENDED, plan=plan()).attempt
        ended = ledger.append(event, attempt=attempt, happened=True, whole=nested(501), why="read back")
        assert (ended.whole, ended.why) == (
            None,
            "read back; the object can't be recorded: it is nested deeper than 500 levels",
        )
        assert ledger.unfinished() == []
        assert list(ledger.entries())[-1] == ended


def test_files_are_rotated_and_one_larger_entry_has_its_own(tmp_path: Path) -> None:
    with opened(tmp_path, max_bytes=4000) as ledger:
        for at in range(6):
            ledger.append(Event.PAUSED, scope=f"ns-{at}", why="x" * (9000 if at == 3 else 1500))
        assert ledger.verify() == []
    sizes = [path.stat().st_size for path in sorted(tmp_path.glob("*.jsonl"))]
    assert [size < 4000 for size in sizes] == [True, True, False, True]
    with opened(tmp_path) as ledger:
        assert [each.seq for each in ledger.entries()] == [1, 2, 3, 4, 5, 6]


def numbers(directory: Path) -> list[int]:
    return sorted(int(path.stem[-6:]) for path in directory.glob("*.jsonl"))


def attempt(ledger: Ledger, *, finish: bool = True) -> str:
    found = ledger.append(Event.INTENDED, plan=plan()).attempt
    if finish:
        ledger.append(Event.DONE, attempt=found)
    return found


def test_old_files_go_by_size_and_an_open_attempt_is_known_without_them(tmp_path: Path) -> None:
    def remembered(directory: Path, size: int) -> tuple[Ledger, History]:
        ledger, history = opened(directory, max_bytes=1, retention=Retention(max_size=size)), History()
        ledger.recall(history=history)
        return ledger, history

    ledger, history = remembered(tmp_path, 20_000)
    with ledger:
        open_one = ledger.append(Event.INTENDED, plan=plan(), whole={"of": "it"})
        history.add(open_one)
        history.add(ledger.append(Event.PAUSED, scope="ns", why="a reason"))
        while numbers(tmp_path)[0] <= 2:
            for event in (Event.RESUMED, Event.PAUSED):
                history.add(ledger.append(event, scope="other"))
        assert sum(path.stat().st_size for path in tmp_path.glob("*.jsonl")) <= 20_000
        assert next(each.seq for each in ledger.entries()) > 2
        assert ledger.intended(open_one.attempt) is None
        assert ledger.verify() == []
    ledger, history = remembered(tmp_path, 20_000)
    with ledger:
        (found,) = ledger.unfinished()
        assert (found.attempt, found.plan, found.whole) == (open_one.attempt, open_one.plan, {"of": "it"})
        pause = history.paused("ns")
        assert pause is not None
        assert pause.why == "a reason"
        ledger.append(Event.RESOLVED, attempt=open_one.attempt, happened=False)
        assert ledger.unfinished() == []
    assert verify(tmp_path) == []


def test_old_files_go_by_age(tmp_path: Path) -> None:
    now = 1000.0
    retention = Retention(max_age=100.0)
    with Ledger.open(tmp_path, clock=lambda: now, max_bytes=1, retention=retention) as ledger:
        history = History(clock=lambda: now)
        ledger.recall(history=history)
        for _ in range(5):
            history.add(ledger.append(Event.RESUMED))
            now += 40.0
        assert numbers(tmp_path) == [2, 3, 4, 5]  # of the first one the entry is older, when the last one comes
        assert [each.seq for each in ledger.entries()] == [2, 3, 4, 5]
        assert ledger.verify() == []
    now += 1000.0
    with Ledger.open(tmp_path, clock=lambda: now, max_bytes=1, retention=retention) as ledger:
        assert numbers(tmp_path) == [2, 3, 4, 5]
        ledger.recall(history=History(clock=lambda: now))
        assert numbers(tmp_path) == [5]


def test_nothing_goes_that_its_readers_still_need(tmp_path: Path) -> None:
    """Of entries that a reader did not get, nothing can be carried."""
    with opened(tmp_path, max_bytes=1, retention=Retention(max_size=1)) as ledger:
        ledger.append(Event.PAUSED, scope="ns")
        ledger.recall(history=History())
        for _ in range(3):
            ledger.append(Event.RESUMED)
        assert numbers(tmp_path) == [1, 2, 3, 4][1:]
    history = History()
    with opened(tmp_path) as ledger:
        ledger.recall(history=history)
    assert history.paused("ns") is not None


def test_unless_it_is_said_all_files_stay(tmp_path: Path) -> None:
    with opened(tmp_path, max_bytes=1) as ledger:
        ledger.recall(history=History())
        for at in range(20):
            ledger.append(Event.PAUSED, scope=f"{at}")
    assert numbers(tmp_path) == list(range(1, 21))


def test_a_second_writer_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        with pytest.raises(LedgerError, match=f"process {os.getpid()} writes it"):
            opened(tmp_path)
        ledger.append(Event.PAUSED)
        assert [each.event for each in Ledger.read(tmp_path)] == [Event.PAUSED]
    opened(tmp_path).close()


def test_a_reader_sees_what_is_complete_while_a_line_is_written(tmp_path: Path) -> None:
    path = filled(tmp_path, 1)[0]
    with path.open("ab") as file:
        file.write(b'{"seq":3,"at":1')
        file.flush()
        assert [each.seq for each in Ledger.read(tmp_path)] == [1, 2]
        assert verify(tmp_path) == []


def test_a_reader_goes_on_over_files_that_come_and_go(tmp_path: Path) -> None:
    with opened(tmp_path, max_bytes=1, retention=Retention(max_size=2000)) as ledger:
        history = History()
        ledger.recall(history=history)
        for _ in range(3):
            history.add(ledger.append(Event.RESUMED))
        read = Ledger.read(tmp_path)
        assert next(read).seq == 1
        for _ in range(8):
            history.add(ledger.append(Event.RESUMED))
        first, *rest = [each.seq for each in read]
        assert first > 4
        assert [first, *rest] == list(range(first, 12))


# What is altered.


@pytest.mark.parametrize("line", [0, 1, 2])
def test_an_altered_line_is_named_and_nothing_is_appended(tmp_path: Path, line: int) -> None:
    path = filled(tmp_path)[0]
    lines = path.read_bytes().splitlines(keepends=True)
    lines[line] = lines[line].replace(b'"event":"', b'"event": "')
    path.write_bytes(b"".join(lines))
    where = f"line {line + 1} of {path} can't be used: it was altered"
    (sentence,) = verify(tmp_path)
    assert sentence.startswith(where)
    assert "restore it from a backup" in sentence
    for read in (lambda: list(Ledger.read(tmp_path)), lambda: opened(tmp_path)):
        with pytest.raises(LedgerError, match="was altered"):
            read()


@pytest.mark.parametrize("change", ["cut", "taken out", "twice", "swapped", "no JSON", "empty"])
def test_a_line_in_the_middle_that_is_not_as_written_is_an_error(tmp_path: Path, change: str) -> None:
    path = filled(tmp_path)[0]
    first, second, *rest = path.read_bytes().splitlines(keepends=True)
    assert rest
    changed = {
        "cut": [first, second[:50]],
        "taken out": [first],
        "twice": [first, second, second],
        "swapped": [second, first],
        "no JSON": [first, b"\x00\xff\n"],
        "empty": [first, b"\n", second],
    }[change]
    path.write_bytes(b"".join((*changed, *rest)))
    before = path.read_bytes()
    assert any(str(path) in sentence for sentence in verify(tmp_path))
    with pytest.raises(LedgerError, match=str(path)):
        opened(tmp_path)
    assert path.read_bytes() == before


def test_a_line_of_another_ledger_is_noticed_although_its_checksum_is_right(tmp_path: Path) -> None:
    path = filled(tmp_path / "one")[0]
    with opened(tmp_path / "third") as ledger:
        ledger.append(Event.PAUSED, why="another first entry")
        ledger.append(Event.RESUMED)
    theirs = (tmp_path / "third" / path.name).read_bytes().splitlines(keepends=True)
    ours = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([ours[0], theirs[1], *ours[2:]]))
    assert [sentence.partition(" has entry")[0] for sentence in verify(tmp_path / "one")] == [
        f"line 2 of {path}",
        f"line 3 of {path}",
    ]
    with pytest.raises(LedgerError, match="doesn't follow entry 1"):
        opened(tmp_path / "one")


@pytest.mark.parametrize("gone", [0, 1, -1])
def test_a_missing_file_is_named(tmp_path: Path, gone: int) -> None:
    path = filled(tmp_path, 5)[gone]
    path.unlink()
    assert [sentence.partition(";")[0] for sentence in verify(tmp_path)] == [f"{path} is missing"]
    for read in (lambda: list(Ledger.read(tmp_path)), lambda: opened(tmp_path)):
        with pytest.raises(LedgerError, match=f"{path} is missing"):
            read()


def test_a_line_cut_off_at_the_end_of_an_older_file_is_an_error(tmp_path: Path) -> None:
    first, *_ = filled(tmp_path)
    first.write_bytes(first.read_bytes()[:-20])
    assert str(first) in verify(tmp_path)[0]
    with pytest.raises(LedgerError, match=str(first)):
        opened(tmp_path)


def test_a_ledger_of_which_not_all_can_be_known_is_none(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match=r"nothing-here: No such file.* name the ledger's directory"):
        list(Ledger.read(tmp_path / "nothing-here"))
    assert "nothing-here" in verify(tmp_path / "nothing-here")[0]
    filled(tmp_path)
    (tmp_path / "ledger.json").write_text("[]", encoding="utf-8")
    assert "ledger.json" in verify(tmp_path)[0]
    with pytest.raises(LedgerError, match=r"ledger\.json"):
        opened(tmp_path)
