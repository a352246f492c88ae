"""What people reported, as dumps: `steward check` says of each what its file lists and nothing else above info, and
nothing of the same cluster without the fault.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import main
from tests.manifests import Object
from tests.report_files import FILES, ReportFile, loaded

Found = list[dict[str, Any]]
REPORTS = [pytest.param(path, id=path.stem) for path in FILES]
TWINS = [pytest.param(each, id=each.stem) for each in FILES if "\ntwin:" in each.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", REPORTS)
def test_of_each_report_is_said_what_its_file_lists(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = loaded(path)
    found = _checked(report.objects, report, tmp_path, capsys)
    assert report.verdict, f"{path.name} is not graded; it finds:\n{_shown(found)}"
    left = [each for each in found if each["severity"] != "info"]
    for listed in report.finds:
        matching = [each for each in found if _is(each, listed)]
        assert matching, f"{path.name} lists {dict(listed)}, and it finds:\n{_shown(found)}"
        left = [each for each in left if each not in matching]
    assert not left, f"{path.name} does not list:\n{_shown(left)}"


@pytest.mark.parametrize("path", TWINS)
def test_without_the_fault_nothing_is_said(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = loaded(path)
    assert report.twin
    found = _checked(report.twin, report, tmp_path, capsys)
    alarms = [each for each in found if each["severity"] != "info"]
    assert not alarms, f"{path.name}, twin:\n{_shown(alarms)}"


def _checked(objects: Iterable[Object], report: ReportFile, folder: Path, capsys: pytest.CaptureFixture[str]) -> Found:
    """As `kubectl get -o json` of everything would be checked, at the time of the report."""
    dump = folder / "dump.json"
    items = list(objects) or [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}]
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    code = main(["check", "--from", str(dump), "--complete", "--now", report.at, "-o", "json"])
    shown = json.loads(capsys.readouterr().out)
    assert not shown["undecodable"], shown["undecodable"]
    assert {each["check"] for each in shown["unknown"]} == report.unknown, shown["unknown"]
    assert code == (2 if report.unknown else 1 if shown["findings"] else 0)
    found: Found = shown["findings"]
    return found


def _is(found: dict[str, Any], listed: Any) -> bool:
    advice = "\n".join((found["next"], *found["commands"]))
    return (
        (found["reason"], found["severity"], _about(found)) == (listed["reason"], listed["severity"], listed["about"])
        and listed["says"] in found["message"]
        and listed["next"] in advice
    )


def _about(found: dict[str, Any]) -> str:
    subject = found["subject"]
    where = f"{subject['namespace']}/" if subject["namespace"] else ""
    return f"{subject['kind']} {where}{subject['name']}"


def _shown(found: Found) -> str:
    return "\n".join(
        f"- {each['reason']} {each['severity']} {_about(each)}\n    {each['message']}\n    next: {each['next']}\n"
        f"    {each['commands']}\n    since {each['since']} ({each['sinceSource']}) {each['unknown']}"
        for each in found
    )
