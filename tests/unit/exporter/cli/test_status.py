"""`steward status`: a cluster in a screenful."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from exporter.__main__ import main
from tests.terminals import on_terminal


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main(["status", *words])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_it_is_a_screenful_that_begins_with_what_can_be_trusted(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said(capsys, "--from", str(dump), "--complete")
    lines = out.splitlines()
    assert (code, err) == (2, "")  # an object can't be read
    assert len(lines) <= 24
    assert [line.split()[0] for line in lines[:5]] == ["Cluster", "KubeVirt", "Checks", "Not", "Findings"]
    assert lines[1] == "KubeVirt  v1.7.0; 99 VMs"
    assert lines[3] == "Not read  1 object in namespace legacy"
    table = lines[lines.index("") + 1 : lines.index("", 6)]
    assert table[0].split() == ["SEVERITY", "REASON", "OBJECT", "AGE", "WHAT"]
    assert sum(line.startswith("critical ") for line in table[1:]) == 8
    assert table[-1].startswith("and ")
    assert all(len(line) <= 80 for line in lines)
    assert lines[-2].startswith("Drains    node05: 6 VMs still on it, 5 blocked, since ")
    assert lines[-1] == ("More, with the same options: steward check, steward drain --all-cordoned")


@pytest.mark.parametrize("columns", [50, 60, 200])
def test_it_is_a_screenful_of_any_width(columns: int, dump: Path) -> None:
    seen = on_terminal(["status", "--from", str(dump), "--complete"], columns, NO_COLOR="1").splitlines()
    assert len(seen) <= 24
    assert all(len(line) <= columns for line in seen)
    assert seen[-1].startswith("More, with the same options: steward check")


def test_the_worst_are_those_of_check(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = said(capsys, "--from", str(dump), "--complete")[1]
    main(["check", "--from", str(dump), "--complete", "-o", "json"])
    causes = json.loads(capsys.readouterr().out)["causes"]
    shown = [line.split()[1] for line in out.splitlines() if line.startswith("critical ")]
    assert shown == [each["reason"] for each in causes[:8]]


def test_what_is_not_seen_is_not_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text('{"apiVersion": "v1", "kind": "ConfigMapList", "items": []}', encoding="utf-8")
    code, out, _ = said(capsys, "--from", str(tmp_path))
    assert code == 2
    assert "Drains    not seen\n" in out
    assert "KubeVirt  of an unknown release; VMs are not seen\n" in out


def test_as_json_it_has_the_report(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = json.loads(said(capsys, "--from", str(dump), "--complete", "-o", "json")[1])
    assert whole["release"] == "v1.7.0"
    assert [each["node"] for each in whole["drains"]] == ["node05"]
    assert whole["report"]["causes"]
