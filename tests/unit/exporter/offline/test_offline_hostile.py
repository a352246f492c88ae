"""Dumps that were written to take the steward down: each file is named with one sentence, and costs little."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import os
import re
import struct
import tarfile
import time
import tracemalloc
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from demo.apiserver.resources import RESOURCES
from exporter.__main__ import main
from exporter.facts.quantity import amount
from exporter.offline.documents import DumpedObject, objects
from exporter.offline.files import File, Unread, files
from exporter.offline.limits import DumpLimits
from exporter.offline.wanted import Wanted
from tests.all_of import each_of
from tests.evaluation import api_kinds

VM = b'{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"namespace":"ns","name":"db"}}'
MEBIBYTE = 1 << 20


def checked(path: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, list[tuple[str, str]]]:
    """The exit code, and what was not read or is undecodable: name and why."""
    code = main(["check", "--check", "ipam_claims", "--from", str(path), "--complete", "-o", "json"])
    report = json.loads(capsys.readouterr().out)
    return code, [(each["name"], each["why"]) for each in report["undecodable"]]


def zipped(name: bytes, method: int, size: int, content: bytes, times: int = 1, flags: int = 0, crc: int = 0) -> bytes:
    """A zip with an entry that is listed that many times, whose headers say what they are told to."""
    sizes = struct.pack("<IIIHH", crc, len(content), size, len(name), 0)
    head = struct.pack("<HHHHH", 20, flags, method, 0, 0) + sizes
    local = b"PK\3\4" + head + name + content
    listed = (b"PK\1\2" + struct.pack("<H", 20) + head + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name) * times
    return local + listed + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, times, times, len(listed), len(local), 0)


def deflated(size: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return b"".join(packer.compress(b" " * MEBIBYTE) for _ in range(size // MEBIBYTE)) + packer.flush()


def pax(records: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    header = tarfile.TarInfo("pax")
    header.type, header.size = kind, len(records)
    return header.tobuf(tarfile.USTAR_FORMAT) + records + b"\0" * (-len(records) % 512)


def tarred(**members: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in members.items():
            header = tarfile.TarInfo(f"{name}.json")
            header.size = len(content)
            tar.addfile(header, io.BytesIO(content))
    return packed.getvalue()


def header(size: bytes, kind: bytes = tarfile.REGTYPE) -> bytes:
    """A tar header with a size as it is given, 12 bytes."""
    block = bytearray(tarfile.TarInfo("a.json").tobuf(tarfile.GNU_FORMAT))
    block[124:136], block[156:157], block[148:156] = size, kind, b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


SPARSE = pax(b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n25 GNU.sparse.name=a.json\n")
ARCHIVES = {
    "a false header": zipped(b"a.json", zipfile.ZIP_DEFLATED, 100, deflated(100 * MEBIBYTE)),
    "bzip2 in a zip": zipped(b"a.json", zipfile.ZIP_BZIP2, 100, bz2.compress(b" " * (100 * MEBIBYTE))),
    "a password": zipped(b"a.json", zipfile.ZIP_STORED, 20, b"x" * 32, flags=1),
    "no such method": zipped(b"a.json", 99, 3, b"abc"),
    "a name that is no UTF-8": zipped(b"\xff.json", zipfile.ZIP_STORED, 3, b"abc", flags=0x800),
    "a directory past the end": VM.join([b"PK\3\4", b"PK\5\6" + b"\0" * 8 + b"\xff" * 8 + b"\0\0"]),
    "long names in long names": header(b"00000000005\0", tarfile.GNUTYPE_LONGNAME).ljust(1024, b"\0") * 3000,
    "a huge long name": gzip.compress(header(b"77777777777\0", tarfile.GNUTYPE_LONGNAME) + b"x" * (200 * MEBIBYTE), 1),
    "a huge size": header(b"\x80" + b"\xff" * 11) + VM,
    "a negative size": header(b"\xff" * 12) + VM,
    "a map of no numbers": SPARSE + tarred(a=b"1\nabc\n1\n".ljust(512, b"\0")),
    "a map of many digits": SPARSE + tarred(a=b"9" * 6000 + b"\n"),
    **{
        f"pax {record[:12]!r}": pax(record) + tarred(a=VM)
        for record in (
            b"-5 size=1\n",
            b"9" * 6000 + b" a=b\n",
            b"0 a=b\n",
            b"24 GNU.sparse.size=abcd\n",
            b"12 size=abc\n",
        )
    },
}


@pytest.mark.parametrize("attack", ARCHIVES)
def test_an_archive_with_false_headers_is_named_with_one_sentence(
    attack: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "dump"
    path.write_bytes(ARCHIVES[attack])
    code = main(["check", "--check", "ipam_claims", "--from", str(path), "--complete"])
    shown = capsys.readouterr()
    whole = shown.out + shown.err
    assert "unexpected" not in shown.err
    assert str(path) in whole or "no Kubernetes object" in whole or "1 object" in whole
    assert code == (0 if "1 object" in shown.out and "may hold" not in shown.out else 2)


def test_entries_that_overlap_count_each_time(tmp_path: Path) -> None:
    size = 4 * MEBIBYTE
    attack = zipped(b"a.json", 8, size, deflated(size), times=1000, crc=zlib.crc32(b" " * size))
    (tmp_path / "dump.zip").write_bytes(attack)
    read = [*files(str(tmp_path / "dump.zip"), DumpLimits(free=16 * MEBIBYTE, ratio=100))]
    whole = [each for each in read if not isinstance(each, Unread)]
    (why,) = {each.why for each in read if isinstance(each, Unread)}
    assert len(whole) < 10
    # Newer Pythons refuse each entry but the last one, since it reaches into the next.
    assert re.match("the dump unpacks to more than 100 times its size; from here on it is not read|corrupt: ", why)


@pytest.mark.parametrize("form", ["directory", "tar"])
def test_many_small_bombs_count_together(form: str, tmp_path: Path) -> None:
    bomb = gzip.compress(b" " * 900_000, mtime=0)
    path = tmp_path / "dump"
    if form == "tar":
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as tar:
            for number in range(50):
                info = tarfile.TarInfo(f"{number}.json.gz")
                info.size = len(bomb)
                tar.addfile(info, io.BytesIO(bomb))
        path.write_bytes(packed.getvalue())
    else:
        path.mkdir()
        for number in range(50):
            (path / f"{number:02}.json.gz").write_bytes(bomb)
    found = list(files(str(path), DumpLimits(free=MEBIBYTE, ratio=100)))
    assert sum(len(each.content) for each in found if isinstance(each, File)) < 50 * 900_000
    assert isinstance(found[-1], Unread)
    assert "from here on it is not read" in found[-1].why


FLOW = b"apiVersion: v1\nkind: Node\nmetadata: {name: n}\nstatus: {zzz: " + b"[" * 40_000 + b"]" * 40_000 + b"}\n"
SLOW = {
    "line breaks after JSON": b"{}" + b"\n" * 60_000 + b"x",
    "blanks and line breaks": b"{}" + b" \n" * 60_000 + b"x",
    "pods in a log's start": b"{}\n==== START logs for container" + b" of pod " * 8_000 + b"x\n",
    "flow nesting that nothing reads": FLOW,
    "flow nesting": b"a: " + b"[" * 40_000,
    "flow mappings": b"a: " + b"{a: " * 40_000,
    "directives": b"".join(b"%%TAG !a%d! tag:x,2000:\n" % number for number in range(40_000)) + b"---\na: b\n",
    "lists of lists": b'{"apiVersion":"v1","kind":"List","items":[' * 400 + b"]}" * 400,
    "a long scalar and many aliases": b"a: &a " + b"x" * 400_000
    + b"\napiVersion: v1\nkind: Pod\nmetadata:\n  labels:\n"
    + b"".join(b"    k%d: *a\n" % number for number in range(5000)),
    "a long key and many aliases": b"apiVersion: v1\nkind: Pod\nmetadata:\n  labels: &a {" + b"x" * 400_000
    + b": b}\nspec: [" + b"*a," * 5000 + b"]\n",
}  # fmt: skip


@each_of("attack", SLOW)
def test_no_text_takes_more_than_its_size_allows(attack: str) -> None:
    before = time.thread_time()
    found = list(objects(SLOW[attack], Wanted(api_kinds().values())))
    assert time.thread_time() - before < 2
    assert not any(isinstance(each, DumpedObject) and each.kind for each in found)


def test_what_is_nested_too_deeply_costs_one_object(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    claim = b'{"apiVersion":"kubevirt.io/v1","kind":"VirtualMachine","metadata":{"namespace":"ns","name":"deep"},'
    deep = claim + b'"spec":{"template":{"metadata":' + b'{"a":' * 3000 + b"1" + b"}" * 3003
    listed = b'{"apiVersion":"v1","kind":"List","items":[' + VM + b"," + deep + b"," + VM.replace(b"db", b"web") + b"]}"
    block = b"".join(b"  " * level + b"a:\n" for level in range(4, 304))
    yaml = (
        b"apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {namespace: ns, name: deep}\nspec:\n  template:\n"
        b"    spec:\n      networks:\n" + block
    )
    for name, content, names, wrong in (
        ("a.json", listed, ["db", "deep", "web"], False),  # nothing that is read is so deep
        ("a.yaml", b"---\n".join([yaml, VM + b"\n"]), ["deep", "db"], True),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        found = [each for each in objects(content, Wanted(api_kinds().values())) if isinstance(each, DumpedObject)]
        assert [json.loads(bytes(each.raw))["metadata"]["name"] for each in found] == names
        code, undecodable = checked(path, capsys)
        assert (code, [name for name, _ in undecodable]) == ((2, ["deep"]) if wrong else (0, []))


def of(**more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"namespace": "n", "name": "x"},
        **more,
    }


def meta(**more: Any) -> dict[str, Any]:
    return of(metadata={"namespace": "n", "name": "x", **more})


@each_of("value", [5, None, [1], "\x1b[31m", "9" * 5000, "²", 10**60])
@each_of("place", ["apiVersion", "kind", "metadata", "name", "namespace", "uid", "resourceVersion"])
def test_fields_of_any_type_are_no_findings(
    place: str, value: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    thing = of(**{place: value}) if place in ("apiVersion", "kind", "metadata") else meta(**{place: value})
    path = tmp_path / "a.json"
    path.write_text(json.dumps([thing, json.loads(VM)]), encoding="utf-8")
    assert main(["check", "--check", "ipam_claims", "--from", str(path), "--complete"]) in (0, 2)
    shown = capsys.readouterr()
    assert "unexpected" not in shown.err
    assert "\x1b" not in shown.out + shown.err


def test_file_names_that_are_no_utf8_are_shown_as_far_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "vm.json").write_bytes(VM)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\x1b[31m.yaml")).write_bytes(b"a: [")
    code, unread = checked(tmp_path, capsys)
    assert (code, [name for name, _ in unread]) == (2, [f"{tmp_path}/\N{REPLACEMENT CHARACTER}\x1b[31m.yaml"])
    assert main(["check", "--check", "ipam_claims", "--from", str(tmp_path), "--complete"]) == 2
    assert "/\N{REPLACEMENT CHARACTER}?[31m.yaml" in capsys.readouterr().out


def test_a_namespace_of_a_cluster_scoped_object_does_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "namespace": "ns"}}
    (tmp_path / "a.json").write_text(json.dumps(node), encoding="utf-8")
    assert main(["drain", "n1", "--from", str(tmp_path / "a.json"), "--complete", "-o", "json"]) == 2  # no KubeVirt
    assert json.loads(capsys.readouterr().out)["nodes"][0]["node"] == "n1"
    scopes = {(row.group, row.kind): row.namespaced for row in RESOURCES}
    for kind in api_kinds().values():
        assert kind.namespaced == scopes.get((kind.group, kind.name), kind.namespaced)


def test_a_zip_bomb_is_read_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "dump.zip"
    path.write_bytes(zipped(b"a.json", zipfile.ZIP_DEFLATED, 100, deflated(100 * MEBIBYTE)))
    tracemalloc.start()
    (unread,) = files(str(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert isinstance(unread, Unread)
    assert unread.why == "corrupt: Bad CRC-32 for file 'a.json'"
    assert peak < 16 * MEBIBYTE


def test_a_long_quantity_is_refused_at_once() -> None:
    before = time.thread_time()
    with pytest.raises(ValueError, match="is not a quantity"):
        amount("9" * 60_000 + "x")
    assert time.thread_time() - before < 1
    assert [amount(text) for text in ("1E", "1e3", "1.5Gi", ".5", "5.", "+2m")] == [
        1e18,
        1e3,
        1.5 * 2**30,
        0.5,
        5,
        2e-3,
    ]
