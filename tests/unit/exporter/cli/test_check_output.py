"""What `steward check` prints for people and programs, what it leaves out, and how it exits."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import main
from exporter.checks import all_checks
from exporter.cli.input.filters import ObjectSelection, selection_of
from exporter.findings.check import PER_FLEET
from exporter.store.kind import ApiKind
from exporter.store.reader import watched
from tests.all_of import each_of
from tests.case_files import read_yaml

Check = Callable[..., tuple[int, str, str]]
OF_ONE_CLUSTER = [each for each in all_checks() if each.scope is not PER_FLEET]
NOW = datetime(2026, 11, 21, tzinfo=UTC)


@pytest.fixture
def check(dump: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    def run(*words: str, path: Path | str = dump) -> tuple[int, str, str]:
        code = main(["check", "--from", str(path), "--complete", "--now", "2026-11-21T00:00:00Z", *words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_the_report_is_the_one_of_the_api(report: Any, check: Check) -> None:
    fields = {"generation", "findings", "unknown", "sources", "undecodable", "notApplicable", "ready", "fleet"}
    assert set(report) == fields | {"causes"}
    assert {"critical", "warning"} <= {f["severity"] for f in report["findings"]}
    assert {source["state"] for source in report["sources"]} == {"read"}
    again = read_yaml(check("-o", "yaml")[1])
    assert {**again, "generation": 0} == {**report, "generation": 0}  # it counts slices


def test_each_output_says_what_to_do(report: Any, check: Check) -> None:
    finding = next(f for f in report["findings"] if f["reason"] == "OrphanPDB")
    delete = finding["commands"][-1]
    assert finding["subject"]["uid"] in delete

    assert not any(line.lstrip().startswith(("next:", "$", "repair:")) for line in check()[1].splitlines())
    lines = check("--commands")[1].splitlines()
    head = next(number for number, line in enumerate(lines) if "OrphanPDB" in line)
    *looks, change = (f"$ {command}" for command in finding["commands"])
    impact = next(line for line in lines[head:] if line.lstrip().startswith("Impact: ")).strip()
    advice = [impact, f"next: {finding['next']}", "Look:", *looks, "Change:"]
    advice += ["# Deletes the object, which can't be undone.", change]
    assert lines[head + 1 : head + 1 + len(advice)] == [f"{' ' * 10}{line}" for line in advice]
    repair, after = lines[head + 1 + len(advice) : head + 1 + len(advice) + 2]
    assert repair.startswith(f"{' ' * 10}repair: delete_orphan_pdb: ")
    assert "steward reconcile" not in after  # which looks at a cluster, and this is a dump
    assert finding["remediation"] == "delete_orphan_pdb"

    (run,) = json.loads(check("-o", "sarif")[1])["runs"]
    (result,) = (each for each in run["results"] if each["ruleId"] == "eviction_pdbs/OrphanPDB")
    rule = run["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert rule["helpUri"] == finding["runbook"]
    assert rule["help"]["text"]
    text = result["message"]["text"]
    assert finding["message"] in text
    assert text.endswith("\n".join((finding["next"], *finding["commands"], finding["runbook"])))


def test_sarif_has_what_its_schema_requires(report: Any, check: Check) -> None:
    log = json.loads(check("-o", "sarif")[1])
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    (invocation,) = run["invocations"]

    assert (log["version"], run["tool"]["driver"]["name"]) == ("2.1.0", "steward")
    assert len({rule["id"] for rule in rules}) == len(rules) == sum(len(each.reasons) for each in OF_ONE_CLUSTER)
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == len(report["unknown"])
    levels = {"critical": "error", "warning": "warning", "info": "note"}
    for result, finding in zip(run["results"], report["findings"], strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == f"{finding['check']}/{finding['reason']}"
        assert result["level"] == levels[finding["severity"]]
        assert finding["message"] in result["message"]["text"]
        (place,) = result["locations"][0]["logicalLocations"]
        assert place["fullyQualifiedName"].endswith(f"/{finding['subject']['name']}")


def test_what_is_shown_can_be_narrowed(report: Any, check: Check) -> None:
    def shown(*words: str) -> list[Any]:
        found: list[Any] = json.loads(check("-o", "json", *words)[1])["findings"]
        return found

    every = report["findings"]
    assert shown("--min-severity", "critical") == [f for f in every if f["severity"] == "critical"]
    assert shown("--min-severity", "warning") == [f for f in every if f["severity"] != "info"]
    assert shown("-n", "shop", "--namespace", "billing") == [
        f for f in every if f["subject"]["namespace"] in ("shop", "billing")
    ]
    assert shown("--check", "sources") == [f for f in every if f["check"] == "sources"] != []
    assert shown("--check", "sources", "--check", "ipam_claims") == [
        f for f in every if f["check"] in ("sources", "ipam_claims")
    ]
    assert shown("--reason", "OrphanClaim") == [f for f in every if f["reason"] == "OrphanClaim"] != []
    for words, seconds in (("90s", 90), ("10m", 600), ("2h", 7200), ("1d", 86400), ("0.5d", 43200)):
        dated = [f for f in every if f["since"]]
        old = [f for f in dated if (NOW - datetime.fromisoformat(f["since"])).total_seconds() >= seconds]
        assert shown("--min-age", words) == old
        assert 0 < len(old) < len(every)


def test_the_exit_code_is_of_what_is_shown_and_of_all_that_is_not_known(check: Check) -> None:
    assert check("--check", "sources")[0] == 1
    assert check("--check", "sources", "--min-severity", "critical")[0] == 0
    assert check("--check", "sources", "--namespace", "shop")[0] == 0
    assert check("--check", "ipam_claims", "--namespace", "shop", "--min-age", "9000d")[0] == 0
    assert check("--check", "ipam_claims", "--namespace", "legacy", "--min-age", "9000d")[0] == 2
    assert check("--reason", "KindForbidden")[0] == 0
    assert check("--reason", "OrphanClaim", "--min-age", "9000d")[0] == 2


@each_of(
    ("words", "said"),
    [
        (["--check", "ipam_claim"], "no check is called 'ipam_claim'; did you mean ipam_claims?"),
        (["--reason", "OrphanClaims"], "no reason is called 'OrphanClaims'; did you mean OrphanClaim?"),
        (["--min-age", "10"], "'10' is not a duration. Write it as 90s, 10m, 2h or 1d"),
        (["--now", "yesterday"], "'yesterday' is no time"),
        (["--now", "2026-11-21T00:00:00"], "is no time; write it as 2026-11-21T17:30:00Z"),
        (["--min-severity", "bad"], "invalid choice: 'bad'"),
        (["-n", "a", "-A"], "not allowed with argument"),
        (["vm/"], "'vm/' selects nothing; write it as vm/NAME, vm/NAMESPACE/NAME, node/NAME or network/NAME, "),
        (["vm/pined"], "no VM is called 'pined'; did you mean"),
        (["node/node99"], "no node is called 'node99'; did you mean node0"),
        (["network/nosuch"], "no network is called 'nosuch'; there are"),
        (["ffffffffffffffff"], "no finding and no cause has ID ffffffffffffffff, or it is gone"),
    ],
)
def test_a_wrong_word_is_answered_in_a_sentence(
    words: list[str], said: str, dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code = main(["check", "--from", str(dump), *words])
    except SystemExit as stopped:  # argparse puts the usage before its sentence
        code = int(str(stopped.code))
    assert code == 2
    assert said in capsys.readouterr().err.splitlines()[-1]


def test_a_kind_may_be_called_as_kubectl_calls_it() -> None:
    """As `kubectl get -o name` prints it, too: `virtualmachine.kubevirt.io/web`."""
    kinds = [each for each in watched(all_checks()) if isinstance(each, ApiKind)]
    for kind in kinds:
        name = kind.name.lower()
        ways = (kind.name, kind.plural, kind.resource, *((f"{name}.{kind.group}",) if kind.group else ()))
        assert {selection_of((f"{way}/shop/web",)) for way in ways} == {selection_of((f"{name}/shop/web",))}, kind
    own = ObjectSelection(vms=("shop/web",))
    assert {*map(selection_of, (("vms/shop/web",), ("vmis/shop/web",), ("virtualmachine.kubevirt.io/shop/web",)))} == {
        own
    }
    assert selection_of(("nodes/node01",)) == ObjectSelection(nodes=("node01",))


def test_a_check_that_is_switched_off_is_not_fine(dump: Path, tmp_path: Path, check: Check) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("checks: {ipam_claims: {enabled: false}}", encoding="utf-8")
    code, out, err = check("--config", str(config), "--check", "ipam_claims")
    assert (code, out) == (2, "")
    assert "switched off by the configuration" in err
    (run,) = json.loads(check("--config", str(config), "-o", "sarif")[1])["runs"]
    assert "ipam_claims" not in {rule["id"].partition("/")[0] for rule in run["tool"]["driver"]["rules"]}


def test_complete_needs_a_dump(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--complete"]) == 2
    assert "it needs --from" in capsys.readouterr().err


def test_a_terminal_sees_how_far_it_is_and_nobody_else(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check()[2] == ""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    check()
    assert "reading: 1 file, " in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_no_character_of_a_name_reaches_a_terminal_raw(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = "n\x1b[31m\x9b\u202e\u200b\nforged"
    node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": evil}, "spec": {"unschedulable": True}}
    nad = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"namespace": "ns", "name": "blue"},
        "spec": {"config": json.dumps({"type": "ovn-k8s-cni-overlay", "name": evil, "topology": "layer2"})},
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps([node, nad]), encoding="utf-8")
    for words in (["drain", "--all-cordoned"], ["networks"], ["check"]):
        main([*words, "--from", str(path), "--complete"])
        shown = capsys.readouterr()
        assert not {"\x1b", "\x9b", "\u202e", "\u200b"} & set(shown.out + shown.err)
        assert not any(line.startswith("forged") for line in (shown.out + shown.err).splitlines())
    main(["drain", "--all-cordoned", "--from", str(path), "--complete", "-o", "json"])
    out = capsys.readouterr().out
    assert json.loads(out)["nodes"][0]["node"] == evil
    assert not {"\x1b", "\x9b", "\u202e", "\u200b"} & set(out)


def test_what_is_not_expected_exits_as_not_seen(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(_: object) -> None:
        raise RuntimeError("a\x1bb")

    monkeypatch.setattr("exporter.cli.commands.check.dumps_of", fail)
    assert main(["check", "--from", "x"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("steward: unexpected RuntimeError: a?b; please report this")
    assert len(shown.err.splitlines()) == 1


def test_a_full_disk_behind_the_output_is_said(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("exporter.__main__._let_go", lambda _: None)
    with open("/dev/full", "w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["check", "--from", str(dump), "--complete"]) == 2
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()
    assert capsys.readouterr().err == "steward: the output can't be written: No space left on device\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_the_encoding_of_the_terminal_may_lack_characters(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm-€", "namespace": "ns"}}
    vm |= {"spec": {"template": {"spec": {"domain": {"firmware": {"uuid": "x"}}}}}}
    kubevirt = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt"},
        "status": {"phase": "Deployed", "observedKubeVirtVersion": "v1.8.4"},
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [vm, kubevirt]}))
    shown = {}
    for output in ("table", "json", "yaml", "sarif"):
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
        assert main(["check", "--from", str(path), "--complete", "-o", output]) == 1
        shown[output] = written.getvalue().decode(encoding if output == "table" else "utf-8")
    assert "ns/vm-?" in shown.pop("table")
    assert all("vm-€" in each for each in shown.values())


@each_of("words", [["--help"], ["check", "--help"], ["explain", "nonesuch"], ["check", "--bogus"]])
@each_of("closed", [False, True])
def test_an_answer_that_can_be_written_nowhere_is_no_finding(closed: bool, words: list[str]) -> None:
    command = [sys.executable, "-m", "exporter", *words]
    to = ">&- 2>&-" if closed else ">/dev/full 2>/dev/full"
    assert subprocess.run(["sh", "-c", f'"$@" {to}', "sh", *command], check=False).returncode == 2


def test_what_could_not_be_said_changes_no_exit_code() -> None:
    command = [sys.executable, "-m", "exporter", "explain"]
    assert (
        subprocess.run(["sh", "-c", '"$@" 2>/dev/full', "sh", *command], check=False, capture_output=True).returncode
        == 0
    )
