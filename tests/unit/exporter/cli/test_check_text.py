"""What `steward check` prints for people: a line a cause, cut to the terminal and whole elsewhere, and totals."""

from __future__ import annotations

import csv
import io
import json
import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from demo.fleet.sample import sample_fleet
from exporter.__main__ import main
from exporter.cli.output.findings.check_report import HEAD
from exporter.cli.output.text.layout import age, duration
from exporter.cli.output.text.screen import rows_of
from tests.all_of import each_of
from tests.dumps import many
from tests.terminals import on_terminal

Check = Callable[..., tuple[int, str]]
NOW = datetime(2026, 11, 21, tzinfo=UTC)
ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def words_of(path: Path, *more: str) -> list[str]:
    return ["check", "--from", str(path), "--complete", "--now", "2026-11-21T00:00:00Z", *more]


@pytest.fixture
def check(dump: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    def run(*words: str) -> tuple[int, str]:
        code = main(words_of(dump, *words))
        return code, capsys.readouterr().out

    return run


def path_of(subject: Any) -> str:
    """As it is shown: NAMESPACE/NAME, or the name of what is in none."""
    return f"{subject['namespace']}/{subject['name']}".lstrip("/")


def cause_lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("critical", "warning", "info"))]


def test_a_line_is_a_cause_and_its_findings_are_under_it(check: Check, report: Any) -> None:
    code, text = check()
    assert code == 2
    lines = text.splitlines()
    assert lines[0].split() == ["SEVERITY", "REASON", "OBJECT", "AGE", "WHAT"]
    assert [line.split()[:2] for line in cause_lines(text)] == [
        [each["severity"], each["reason"]] for each in report["causes"]
    ]
    (at,) = (number for number, line in enumerate(lines) if re.match(r"critical +OwnerUidMismatch +2 IPAMClaims", line))
    assert re.match(
        r"critical +OwnerUidMismatch +2 IPAMClaims in billing +3h +IPAMClaim belongs to a deleted VM of the s",
        lines[at],
    )
    assert re.match(
        r" {10}IPAMClaim billing/ledger-db\.ledger +3h  VirtualMachine billing/ledger-db was recreated", lines[at + 1]
    )
    assert re.match(
        r" {10}IPAMClaim billing/report-writer\.ledger +3h  VirtualMachine billing/report-writer was recreated",
        lines[at + 2],
    )


def test_the_last_lines_are_totals_and_what_answered(check: Check, report: Any) -> None:
    text = check()[1]
    counts = {each: sum(f["severity"] == each for f in report["findings"]) for each in ("critical", "warning", "info")}
    totals = ", ".join(f"{number} {name}" for name, number in counts.items())
    assert text.splitlines()[-2] == (f"{totals}: {len(report['findings'])} findings of {len(report['causes'])} causes.")
    silent = {each["check"] for each in report["unknown"]}
    last = text.splitlines()[-1]
    answered = re.match(r"(\d+) of (\d+) checks answered everywhere; (\d+) of \3 kinds seen; read 1 file, ", last)
    assert answered is not None
    assert int(answered[2]) - int(answered[1]) == len(silent)
    no_answer = text.partition("No answer:\n")[2].partition("\n\n")[0].splitlines()
    assert len(no_answer) == len({each["why"] for each in report["unknown"]})
    assert no_answer[0].endswith(": ipam_claims, ipam_networks, ipam_vms")


def test_what_a_single_look_saw_first_has_no_age(report: Any, check: Check) -> None:
    assert {f["since"] == "" for f in report["findings"] if f["sinceSource"] in ("firstSeen", "source")} == {True}
    assert all(f["since"] for f in report["findings"] if f["sinceSource"] not in ("firstSeen", "source"))
    (pinned,) = (line for line in cause_lines(check()[1]) if "LabellessPin" in line)
    assert re.match(r"critical +LabellessPin +VM shop/pinned +-  ", pinned)


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_a_terminal_cuts_what_is_said_and_no_name(columns: int, dump: Path, report: Any) -> None:
    seen = on_terminal(words_of(dump), columns)
    plain = ESCAPE.sub("", seen)
    found = plain.partition("\n\n")[0].splitlines()
    subjects = {(f["subject"]["kind"], path_of(f["subject"])) for f in report["findings"]}
    assert all(any(path in line.split() for line in found) for _, path in subjects)
    wider = [line for line in found if len(line) > columns]
    assert all(any(line.split() == [kind, path] for kind, path in subjects) for line in wider)
    assert "\x1b[1;31mcritical\x1b[0m" in seen


ROWS = [
    ("critical", "Duplicate", "2 VMs in 2 namespaces", "20h", "The VM runs, and another one runs with its UUID."),
    ("critical", "Duplicate", "IPAMClaim shop/promo-9.blue", "-", "Address 192.168.10.116 is held twice."),
    ("warning", "StuckTerminatingBlocksOwnerDeletion", "IPAMClaim telecom/sip-old.sig", "40m", "Its VM is there."),
    ("info", "OrphanedRevision", f"ControllerRevision shop/{'u1-' * 25}", "20d", "Nothing needs this copy."),
]


def test_a_name_that_is_longer_than_its_column_moves_no_other() -> None:
    assert "\n".join(rows_of(HEAD, ROWS, 80)).splitlines() == [
        "SEVERITY  REASON            OBJECT                 AGE  WHAT",
        "critical  Duplicate         2 VMs in 2 namespaces  20h  The VM runs, and anothe…",
        "critical  Duplicate         IPAMClaim shop/promo-9.blue",
        "                                                   -    Address 192.168.10.116…",
        "warning   StuckTerminatingBlocksOwnerDeletion",
        "                            IPAMClaim telecom/sip-old.sig",
        "                                                   40m  Its VM is there.",
        "info      OrphanedRevision",
        f"          ControllerRevision shop/{'u1-' * 25}",
        "                                                   20d  Nothing needs this copy.",
    ]
    assert {len(line.partition("The VM runs")[0]) for line in rows_of(HEAD, ROWS[:1], 200)[1:]} == {
        len(rows_of(HEAD, ROWS[:1], 200)[0].partition("WHAT")[0])
    }


def test_what_is_too_narrow_for_columns_is_filled_line_by_line() -> None:
    assert rows_of(HEAD, ROWS[1:2], 44) == [
        "SEVERITY  REASON  OBJECT  AGE  WHAT",
        "critical  Duplicate\n          IPAMClaim shop/promo-9.blue  -\n          Address 192.168.10.116 is held tw…",
    ]


def test_what_to_do_is_broken_between_words_and_commands_are_not(dump: Path, report: Any) -> None:
    wanted = words_of(dump, "--commands", "--severity", "critical")
    seen = on_terminal(wanted, 80, NO_COLOR="1")
    wider = [line for line in seen.splitlines() if len(line) > 80]
    assert wider != []
    assert [line for line in wider if not line.startswith("          $ ")] == []
    words = " ".join(seen.split())
    critical = [each for each in reversed(report["findings"]) if each["severity"] == "critical"]
    kept = [each for each in critical if each["evidence"].get("keeper") == path_of(each["subject"])]
    first = {each["cause"]: each for each in (*kept, *(each for each in critical if each not in kept))}
    assert all(f": {each['next']}" in words for each in first.values())


def test_a_step_that_refers_to_the_runbook_is_followed_by_the_command_that_prints_it(check: Check, report: Any) -> None:
    said = check("--commands")[1]
    referring = [each for each in report["findings"] if "the runbook" in each["next"]]
    assert "RevisionNotOwned" in {each["reason"] for each in referring}
    commands = re.findall(r"\$ steward (explain --from .* --runbook \w+)\n", said)
    assert {shlex.split(each)[-1] for each in commands} <= {each["fingerprint"] for each in referring}
    assert len(commands) == sum("the runbook" in each["next"] for each in report["causes"])
    for each in commands:
        assert main(shlex.split(each)) == 0


def test_a_step_says_for_which_object_it_is_where_a_cause_has_several(check: Check, report: Any) -> None:
    said = check("--commands")[1]
    of = [each for each in report["findings"] if each["reason"] == "SerialDuplicate"]
    assert len({each["cause"] for each in of}) == 1
    assert len({(each["next"], *each["commands"]) for each in of}) > 1
    assert f"next for VM {path_of(of[0]['subject'])}: {of[0]['next']}" in said


def test_colour_is_for_who_wants_it(dump: Path) -> None:
    assert "\x1b[" not in on_terminal(words_of(dump), 100, NO_COLOR="1")
    assert "\x1b[" not in on_terminal(words_of(dump), 100, TERM="dumb")


def test_piped_it_is_whole_and_without_escape_codes(check: Check, report: Any) -> None:
    text = check()[1]
    assert "\x1b" not in text
    assert all(f["message"] in text for f in report["findings"])
    assert check()[1] == text


def test_of_many_findings_of_a_cause_twenty_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def vm(number: int) -> dict[str, Any]:
        metadata = {"namespace": "ns", "name": f"vm-{number:02}", "uid": f"u{number}"}
        spec = {"runStrategy": "Halted", "template": {"spec": {"domain": {}}}}
        return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": spec}

    path = tmp_path / "vms.yaml"
    path.write_text(many([vm(number) for number in range(25)]), encoding="utf-8")
    assert main(words_of(path, "--reason", "NotPersisted")) == 1
    lines = capsys.readouterr().out.splitlines()
    assert re.match(r"info +NotPersisted  25 VMs in ns +-  ", lines[1])
    assert [line.split()[:2] for line in lines[2:22]] == [["VM", f"ns/vm-{number:02}"] for number in range(20)]
    assert re.fullmatch(rf" {{10}}and 5 more: steward check --from {path} --complete [0-9a-f]{{16}} -o wide", lines[22])
    cause = lines[22].split()[-3]
    main(words_of(path, cause, "-o", "name"))
    assert capsys.readouterr().out.splitlines() == [f"virtualmachine/ns/vm-{number:02}" for number in range(25)]


def test_a_dump_of_one_vm_says_in_a_few_lines_what_it_lacks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "vm.json"
    path.write_text('{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a"}}')
    assert main(["check", "--from", str(path)]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 8
    (missing,) = (line for line in lines if line.startswith("  no "))
    assert re.search(r" in the dump: \d+ checks; add: kubectl get \S+,pods,\S+ -A -o yaml$", missing)


def test_one_kind_that_a_dump_lacks_has_its_own_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = [each for each in sample_fleet(NOW).objects if each["kind"] != "Pod"]
    path = tmp_path / "dump.yaml"
    path.write_text(many(objects), encoding="utf-8")
    assert main(["check", "--from", str(path), "--now", "2026-11-21T00:00:00Z", "--check", "launchers"]) == 2
    assert "".join(capsys.readouterr().out.partition("No answer:\n")[1:]).splitlines()[:3] == [
        "No answer:",
        "  no Pods in the dump: 1 check; add: kubectl get pods -A -o yaml",
        "  or say --complete, if what the dump lacks has no objects",
    ]


def test_what_is_asked_for_can_be_selected(check: Check, report: Any) -> None:
    def shown(*words: str) -> list[Any]:
        found: list[Any] = json.loads(check(*words, "-o", "json")[1])["findings"]
        return found

    every = report["findings"]
    assert {f["reason"] for f in shown("vm/shop/pinned")} == {"LabellessPin"}
    assert shown("vm/pinned") == shown("vm/shop/pinned") == shown("vm/pinned", "-n", "shop")
    assert shown("network/lab-bench") == [f for f in every if f["network"] == "lab-bench"] != []
    at_node = shown("node/node05")
    assert at_node != []
    assert all(f["node"] == "node05" or "node05" in json.dumps([f["subject"], *f["related"]]) for f in at_node)
    one = every[0]
    assert shown(one["fingerprint"][:8]) == [one]
    assert shown(one["cause"]) == [f for f in every if f["cause"] == one["cause"]]
    assert shown("--severity", "info") == [f for f in every if f["severity"] == "info"] != []
    assert shown("-A") == every


def test_the_exit_code_is_1_from_the_severity_on_that_is_named(check: Check) -> None:
    assert check("--severity", "info", "--reason", "OrphanPDB")[0] == 1
    assert check("--severity", "info", "--reason", "OrphanPDB", "--fail-on", "warning")[0] == 0
    assert check("--reason", "LabellessPin", "--fail-on", "critical")[0] == 1


def test_names_are_those_that_select_again(check: Check, report: Any) -> None:
    _, text = check("-o", "name", "--reason", "OrphanPDB")
    (name,) = text.splitlines()
    assert name.startswith("poddisruptionbudget/telecom/kubevirt-disruption-budget-")
    assert check(name, "-o", "name")[1].splitlines() == [name]


def test_csv_has_a_row_for_each_finding(check: Check, report: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(check("-o", "csv")[1])))
    assert [row["fingerprint"] for row in rows] == [f["fingerprint"] for f in report["findings"]]
    assert [row["message"] for row in rows] == [f["message"] for f in report["findings"]]


def test_wide_has_the_ids_and_the_whole_of_each_finding(check: Check, report: Any) -> None:
    text = check("-o", "wide")[1]
    for finding in report["findings"]:
        (line,) = (line for line in text.splitlines() if finding["fingerprint"] in line)
        assert finding["cause"] in line
        assert line.endswith(finding["message"])
    assert text.splitlines()[-2].endswith(f"{len(report['findings'])} findings of {len(report['causes'])} causes.")


@each_of(
    ("seconds", "shown"),
    [
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (330, "5m30s"),
        (2820, "47m"),
        (10799, "179m"),
        (18600, "5h10m"),
        (8 * 3600 + 600, "8h"),
        (47 * 3600, "47h"),
        (5 * 86400 + 3 * 3600, "5d3h"),
        (300 * 86400, "300d"),
        (3 * 365 * 86400 + 10 * 86400, "3y10d"),
        (9 * 365 * 86400 + 10 * 86400, "9y"),
    ],
)
def test_ages_are_those_of_kubectl(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_an_age_is_no_more_exact_than_it_is_known() -> None:
    at = NOW.timestamp()
    assert age("2026-11-18T00:00:00Z", "creationTimestamp", at) == "3d"
    assert age("2026-11-20T23:58:00Z", "firstSeen", at) == "≥ 2m"
    assert age("", "firstSeen", at) == "-"
    assert age("2026-11-21T00:00:05Z", "condition", at) == "0s"  # the clocks of two hosts differ
