"""`steward check -o html`: a page in one file that has what the report has, and loads nothing."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from demo.fleet.sample import sample_fleet
from exporter.__main__ import main
from tests.asking import scripts_in
from tests.dumps import plain_list

Check = Callable[..., str]
NOW = datetime(2026, 11, 21, tzinfo=UTC)
HOSTILE = "</style></title><script>alert(1)</script><img src=x onerror=alert(1)>\u202e"


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    def run(output: str, objects: list[dict[str, object]], *words: str) -> str:
        path = tmp_path / "all.json"
        path.write_text(json.dumps(plain_list(objects)), encoding="utf-8")
        main(["check", "--from", str(path), "--now", "2026-11-21T00:00:00Z", "-o", output, *words])
        return capsys.readouterr().out

    return run


def test_every_finding_is_in_the_file_with_what_to_do(check: Check) -> None:
    objects = sample_fleet(NOW).objects
    page, report = check("html", objects, "--complete"), json.loads(check("json", objects, "--complete"))
    assert len(report["findings"]) > 50
    for finding in report["findings"]:
        for text in (finding["message"], finding["next"], finding["fingerprint"], *finding["commands"]):
            assert html.escape(text, quote=True).replace("&quot;", "&#34;").replace("&#x27;", "&#39;") in page
    assert page.count("<article ") == len(report["causes"])
    assert "interrupts a guest" in page


def test_nothing_is_loaded_and_nothing_runs(check: Check) -> None:
    page = check("html", sample_fleet(NOW).objects, "--complete")
    assert scripts_in(page) == []
    assert re.findall(r'<[^>]* (?:src|href)="(?!#)[^"]*"', page) == []
    assert not re.search(r"<(?:link|iframe|object|embed|form)\b|url\(|@import", page)
    assert "default-src 'none'" in page


def test_a_hostile_name_stays_a_name(check: Check) -> None:
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": HOSTILE, "namespace": "ns", "uid": "u"},
        "spec": {"runStrategy": "Always", "instancetype": {"name": HOSTILE}, "template": {"spec": {"domain": {}}}},
    }
    page = check("html", [vm], "--complete")
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert scripts_in(page) == []
    assert "<img" not in page
    assert "\u202e" not in page
    assert page.count("</style>") == 1


def test_what_has_no_answer_is_said_and_is_not_taken_for_nothing(check: Check) -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns", "uid": "n"}}
    blind, whole = check("html", [namespace]), check("html", [namespace], "--complete")
    assert "No findings in what could be evaluated." in blind
    assert "in the dump" in blind
    assert 'class="trust doubtful"' in blind
    assert "<p>No findings.</p>" in whole
    assert 'class="trust fine"' in whole
