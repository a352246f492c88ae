"""Whose ledger it is: each file states it, and a file of another ledger or of another cluster is refused."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from reconcile.ledger import Event, LedgerError, prove, verify
from tests.ledgers import Power, PowerLossError, of_an_older_version, opened, plan, rewrite


def filled(directory: Path, count: int = 6, cluster: str = "u1") -> list[Path]:
    """A ledger of several files, the last attempt of which is under way; its files."""
    with opened(directory, max_bytes=2500, cluster=cluster) as ledger:
        for at in range(count):
            attempt = ledger.append(Event.INTENDED, plan=plan(f"c{at}"), mode="auto", whole={"at": at}).attempt
            if at < count - 1:
                ledger.append(Event.DONE, attempt=attempt)
    return sorted(directory.glob("*.jsonl"))


def first_lines(files: list[Path]) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8").splitlines()[0]) for path in files]


def test_a_ledger_of_another_cluster_is_refused(tmp_path: Path) -> None:
    """Its attempts are on objects of other UIDs, and its limits are for other VMs."""
    filled(tmp_path / "theirs", cluster="u2")
    shutil.copytree(tmp_path / "theirs", tmp_path / "ours")
    before = {path.name: path.read_bytes() for path in (tmp_path / "ours").glob("ledger*.json*")}
    with pytest.raises(LedgerError) as refused:
        opened(tmp_path / "ours", cluster="u1")
    assert str(refused.value) == (
        f"the ledger in {tmp_path / 'ours'} belongs to cluster u2 (UID of namespace kube-system), and this is "
        "cluster u1. Set another directory for this cluster (ledger.directory, --ledger), or move that ledger aside to "
        "begin a new ledger"
    )
    assert {path.name: path.read_bytes() for path in (tmp_path / "ours").glob("ledger*.json*")} == before
    opened(tmp_path / "ours", cluster="u2").close()


def test_each_file_states_it_and_one_of_them_is_enough(tmp_path: Path) -> None:
    files = filled(tmp_path)
    stated = {(each["opens"]["ledger"], each["opens"]["cluster"]) for each in first_lines(files)}
    assert len(files) > 2
    assert len(stated) == 1
    (tmp_path / "ledger.json").unlink()
    with pytest.raises(LedgerError, match="belongs to cluster u1"):
        opened(tmp_path, cluster="u2")
    with opened(tmp_path, cluster="u1") as ledger:
        assert {(ledger.whose.ledger, ledger.whose.cluster)} == stated
        ledger.append(Event.PAUSED)
    assert verify(tmp_path) == []


def test_two_ledgers_of_one_cluster_have_different_names(tmp_path: Path) -> None:
    names = {first_lines(filled(tmp_path / name, 1))[0]["opens"]["ledger"] for name in "abc"}
    assert len(names) == 3


def test_the_files_of_one_ledger_and_the_summary_of_another_are_refused(tmp_path: Path) -> None:
    filled(tmp_path / "one")
    filled(tmp_path / "two")
    shutil.copy(tmp_path / "two" / "ledger.json", tmp_path / "one" / "ledger.json")
    with pytest.raises(LedgerError, match=r"ledger\.json is of ledger \w+ of cluster u1, and the files are of ledger"):
        opened(tmp_path / "one", cluster="u1")
    assert "and the files are of" in verify(tmp_path / "one")[0]


def test_a_file_of_another_ledger_in_between_is_refused(tmp_path: Path) -> None:
    files, others = filled(tmp_path / "one"), filled(tmp_path / "two")
    shutil.copy(others[1], files[1])
    with pytest.raises(LedgerError, match="files of two ledgers are mixed"):
        opened(tmp_path / "one", cluster="u1")
    assert verify(tmp_path / "one")


@pytest.mark.parametrize("number", [1, -1])
def test_a_file_that_no_longer_states_it_is_refused_although_all_checksums_are_right(
    tmp_path: Path, number: int
) -> None:
    files = filled(tmp_path)
    opens = first_lines(files)[number]["seq"]

    def take_out(entry: dict[str, Any]) -> None:
        if entry["seq"] == opens:
            del entry["opens"]

    rewrite(tmp_path, take_out)
    with pytest.raises(LedgerError, match=f"line 1 of {files[number]} has no identity"):
        opened(tmp_path, cluster="u1")
    assert "has no identity" in verify(tmp_path)[0]


def test_an_older_file_whose_own_checksums_are_right_is_found_altered(tmp_path: Path) -> None:
    """The next file has the checksum of the whole file."""
    first, *others = filled(tmp_path)
    rest = [path.read_bytes() for path in others]
    rewrite(tmp_path, lambda entry: entry.update(why="another") if entry["event"] == "done" else None)
    for path, content in zip(others, rest, strict=True):
        path.write_bytes(content)
    with pytest.raises(LedgerError, match=f"{first} was altered"):
        opened(tmp_path, cluster="u1")
    assert verify(tmp_path)


def test_a_ledger_of_an_older_version_is_taken_as_that_of_this_cluster_and_an_entry_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(tmp_path)
    of_an_older_version(tmp_path)
    proof = prove(tmp_path)
    assert (proof.wrong, str(proof.whose)) == ((), "a ledger without an identity")
    with opened(tmp_path, cluster="u1") as ledger:
        *_, adopted = ledger.entries()
        assert (adopted.event, adopted.seq) == (Event.ACCEPTED, proof.last + 1)
        assert "an earlier version wrote it without an identity" in adopted.why
        assert 'event="ledger accepted"' in caplog.text
        (unfinished,) = ledger.unfinished()
        ledger.append(Event.RESOLVED, attempt=unfinished.attempt, happened=True)
    assert verify(tmp_path) == []
    with opened(tmp_path, cluster="u1") as ledger:
        assert [each.event for each in ledger.entries()].count(Event.ACCEPTED) == 1
    with pytest.raises(LedgerError, match="belongs to cluster"):
        opened(tmp_path, cluster="u2")
    opened(tmp_path).close()  # who names no cluster is not refused


def test_the_power_may_go_at_any_moment_of_that(tmp_path: Path) -> None:
    filled(tmp_path / "old")
    of_an_older_version(tmp_path / "old")
    count = prove(tmp_path / "old").count
    for at in range(60):
        directory = tmp_path / f"{at}"
        shutil.copytree(tmp_path / "old", directory)
        disk = Power(directory, at)
        lost = False
        try:
            opened(directory, disk=disk, cluster="u1").close()
        except PowerLossError:
            lost = True
        disk.lose()
        with opened(directory, cluster="u1") as ledger:
            assert len(ledger.unfinished()) == 1
            assert [each.event for each in ledger.entries()].count(Event.ACCEPTED) == 1, at
            assert ledger.verify() == []
        assert prove(directory).count == count + 1
        if not lost:
            break
    assert 5 < at < 59
