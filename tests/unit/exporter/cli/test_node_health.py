"""What the node can do comes before what a VM asks for: nothing is migrated off one that is lost, or whose virt-handler
gives no sign, and no command says of a VM there that nothing is wrong.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import main
from tests.drain_rows import Drained, Row, guest, node
from tests.evaluation import api_kinds
from tests.rows import full

REQUESTED = "2026-06-01T10:00:00Z"
LOST: Row = {"ready": False}
SILENT: Row = {"labels": {"kubevirt.io/schedulable": "false"}}
STATES = {"NodeLost": LOST, "NodeUnheard": SILENT}
# Every strategy, and what its VMI may wait for.
GUESTS: dict[str, dict[str, Any]] = {
    "LiveMigrate": {},
    "LiveMigrateIfPossible": {"strategy": "LiveMigrateIfPossible"},
    "None": {"strategy": "None"},
    "asked": {"evacuation": "node01", "evacuation_since": REQUESTED},
    "elsewhere": {"evacuation": "node09", "evacuation_since": REQUESTED},
    "outdated": {"outdated": True},
}
MIGRATES = ("virtctl migrate -", "kind: VirtualMachineInstanceMigration", "kubectl drain")
SAYS = {
    "NodeLost": "node node01 is not Ready, so none of its VMIs migrates and none of its pods ends",
    "NodeUnheard": "virt-handler on node node01 sends no heartbeat, so a migration off the node would hang",
}


def cluster(reason: str, cordoned: bool, **more: Any) -> list[Row]:
    own = node("node01", **STATES[reason], **({"cordoned": REQUESTED} if cordoned else {}))
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"}
    vm = {"kind": "VirtualMachine", "name": "web", "uid": "vm-web", "run_strategy": "Always"}
    return [own, node("node02"), node("node03"), kubevirt, vm, *guest("web", **more)]


def written(folder: Path, rows: list[Row]) -> str:
    kinds, items = api_kinds(), []
    for row in rows:
        made = full(row)
        kind = kinds[made["kind"]]
        items.append({**made, "apiVersion": f"{kind.group}/{kind.versions[0]}" if kind.group else kind.versions[0]})
    path = folder / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}), encoding="utf-8")
    return str(path)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    code = main(list(words))
    shown = capsys.readouterr()
    assert shown.err == ""
    return code, shown.out


@pytest.mark.parametrize("cordoned", [False, True], ids=["open", "cordoned"])
@pytest.mark.parametrize("reason", STATES)
def test_nobody_is_advised_to_migrate_off_it(
    reason: str, cordoned: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = []
    for name, more in GUESTS.items():
        dump = ["--from", written(tmp_path, cluster(reason, cordoned, **more)), "--complete"]
        asked = (
            ("drain", "node01"),
            ("vm", "ns/web"),
            ("check", "vm/ns/web", "--commands"),
            ("check", "-n", "ns", "--commands"),
            ("check", "--commands"),
        )
        for words in asked:
            code, out = said(capsys, *words, *dump)
            advised = [each for each in MIGRATES if each in out]
            if advised or code == 0 or "could take it.\n" in out.partition("At its next start")[0]:
                wrong.append((name, words, code, advised, out))
    assert wrong == []


@pytest.mark.parametrize("reason", STATES)
def test_what_would_migrate_stays_and_the_next_step_is_about_the_node(
    reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = ["--from", written(tmp_path, cluster(reason, cordoned=False)), "--complete"]
    code, out = said(capsys, "drain", "node01", "-o", "json", *dump)
    (vm,) = json.loads(out)["nodes"][0]["vms"]
    assert (code, vm["state"], vm["reason"], vm["target"], vm["to"]) == (1, "blocked", reason, "", "")
    assert SAYS[reason] in f"{vm['why'][0].lower()}{vm['why'][1:]}"
    assert "node01" in vm["next"]

    code, out = said(capsys, "vm", "ns/web", "-o", "json", *dump)
    whole = json.loads(out)
    assert (code, whole["migration"]["migratable"], whole["targets"]) == (1, "True", None)
    assert whole["migration"]["obstacle"] == SAYS[reason]
    verdicts = {each["act"]: each for each in whole["verdicts"]}
    assert verdicts["migrate"]["answer"] == "no"
    assert reason in {each["reason"] for each in verdicts["migrate"]["reasons"]}
    assert "Do not migrate it: " in said(capsys, "vm", "ns/web", *dump)[1]


@pytest.mark.parametrize("words", [["vm/ns/web"], ["vm/web"], ["-n", "ns"], ["-l", "app=web"]], ids=" ".join)
@pytest.mark.parametrize("reason", STATES)
def test_that_the_node_is_ill_is_said_of_each_vm_on_it(
    reason: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = cluster(reason, cordoned=False)
    other = [{"kind": "VirtualMachine", "name": "other", "uid": "vm-other", "namespace": "calm"}]
    other += guest("other", node="node02", namespace="calm")
    for row in rows:
        if row["kind"] == "VirtualMachine":
            row["labels"] = {"app": "web"}
    dump = ["--from", written(tmp_path, [*rows, *other]), "--complete"]
    code, out = said(capsys, "check", *words, "-o", "json", *dump)
    report = json.loads(out)
    assert code == 1
    assert (reason, "Node", "node01") in {
        (each["reason"], each["subject"]["kind"], each["subject"]["name"]) for each in report["findings"]
    }
    assert reason in {each["reason"] for each in report["causes"]}
    for calm in (["vm/calm/other"], ["-n", "calm"]):
        shown = json.loads(said(capsys, "check", *calm, "-o", "json", *dump)[1])
        assert reason not in {each["reason"] for each in shown["findings"]}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES)
def test_of_a_node_that_is_well_again_it_is_as_before(state: Row) -> None:
    drained = Drained(*guest("web"), nodes=[node("node01", **state), node("node02")])
    assert drained.reported()[0] == "blocked"
    drained.seen(full(node("node01")))
    assert drained.reported() == ("waiting", "")
