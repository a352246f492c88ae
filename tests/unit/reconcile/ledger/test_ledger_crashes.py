"""The ledger when the process, the disk or the power goes: nothing is lost that `append` returned for."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from reconcile.ledger import Entry, Event, Ledger, LedgerError, Retention, verify
from reconcile.ledger.history import History
from reconcile.ledger.writer import Disk
from tests.ledgers import Power, PowerLossError, opened, plan

KEPT = Retention(max_size=6000)


def attempts(ledger: Ledger, returned: list[Entry], history: History, count: int = 4) -> None:
    for at in range(count):
        returned.append(ledger.append(Event.INTENDED, plan=plan(f"c{at}"), whole={"text": "x" * 300}))
        history.add(returned[-1])
        returned.append(ledger.append(Event.DONE, attempt=returned[-1].attempt))
        history.add(returned[-1])


def test_a_line_that_is_cut_off_at_any_byte_is_moved_aside(tmp_path: Path) -> None:
    with opened(tmp_path / "whole") as ledger:
        made = ledger.append(Event.INTENDED, plan=plan())
        ledger.append(Event.DONE, attempt=made.attempt, whole={"a": "\n€"}, why="the last one")
    content = (tmp_path / "whole" / "ledger-000001.jsonl").read_bytes()
    last = content.index(b"\n") + 1
    for size in range(last, len(content)):
        directory = tmp_path / "cut"
        shutil.copytree(tmp_path / "whole", directory)
        (directory / "ledger-000001.jsonl").write_bytes(content[:size])
        with opened(directory) as ledger:
            complete = size == len(content) - 1  # but for the line break
            torn = [path.read_bytes() for path in directory.glob("*.torn")]
            assert torn == ([] if complete or size == last else [content[last:size]]), size
            assert ledger.unfinished() == ([] if complete else [made]), size
            ledger.append(Event.PAUSED)
            assert ledger.verify() == []
            events = [each.event for each in ledger.entries()]
            assert events == [Event.INTENDED, *([Event.DONE] if complete else []), Event.PAUSED], size
        shutil.rmtree(directory)


def test_blocks_that_were_never_written_are_torn_too_and_each_is_kept(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.append(Event.PAUSED)
    path = tmp_path / "ledger-000001.jsonl"
    before = path.read_bytes()
    for tail in (bytes(4096), b'{"seq":2' + bytes(5000) + b'"}\n'):
        path.write_bytes(before + tail)
        with opened(tmp_path) as ledger:
            assert len(list(ledger.entries())) == 1
    assert sorted(len(each.read_bytes()) for each in tmp_path.glob("*.torn")) == [4096, 5011]
    assert path.read_bytes() == before


@pytest.mark.parametrize("synced_only", [True, False])
def test_whenever_the_power_goes_what_was_returned_is_there(tmp_path: Path, *, synced_only: bool) -> None:
    """Rotated twice, with files removed: every operation on the disk is the last one once."""
    losses = 0
    while True:
        directory = tmp_path / f"{losses}"
        directory.mkdir()
        disk = Power(directory, losses)
        returned: list[Entry] = []
        lost = False
        try:
            with opened(directory, disk=disk, max_bytes=2500, retention=KEPT, cluster="u1") as ledger:
                history = History()
                ledger.recall(history=history)
                attempts(ledger, returned, history)
        except PowerLossError:
            lost = True
        if not lost:
            disk.release()
            break
        if synced_only:
            disk.lose()
        disk.release()
        with opened(directory, max_bytes=2500, retention=KEPT, cluster="u1") as ledger:
            history = History()
            ledger.recall(history=history)
            done = [each.attempt for each in returned if each.event is Event.INTENDED]
            assert len(done) <= len(history.executed(0)) <= len(done) + 1, losses  # nothing is forgotten with a file
            there = [each for each in ledger.entries() if each.seq <= len(returned)]
            assert there == returned[-len(there) :] if there else not returned, losses
            assert ledger.verify() == []
            assert len(ledger.unfinished()) <= 1
            ledger.append(Event.PAUSED)
        assert verify(directory) == []
        losses += 1
    assert losses > 30
    assert not (directory / "ledger-000001.jsonl").exists()


@pytest.mark.parametrize("tail", [b'{"seq":2,"at":10', bytes(4096)])
def test_the_power_may_go_again_while_a_torn_line_is_moved_aside(tmp_path: Path, tail: bytes) -> None:
    for at in range(20):
        directory = tmp_path / f"{at}"
        with opened(directory) as ledger:
            made = ledger.append(Event.PAUSED)
        with (directory / "ledger-000001.jsonl").open("ab") as file:
            file.write(tail)
        disk = Power(directory, at)
        lost = False
        try:
            opened(directory, disk=disk).close()
        except PowerLossError:
            lost = True
        disk.lose()
        with opened(directory) as ledger:
            assert list(ledger.entries()) == [made]
        assert {each.read_bytes() for each in directory.glob("*.torn")} - {b""} == {tail}, at
        if not lost:
            break
    assert 5 < at < 19


def test_an_entry_is_synced_before_append_returns_and_the_name_of_a_file_before_its_first_entry(tmp_path: Path) -> None:
    done: list[str] = []

    class Noting(Disk):
        def create(self, path: Path) -> int:
            done.append(f"create {path.name}")
            return super().create(path)

        def write(self, file: int, content: bytes) -> None:
            done.append(f"write {Path(os.readlink(f'/proc/self/fd/{file}')).name}")
            super().write(file, content)

        def sync(self, file: int) -> None:
            super().sync(file)
            done.append(f"sync {Path(os.readlink(f'/proc/self/fd/{file}')).name}")

        def sync_directory(self, path: Path) -> None:
            super().sync_directory(path)
            done.append("sync directory")

    with opened(tmp_path, disk=Noting(), max_bytes=1) as ledger:
        ledger.append(Event.PAUSED)
        done.clear()
        ledger.append(Event.RESUMED)
        name = "ledger-000002.jsonl"
        assert done[:3] == [f"create {name}", f"sync {name}", "sync directory"]
        assert done[-2:] == [f"write {name}", f"sync {name}"]


CHILD = """
import sys
from pathlib import Path
from reconcile.ledger import Event, Ledger
from tests.ledgers import plan

with Ledger.open(Path(sys.argv[1]), clock=lambda: 1.0, max_bytes=20_000) as ledger:
    while True:
        made = ledger.append(Event.INTENDED, plan=plan(), whole={"text": "x" * 5000})
        print(made.seq, flush=True)
        print(ledger.append(Event.DONE, attempt=made.attempt).seq, flush=True)
"""


def test_a_process_that_is_killed_has_recorded_what_it_says(tmp_path: Path) -> None:
    last = 0
    for _ in range(5):
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(tmp_path)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        said = [int(child.stdout.readline()) for _ in range(25)]
        child.send_signal(signal.SIGKILL)
        said += [int(line) for line in child.stdout.read().splitlines(keepends=True) if line.endswith(b"\n")]
        child.wait()
        child.stdout.close()
        with opened(tmp_path) as ledger:
            there = [each.seq for each in ledger.entries()]
            assert there == list(range(1, len(there) + 1))
            assert len(there) - said[-1] in (0, 1)
            assert said[0] == last + 1
            assert ledger.verify() == []
            for each in ledger.unfinished():
                ledger.append(Event.RESOLVED, attempt=each.attempt, happened=False)
            last = len(list(ledger.entries()))


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_without_space_nothing_half_stays_and_it_goes_on_when_there_is_some(tmp_path: Path) -> None:
    with opened(tmp_path) as ledger:
        ledger.append(Event.PAUSED)
        assert ledger.writable
        path = tmp_path / "ledger-000001.jsonl"
        before = path.read_bytes()
        with files_of_at_most(len(before) + 100):
            with pytest.raises(LedgerError, match=r"File too large; raise the limit.*No repair is carried out"):
                ledger.append(Event.INTENDED, plan=plan(), whole={"text": "x" * 1000})
            assert path.read_bytes() == before
            assert "File too large" in ledger.probe()
            assert not ledger.writable
        assert ledger.unfinished() == []
        assert ledger.probe() == ""
        assert ledger.append(Event.INTENDED, plan=plan()).seq == 2
        assert ledger.verify() == []
        assert not list(tmp_path.glob("*.probe"))


class Failing(Disk):
    """Fails the operations that are named, as a full or broken disk does."""

    def __init__(self) -> None:
        self.fails: dict[str, int] = {}

    def _operate(self, name: str) -> None:
        if name in self.fails:
            raise OSError(self.fails[name], os.strerror(self.fails[name]))

    def create(self, path: Path) -> int:
        self._operate("create")
        return super().create(path)

    def write(self, file: int, content: bytes) -> None:
        if "write" in self.fails:
            super().write(file, content[:10])
        self._operate("write")
        super().write(file, content)

    def sync(self, file: int) -> None:
        self._operate("sync")
        super().sync(file)

    def truncate(self, file: int, size: int) -> None:
        self._operate("truncate")
        super().truncate(file, size)

    def rename(self, source: Path, target: Path) -> None:
        self._operate("rename")
        super().rename(source, target)


@pytest.mark.parametrize("operation", ["create", "write", "rename"])
def test_a_full_disk_refuses_one_entry_and_the_next_goes_on(tmp_path: Path, operation: str) -> None:
    disk = Failing()
    with opened(tmp_path, disk=disk, max_bytes=1) as ledger:
        ledger.append(Event.PAUSED)
        for _ in range(3):
            disk.fails = {operation: errno.ENOSPC}
            with pytest.raises(LedgerError, match="No space left on device; free some space"):
                ledger.append(Event.RESUMED)
            disk.fails = {}
        assert ledger.append(Event.RESUMED).seq == 2
        assert ledger.verify() == []
    with opened(tmp_path) as ledger:
        assert [each.seq for each in ledger.entries()] == [1, 2]


def test_after_a_failed_sync_nothing_is_appended_until_it_is_read_again(tmp_path: Path) -> None:
    disk = Failing()
    with opened(tmp_path, disk=disk) as ledger:
        ledger.append(Event.PAUSED)
        disk.fails = {"sync": errno.EIO}
        with pytest.raises(LedgerError, match="Input/output error"):
            ledger.append(Event.INTENDED, plan=plan())
        disk.fails = {}
        assert "fsync failed" in ledger.probe()
        with pytest.raises(LedgerError, match="Reopen the ledger"):
            ledger.append(Event.PAUSED)
    with opened(tmp_path) as ledger:
        assert len(ledger.unfinished()) == 1  # it is resolved by a look at the object


def test_half_a_line_that_cannot_be_taken_back_is_torn_for_the_next_one(tmp_path: Path) -> None:
    disk = Failing()
    with opened(tmp_path, disk=disk) as ledger:
        ledger.append(Event.PAUSED)
        disk.fails = {"write": errno.EIO, "truncate": errno.EIO}
        with pytest.raises(LedgerError, match="Input/output error"):
            ledger.append(Event.RESUMED)
        disk.fails = {}
        assert "an incomplete entry" in ledger.probe()
    with opened(tmp_path) as ledger:
        assert [each.event for each in ledger.entries()] == [Event.PAUSED]
        assert [path.stat().st_size for path in tmp_path.glob("*.torn")] == [10]


@pytest.mark.parametrize("deed", ["removed", "replaced", "cut", "appended to"])
def test_a_file_that_somebody_changes_under_it_is_noticed_before_the_next_entry(tmp_path: Path, deed: str) -> None:
    path = tmp_path / "ledger-000001.jsonl"
    with opened(tmp_path) as ledger:
        ledger.append(Event.PAUSED)
        content = path.read_bytes()
        if deed in ("removed", "replaced"):
            path.rename(tmp_path / "elsewhere")
        if deed == "replaced":
            path.write_bytes(content)
        if deed == "cut":
            path.write_bytes(content[:-10])
        if deed == "appended to":
            path.write_bytes(content * 2)
        assert str(path) in ledger.probe()
        with pytest.raises(LedgerError, match=str(path)):
            ledger.append(Event.RESUMED)


def test_a_directory_that_is_none_or_closed_is_refused_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(LedgerError, match=r"can't open the ledger in .*file for writing: Not a directory"):
        opened(tmp_path / "file")
    ledger = opened(tmp_path / "ledger")
    ledger.close()
    assert "is closed" in ledger.probe()
    with pytest.raises(LedgerError, match="is closed"):
        ledger.append(Event.PAUSED)
