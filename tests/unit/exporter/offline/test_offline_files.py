"""Files of a dump that are truncated, corrupt, unreadable, symlinks or bombs: each is reported, none is fatal."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from exporter.__main__ import main
from exporter.config.settings import Config
from exporter.dump import read_dump
from exporter.offline.files import DumpError, File, Unread, files
from exporter.offline.limits import DumpLimits
from exporter.store.kinds.virtual_machine import VirtualMachine
from exporter.store.source import FILE, Undecodable
from tests.evaluation import NOW

VM = '{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"namespace":"ns","name":"db"}}'


def names(path: Path | str, limits: DumpLimits | None = None) -> tuple[list[str], list[str]]:
    """The names of the files that are read, and of those that are reported as unread."""
    found = list(files(str(path), limits))
    return (
        [os.path.basename(each.name) for each in found if isinstance(each, File)],
        [os.path.basename(each.name) for each in found if isinstance(each, Unread)],
    )


@pytest.mark.parametrize("stream", [False, True], ids=["list", "stream"])
def test_an_object_that_is_nested_without_end_is_read_beside_the_others(stream: bool, tmp_path: Path) -> None:
    deep = VM[:-1] + ',"spec":{"template":{"metadata":' + '{"a":' * 3000 + "1" + "}" * 3003
    other = VM.replace('"db"', '"web"')
    both = f"{deep}\n{other}" if stream else f'{{"apiVersion":"v1","kind":"List","items":[{deep},{other}]}}'
    (tmp_path / "a.json").write_text(both, encoding="utf-8")
    engine, _ = asyncio.run(read_dump(str(tmp_path), NOW, Config(), complete=True, progress=lambda _: None))
    assert sorted(each.name for each in engine.cluster.all(VirtualMachine)) == ["db", "web"]
    assert list(engine.cluster.all(Undecodable)) == []


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.json", b'{"apiVersion":"v1",', "not JSON"),
        ("a.json", b'{"apiVersion":"v1"}}', "not JSON"),
        ("a.json", b'{"kind":' + b"[" * 100_000, "not JSON"),
        ("a.yaml", b"a: b\n\tc: d", "not YAML: line 2: "),
        ("a.yaml", b"kind: [\n---\nkind: Pod", "not YAML: line 2: "),
        ("a.yaml", b"kind: Pod\n---\na: b\n---\nkind: }", "not YAML: line 5: "),
        ("a.yaml", b"kind: *nobody", "*nobody refers to no anchor before it"),
        ("a.yaml", b"- " * 5000, "it is nested more than 100 levels deep"),
        ("a.yaml", b"? [a, b]\n: c", "a key is not a scalar"),
        ("a.yaml", b"\x89PNG\0\0\0", "not UTF-8"),
        ("a.yaml", b"kind: \xff\xfe", "not YAML"),
        ("a.yaml", b"\xff\xfe\x00", "not UTF-8"),
        ("a.yaml", b"apiVersion: v1\nitems:\n- apiVersion: v1\n  kind: Pod\n", "truncated: a list without a kind"),
        ("a.yaml", b"apiVersion: v1\nkind: PodList\nitems: {}\n", "the items of a PodList are not a list"),
        ("a.json.gz", gzip.compress(b'{"a":1}' * 99, mtime=0)[:-20], "truncated"),
        ("a.json.gz", b"\x1f\x8b\x08\x00garbage.....", "corrupt"),
        ("a.json", b'{"kind":"Status","apiVersion":"v1","message":"pods is forbidden"}', "pods is forbidden"),
        ("a.yaml", b"kind: Status\napiVersion: v1\nmessage: pods is forbidden\n", "pods is forbidden"),
    ],
)
def test_a_file_that_cannot_be_read_is_reported_and_the_others_are_read(
    name: str, content: bytes, why: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    (tmp_path / "good.json").write_text(VM, encoding="utf-8")

    engine, tally = asyncio.run(read_dump(str(tmp_path), NOW, Config(), complete=True, progress=lambda _: None))
    (undecodable,) = [each for each in engine.cluster.all(Undecodable) if each.kind == FILE]
    assert undecodable.object_name == str(tmp_path / name)
    assert why in undecodable.why
    assert "\n" not in undecodable.why
    assert tally.objects >= 1


def test_an_unread_file_is_in_the_report_and_in_the_exit_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.yaml").write_text("a: [", encoding="utf-8")
    (tmp_path / "vm.json").write_text(VM, encoding="utf-8")
    words = ["check", "--from", str(tmp_path), "--complete", "--check", "ipam_claims"]
    assert main([*words, "-o", "json"]) == 2
    report = json.loads(capsys.readouterr().out)
    assert (report["findings"], report["unknown"]) == ([], [])
    assert [(undecodable["kind"], undecodable["name"]) for undecodable in report["undecodable"]] == [
        ("File", str(tmp_path / "a.yaml"))
    ]
    assert main(words) == 2
    assert "may hold anything" in capsys.readouterr().out


def test_links_are_followed_within_the_directory_only(tmp_path: Path) -> None:
    top, outside = tmp_path / "dump", tmp_path / "outside"
    for folder in (top / "sub", outside):
        folder.mkdir(parents=True)
        (folder / "vm.json").write_text(VM, encoding="utf-8")
    (top / "within.json").symlink_to(top / "sub" / "vm.json")
    (top / "away.json").symlink_to(outside / "vm.json")
    (top / "folder").symlink_to(outside)
    (top / "dangling.json").symlink_to(top / "nothing")
    os.mkfifo(top / "pipe.json")
    (top / "._vm.json").write_bytes(b"\0\0")
    (top / "core.log").write_text("not ours", encoding="utf-8")

    read, named = names(top)
    assert read == ["within.json", "vm.json"]
    assert sorted(named) == ["away.json", "dangling.json", "folder"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission_are_reported(tmp_path: Path) -> None:
    (tmp_path / "vm.json").write_text(VM, encoding="utf-8")
    (tmp_path / "locked").mkdir(mode=0)
    (tmp_path / "secret.json").touch(mode=0)
    assert names(tmp_path) == (["vm.json"], ["secret.json", "locked"])


def archive(mode: str, **members: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=f"w:{mode}") as tar:  # type: ignore[call-overload]
        for name, content in members.items():
            header = tarfile.TarInfo(f"../../{name}.json")
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))
    return packed.getvalue()


@pytest.mark.parametrize("mode", ["", "gz", "xz"])
def test_a_truncated_archive_gives_the_files_before_the_end(mode: str, tmp_path: Path) -> None:
    whole = archive(mode, a=VM.encode(), b=os.urandom(60_000))
    path = tmp_path / "dump"
    path.write_bytes(whole)
    assert names(path) == (["a.json", "b.json"], [])
    path.write_bytes(whole[: len(whole) // 2])
    last = list(files(str(path)))[-1]
    assert isinstance(last, Unread)
    assert "truncated" in last.why


def test_a_corrupt_header_in_an_archive_is_reported(tmp_path: Path) -> None:
    whole = bytearray(archive("", a=VM.encode(), b=VM.encode()))
    whole[1024 + 3] ^= 0xFF
    path = tmp_path / "dump.tar"
    path.write_bytes(whole)
    assert names(path) == (["a.json"], ["dump.tar"])


def test_files_and_compression_ratios_are_limited(tmp_path: Path) -> None:
    small = DumpLimits(size=1000, ratio=50, free=500)
    for mode in ("", "gz"):
        (tmp_path / "dump").write_bytes(archive(mode, big=b"x" * 2000, good=b"{}"))
        read, named = names(tmp_path / "dump", DumpLimits(size=1000))
        assert (read, named) == (["good.json"], ["big.json"])
    (tmp_path / "dump").write_bytes(archive("gz", zeros=b" " * 900, more=b" " * 900, still=b" " * 90_000))
    assert names(tmp_path / "dump", DumpLimits(ratio=50, free=500))[1] == ["dump"]
    (tmp_path / "bomb.json.gz").write_bytes(gzip.compress(b" " * 900_000, mtime=0))
    assert names(tmp_path / "bomb.json.gz", small) == ([], ["bomb.json.gz"])


def test_a_corrupt_member_of_a_zip_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "dump.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.json", VM)
        packed.writestr("bomb.json", b" " * 1_000_000)
        packed.writestr("b.json", VM)
    content = bytearray(path.read_bytes())
    content[content.index(b"b.json") + 6 + 3] ^= 0xFF
    path.write_bytes(content)
    read, named = names(path, DumpLimits(ratio=100, free=1000))
    assert read[0] == "dump.zip:a.json"
    assert "dump.zip:bomb.json" in named
    assert len(read) + len(named) == 3


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda _: None, "can't be read: No such file or directory"),
        (lambda path: path.mkdir(), "has no .yaml, .yml or .json file"),
        (lambda path: path.touch(), "has no Kubernetes object"),
        (lambda path: path.write_text("error: no resource", encoding="utf-8"), "has no Kubernetes object"),
        (lambda path: path.write_text("# Notes\nof: a: b", encoding="utf-8"), "dump: not YAML: line 2"),
        (lambda path: path.write_bytes(archive("", a=b"")), "has no Kubernetes object"),
    ],
)
def test_no_dump_is_an_error_even_if_it_is_declared_complete(
    make: object, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dump"
    make(path)  # type: ignore[operator]
    assert main(["check", "--from", str(path), "--complete"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert said in shown.err
    assert len(shown.err.splitlines()) == 1


def test_an_invalid_path_is_an_error() -> None:
    with pytest.raises(DumpError):
        files("a\0b")
