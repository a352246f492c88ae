"""`steward diff`: what two dumps or reports differ in, and of what nobody can tell."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from demo.fleet.sample import sample_fleet
from exporter.__main__ import main
from tests.dumps import plain_list
from tests.manifests import Object

NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture(scope="module")
def objects() -> list[Object]:
    return list(sample_fleet(NOW).objects)


def written(folder: Path, name: str, objects: list[Object]) -> str:
    path = folder / name
    path.write_text(json.dumps(plain_list(objects)), encoding="utf-8")
    return str(path)


def compared(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code = main(["diff", *words, "-o", "json"])
    return code, json.loads(capsys.readouterr().out)


def without(objects: list[Object], kind: str, name: str = "") -> list[Object]:
    return [each for each in objects if each["kind"] != kind or (name and each["metadata"]["name"] != name)]


def test_two_of_the_same_have_no_differences(
    objects: list[Object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "a.json", objects)
    assert main(["diff", path, path, "--complete"]) == 0
    assert re.fullmatch(r"No differences; \d+ findings as before\.\n", capsys.readouterr().out)


def test_what_came_and_what_went(objects: list[Object], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = written(tmp_path, "a.json", objects)
    less = written(tmp_path, "b.json", without(objects, "VirtualMachine", "pinned"))
    code, found = compared(capsys, whole, less, "--complete")
    assert code == 1
    (gone,) = (each for each in found["differences"] if each["finding"]["reason"] == "LabellessPin")
    assert (gone["change"], gone["before"]) == ("gone", "critical")
    code, found = compared(capsys, less, whole, "--complete")
    (new,) = (each for each in found["differences"] if each["finding"]["reason"] == "LabellessPin")
    assert (code, new["change"], new["before"]) == (1, "new", "")
    main(["diff", less, whole, "--complete"])
    assert re.search(r"^new +critical +LabellessPin +VM shop/pinned ", capsys.readouterr().out, re.MULTILINE)


def test_what_the_later_one_can_not_see_is_not_gone(
    objects: list[Object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = written(tmp_path, "a.json", objects)
    blind = written(tmp_path, "b.json", without(objects, "ControllerRevision"))
    code, found = compared(capsys, whole, blind)
    (pinned,) = (each for each in found["differences"] if each["finding"]["reason"] == "LabellessPin")
    assert (code, pinned["change"]) == (2, "unknown")
    assert "no ControllerRevision in the dump" in pinned["why"]
    code, found = compared(capsys, blind, whole)
    (pinned,) = (each for each in found["differences"] if each["finding"]["reason"] == "LabellessPin")
    assert (code, pinned["change"]) == (2, "unknown")


def test_a_report_is_as_good_as_its_dump(
    objects: list[Object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = written(tmp_path, "a.json", objects)
    main(["check", "--from", dump, "--complete", "-o", "json"])
    report = tmp_path / "report.json"
    report.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["diff", str(report), dump, "--complete"]) == 0
    capsys.readouterr()
    changed = json.loads(report.read_text(encoding="utf-8"))
    (pinned,) = (each for each in changed["findings"] if each["reason"] == "LabellessPin")
    pinned["severity"] = "warning"
    report.write_text(json.dumps(changed), encoding="utf-8")
    assert main(["diff", str(report), dump, "--complete"]) == 1
    assert re.search(r"^worse +warning -> critical +LabellessPin ", capsys.readouterr().out, re.MULTILINE)


def test_what_can_not_be_read_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = tmp_path / "old.json"
    report.write_text('{"findings": [{}], "unknown": [], "sources": []}', encoding="utf-8")
    assert main(["diff", str(report), str(tmp_path / "nowhere")]) == 2
    shown = capsys.readouterr()
    assert (shown.out, len(shown.err.splitlines())) == ("", 1)
    assert shown.err.startswith(f"steward: {report} is a report of another release of the steward, and can't be read: ")
