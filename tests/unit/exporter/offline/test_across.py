"""Several dumps at once: each is evaluated on its own, and what they share is found."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from demo.fleet.sample import sample_fleet
from exporter.__main__ import main
from exporter.cli.output.findings.report import _RENDERERS
from exporter.facts.firmware import group_id, legacy
from tests.case_files import read_yaml
from tests.dumps import many, plain_list
from tests.manifests import Object

Check = Callable[..., tuple[int, str, str]]
ALIKE = "1b4e28ba-2fa1-41d2-883f-0016d3cca427"
NOW = "2026-11-21T00:00:00Z"
FLEET = "firmware_across_clusters"


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    def run(*words: str) -> tuple[int, str, str]:
        code = main(["check", "--now", NOW, *words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def vm(name: str, uuid: str = "", **meta: Any) -> Object:
    domain = {"firmware": {"uuid": uuid}} if uuid else {}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"namespace": "ns", "name": name, "uid": f"vm-{name}", **meta},
        "spec": {"runStrategy": "Always", "template": {"spec": {"domain": domain}}},
    }


def vmi(name: str, uuid: str = "", phase: str = "Running", alone: bool = False, **meta: Any) -> Object:
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": name, "uid": f"vm-{name}"}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {
            "namespace": "ns",
            "name": name,
            "uid": f"vmi-{name}",
            "ownerReferences": [] if alone else [owner],
            **meta,
        },
        "spec": {"domain": {"firmware": {"uuid": uuid}}},
        "status": {"phase": phase},
    }


def of_cluster(name: str, value: Any) -> Any:
    """Objects as this cluster has them: their UIDs are its own."""
    if isinstance(value, list):
        return [of_cluster(name, each) for each in value]
    if not isinstance(value, dict):
        return value
    uids = ("uid", "kubevirt.io/created-by")
    return {key: f"{name}-{each}" if key in uids else of_cluster(name, each) for key, each in value.items()}


@pytest.fixture
def shared(check: Check, tmp_path: Path) -> Callable[..., list[Any]]:
    """The findings on UUIDs that clusters a, b, … share, worst first; the clusters hold these objects."""

    def find(*clusters: list[Object]) -> list[Any]:
        words: list[str] = []
        for name, objects in zip("abcdef", clusters, strict=False):
            own = of_cluster(name, [*objects, vm(f"other-{name}")])
            (tmp_path / f"{name}.yaml").write_text(many(own), encoding="utf-8")
            words += ["--from", str(tmp_path / f"{name}.yaml")]
        _, out, err = check(*words, "--complete", "--check", FLEET, "-o", "json")
        report = json.loads(out)
        assert (report["unknown"], err) == ([], "")
        found: list[Any] = report["findings"]
        return found

    return find


def brief(findings: list[Any]) -> list[tuple[str, str, str]]:
    return [(f["cluster"], f["subject"]["name"], f["severity"]) for f in findings]


# -- what is shared


def test_two_that_run_with_one_uuid_are_a_warning_on_each(shared: Callable[..., list[Any]]) -> None:
    one, two = shared([vm("db", ALIKE), vmi("db", ALIKE)], [vm("copy", ALIKE.upper()), vmi("copy", ALIKE)])

    assert brief([one, two]) == [("a", "db", "warning"), ("b", "copy", "warning")]
    assert (one["check"], one["reason"]) == (FLEET, "DuplicateAcrossClusters")
    assert one["subject"] == {"kind": "VirtualMachine", "namespace": "ns", "name": "db", "uid": "a-vm-db"}
    assert one["evidence"] == {"uuid": ALIKE, "running": True, "others": ["b/ns/copy"], "holders": 2}
    assert one["group"] == two["group"] == group_id(ALIKE)
    assert one["message"] == "The VM has the same firmware UUID as b/ns/copy (running)."
    assert (one["since"], one["sinceSource"]) == ("", "firstSeen")
    assert one["next"].startswith("If one VM must not run alongside its original, stop it")
    assert one["commands"] == ["kubectl get virtualmachines.kubevirt.io -n ns db -o yaml"]
    assert one["runbook"].endswith("/VMFirmwareUUIDDuplicateAcrossClusters.md#duplicateacrossclusters")


@pytest.mark.parametrize(
    "second",
    [
        [vm("db", ALIKE)],
        [vm("db", ALIKE), vmi("db", ALIKE, phase="Succeeded")],
        [vm("db", ALIKE, deletionTimestamp=NOW), vmi("db", ALIKE)],
        [vm("db", ALIKE), vmi("db", ALIKE, deletionTimestamp=NOW)],
    ],
    ids=["stopped", "ended", "going", "stopping"],
)
def test_one_that_does_not_run_informs(second: list[Object], shared: Callable[..., list[Any]]) -> None:
    found = shared([vm("db", ALIKE), vmi("db", ALIKE)], second)
    assert brief(found) == [("a", "db", "info"), ("b", "db", "info")]
    assert {f["next"] for f in found} == {"Before both VMs run, give one without a persistent TPM a new firmware UUID."}


def test_the_uuid_that_runs_counts_not_that_of_the_next_start(shared: Callable[..., list[Any]]) -> None:
    assert shared([vm("db", ALIKE), vmi("db", "2b4e28ba-2fa1-41d2-883f-0016d3cca427")], [vm("db", ALIKE)]) == []


def test_what_its_own_cluster_warns_of_comes_first(shared: Callable[..., list[Any]]) -> None:
    other = "5c9b3f9a-0d1e-4c7b-8f6a-2b1d0e9c8a77"
    changes, keeps = [vm("a", other), vmi("a", ALIKE)], [vm("b", ALIKE), vmi("b", ALIKE)]
    steps = {each["cluster"]: each["next"] for each in shared(changes, keeps)}

    stop = (
        "If one VM must not run alongside its original, stop it. Otherwise, give a VM without persistent TPM a new"
        " UUID."
    )
    first = "Before you stop the VM, see SpecRunMismatch: its next start changes its firmware UUID."
    assert steps == {"a": f"{first} {stop}", "b": stop}


def test_a_lone_vmi_is_a_vm(shared: Callable[..., list[Any]]) -> None:
    found = shared([vmi("x", ALIKE, alone=True)], [vm("y", ALIKE), vmi("y", ALIKE)])
    assert [(f["subject"]["kind"], f["severity"]) for f in found] == [
        ("VirtualMachineInstance", "warning"),
        ("VirtualMachine", "warning"),
    ]
    assert found[0]["commands"] == ["kubectl get virtualmachineinstances.kubevirt.io -n ns x -o yaml"]


def test_a_uuid_within_one_cluster_is_a_check_s_concern(shared: Callable[..., list[Any]]) -> None:
    assert shared([vm("one", ALIKE), vm("two", ALIKE)], []) == []


@pytest.mark.parametrize("uuid", ["00000000-0000-0000-0000-000000000000", "03000200-0400-0500-0006-000700080009", "x"])
def test_what_identifies_nobody_is_not_shared(uuid: str, shared: Callable[..., list[Any]]) -> None:
    assert shared([vm("one", uuid)], [vm("two", uuid)]) == []


def test_names_that_two_clusters_share_give_one_uuid(shared: Callable[..., list[Any]]) -> None:
    both = shared([vm("db")], [vm("db", legacy("db"))])
    assert {f["evidence"]["hint"] for f in both} == {"legacy: derived from the name of each VM"}
    assert all(f["message"].endswith(". KubeVirt derived it from the name of each VM.") for f in both)

    three = shared([vm("db")], [vm("db")], [vm("copy", legacy("db"))])
    assert [f["evidence"].get("hint", "") for f in three] == [
        "legacy: derived from the VM's name",
        "legacy: derived from the VM's name",
        "",
    ]
    assert three[2]["evidence"]["others"] == ["a/ns/db", "b/ns/db"]


def test_of_many_holders_those_of_other_clusters_and_that_run_are_named_first(shared: Callable[..., list[Any]]) -> None:
    copies = [vm(f"copy-{n}", ALIKE) for n in range(30)]
    found = {f["subject"]["name"]: f for f in shared([*copies, vmi("copy-7", ALIKE)], [vm("db", ALIKE)])}
    assert len(found) == 31
    assert (found["db"]["evidence"]["holders"], len(found["db"]["evidence"]["others"])) == (31, 10)
    assert found["db"]["evidence"]["others"][0] == "a/ns/copy-7"
    assert found["db"]["message"].endswith(" and 20 more.")
    assert found["copy-3"]["evidence"]["others"][:2] == ["b/ns/db", "a/ns/copy-7"]


# -- several dumps


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The demo's fleet, twice: the second time only its namespace `shop`."""
    objects = sample_fleet(datetime(2026, 11, 21, tzinfo=UTC)).objects
    names = {"shop", "kubevirt"}
    shop = [thing for thing in objects if names & {thing["metadata"].get("namespace"), thing["metadata"]["name"]}]
    folder = tmp_path_factory.mktemp("dumps")
    for name, held in (("north", list(objects)), ("south", of_cluster("south", shop))):
        (folder / f"{name}.json").write_text(json.dumps(plain_list(held)), encoding="utf-8")
    return str(folder / "north.json"), str(folder / "south.json")


def without_cluster(finding: Any) -> Any:
    return {key: value for key, value in finding.items() if key != "cluster"}


def test_each_is_evaluated_as_if_it_were_alone(dumps: tuple[str, str], check: Check) -> None:
    north, south = dumps
    alone = {
        name: json.loads(check("--from", path, "--complete", "-o", "json")[1])
        for name, path in zip(("north", "south"), dumps, strict=True)
    }
    code, out, _ = check("--from", north, "--from", f"branch={south}", "--complete", "-o", "json")
    both = json.loads(out)

    assert code == 2  # north has a claim that can't be read
    for name, called in (("north", "north"), ("south", "branch")):
        own = [f for f in both["findings"] if f["cluster"] == called and f["check"] != FLEET]
        assert list(map(without_cluster, own)) == list(map(without_cluster, alone[name]["findings"]))
        assert {f["cluster"] for f in alone[name]["findings"]} == {""}
        assert sum(each["cluster"] == called for each in both["sources"]) == len(alone[name]["sources"])
    assert {u["cluster"] for u in both["unknown"]} == {"north"}
    across = [f for f in both["findings"] if f["check"] == FLEET]
    assert {f["subject"]["namespace"] for f in across if f["cluster"] == "branch"} == {"shop"}
    assert {f["cluster"] for f in across} == {"north", "branch"}
    assert {f["severity"] for f in across} == {"warning", "info"}


def test_every_output_names_the_cluster(dumps: tuple[str, str], check: Check) -> None:
    words = [word for path in dumps for word in ("--from", path)] + ["--complete", "--min-severity", "warning"]
    found = json.loads(check(*words, "-o", "json")[1])["findings"]
    in_yaml = read_yaml(check(*words, "-o", "yaml")[1])["findings"]
    assert [(f["cluster"], f["fingerprint"]) for f in in_yaml] == [(f["cluster"], f["fingerprint"]) for f in found]
    assert {f["cluster"] for f in found} == {"north", "south"}

    text = check(*words)[1]
    head, first, *_ = text.splitlines()
    assert head.split()[:3] == ["CLUSTER", "SEVERITY", "REASON"]
    assert first.split()[0] == found[0]["cluster"]
    assert re.search(rf"^\d+ critical, \d+ warning: {len(found)} findings of \d+ causes\.$", text, re.MULTILINE)
    assert "\nsouth: " in text

    (run,) = json.loads(check(*words, "-o", "sarif")[1])["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert f"{FLEET}/DuplicateAcrossClusters" in rules
    for result, finding in zip(run["results"], found, strict=True):
        assert rules[result["ruleIndex"]] == f"{finding['check']}/{finding['reason']}"
        assert result["properties"]["cluster"] == finding["cluster"]
        (place,) = result["locations"][0]["logicalLocations"]
        assert place["fullyQualifiedName"].startswith(f"{finding['cluster']}/")
    marks = [result["partialFingerprints"]["steward/v1"] for result in run["results"]]
    assert len(set(marks)) == len(marks)


def test_one_dump_has_no_cluster_column_and_may_have_a_name(dumps: tuple[str, str], check: Check) -> None:
    code, text, _ = check("--from", dumps[1], "--complete")
    assert text.startswith("SEVERITY  REASON")
    assert (code, text) == check("--from", f"prod={dumps[1]}", "--complete")[:2]
    report = json.loads(check("--from", f"prod={dumps[1]}", "--complete", "-o", "json")[1])
    assert {f["cluster"] for f in report["findings"]} == {"prod"}


def test_what_is_shown_is_narrowed_in_all_of_them(dumps: tuple[str, str], check: Check) -> None:
    words = [word for path in dumps for word in ("--from", path)] + ["--complete", "-o", "json"]

    def shown(*more: str) -> list[Any]:
        found: list[Any] = json.loads(check(*words, *more)[1])["findings"]
        return found

    assert {f["subject"]["namespace"] for f in shown("-n", "shop")} == {"shop"}
    assert {f["check"] for f in shown("--check", "ipam_claims")} == {"ipam_claims"}
    assert {f["check"] for f in shown("--check", FLEET)} == {FLEET}
    assert FLEET not in {f["check"] for f in shown("--min-age", "1m")}  # nothing tells since when


def test_one_that_can_not_be_read_does_not_keep_the_others(dumps: tuple[str, str], check: Check) -> None:
    code, out, err = check("--from", "gone=/no/such/file", "--from", dumps[1], "--complete", "-o", "json")
    report = json.loads(out)
    assert code == 2
    assert err.count("\n") == 1
    assert err.startswith("steward: gone: /no/such/file can't be read: ")
    assert {f["cluster"] for f in report["findings"]} == {"south"}
    assert [(undecodable["kind"], undecodable["cluster"]) for undecodable in report["undecodable"]] == [
        ("File", "gone")
    ]

    code, out, err = check("--from", "gone=/no/such/file", "--from", dumps[1], "--complete")
    assert "\ngone: nothing was read.\n" in out
    assert check("--from", "/no/such/file")[:2] == (2, "")


def test_what_a_dump_lacks_is_asked_for_by_its_cluster(dumps: tuple[str, str], tmp_path: Path, check: Check) -> None:
    partial = tmp_path / "east.yaml"
    partial.write_text(many([vm("db", ALIKE)]), encoding="utf-8")
    code, out, _ = check("--from", dumps[0], "--from", str(partial), "--check", FLEET)

    assert code == 2
    assert "No answer of east:\n" in out
    assert "add: kubectl get virtualmachineinstances.kubevirt.io -A -o yaml\n" in out
    _, out, _ = check("--from", dumps[0], "--from", str(partial), "--check", FLEET, "--commands")
    assert "; this names it too:\n  for path in /apis/kubevirt.io/v1/virtualmachineinstances /apis/" in out
    assert "of north" not in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["one/all.yaml", "two/all.yaml"], "two dumps are called 'all', one/all.yaml and two/all.yaml; give each"),
        (["x=one", "x=two"], "two dumps are called 'x', one and two; give each its cluster's name: --from NAME=two"),
        (["a", "=b"], "'=b' names no cluster and dump; write it as --from NAME=PATH"),
        (["a=", "b"], "'a=' names no cluster and dump; write it as --from NAME=PATH"),
        (["x=-", "y=-"], "standard input can be read once"),
    ],
)
def test_names_that_do_not_tell_apart_are_refused(words: list[str], said: str, check: Check) -> None:
    code, out, err = check(*(part for word in words for part in ("--from", word)))
    assert (code, out) == (2, "")
    assert said in err


def test_a_cluster_is_called_after_its_file(tmp_path: Path, check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words: list[str] = []
    for name in ("must-gather.local.7/", "b.tar.yaml", "k=v.yml", "plain"):
        path = tmp_path / name
        if name.endswith("/"):
            path.mkdir()
            path = path / "vms.yaml"
        path.write_text(many([vm("db")]), encoding="utf-8")
        words += ["--from", name]
    report = json.loads(check(*words, "-o", "json")[1])
    assert {source["cluster"] for source in report["sources"]} == {"must-gather.local.7", "b", "k=v", "plain"}


def test_comparing_needs_two_dumps(dumps: tuple[str, str], check: Check) -> None:
    code, _, err = check("--from", dumps[0], "--check", FLEET)
    assert code == 2
    assert f"{FLEET} compares clusters; give --from for each of them" in err


@pytest.mark.parametrize("what", [FLEET, "DuplicateAcrossClusters"])
def test_it_is_explained(what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", what]) == 0
    text = capsys.readouterr().out
    assert "VMs of different clusters share a firmware UUID" in text
    assert "across" not in text.replace(FLEET, "").replace("AcrossClusters", "").replace("#duplicateacrossclusters", "")
    main(["explain"])
    assert FLEET in capsys.readouterr().out


# -- what is no duplicate, and what is one whatever else is seen


def migration(name: str, vmi: str, phase: str, **end: Any) -> Object:
    """One end of a migration between clusters."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceMigration",
        "metadata": {"namespace": "ns", "name": name, "uid": name, "creationTimestamp": "2026-11-20T10:00:00Z"},
        "spec": {"vmiName": vmi, **end},
        "status": {"phase": phase},
    }


OLD = "2026-11-19T10:00:00Z"
SENDS, RECEIVES = {"sendTo": {"migrationID": "m1", "connectURL": "x"}}, {"receive": {"migrationID": "m1"}}


def receiving(phase: str) -> list[Object]:
    awaits = vm("db", ALIKE)
    awaits["spec"]["runStrategy"] = "WaitAsReceiver"
    return [awaits, vmi("db", ALIKE, phase=phase)]


@pytest.mark.parametrize(
    ("source", "target"),
    [("Running", "WaitingForSync"), ("Running", "Running"), ("Succeeded", "Running"), ("Running", "Scheduled")],
)
def test_both_ends_of_a_migration_between_clusters_have_one_uuid_by_design(
    source: str, target: str, shared: Callable[..., list[Any]]
) -> None:
    """Whichever of the two was dumped when."""
    sends = [vm("db", ALIKE), vmi("db", ALIKE, creationTimestamp=OLD)]
    one = [*sends, migration("out", "db", "Running" if source == "Running" else source, **SENDS)]
    other = [*receiving(target), migration("in", "db", "Running", **RECEIVES)]
    assert shared(one, other) == []
    assert shared(other, one) == []


def test_beside_the_two_ends_of_a_migration_a_third_one_is_a_duplicate(shared: Callable[..., list[Any]]) -> None:
    one = [vm("db", ALIKE), vmi("db", ALIKE), migration("out", "db", "Running", **SENDS)]
    other = [*receiving("Running"), migration("in", "db", "Running", **RECEIVES)]
    found = shared(one, other, [vm("copy", ALIKE), vmi("copy", ALIKE)])
    assert brief(found) == [("a", "db", "warning"), ("b", "db", "warning"), ("c", "copy", "warning")]
    assert [f["evidence"]["others"] for f in found] == [["c/ns/copy"], ["c/ns/copy"], ["a/ns/db", "b/ns/db"]]
    informs = shared(one, other, [vm("copy", ALIKE)])
    assert {f["severity"] for f in informs} == {"info"}


def test_a_vm_that_was_migrated_away_is_not_to_be_stopped_but_not_to_be_started(
    shared: Callable[..., list[Any]],
) -> None:
    halted = vm("db", ALIKE)
    halted["spec"]["runStrategy"] = "Halted"
    other = [*receiving("Running"), migration("in", "db", "Succeeded", **RECEIVES)]
    for left in ([halted], [vm("db", ALIKE), vmi("db", ALIKE, creationTimestamp=OLD)]):
        found = shared([*left, migration("out", "db", "Succeeded", **SENDS)], other)
        assert brief(found) == [("a", "db", "info"), ("b", "db", "info")]
        assert {f["next"].partition(". That")[0] for f in found} == {
            "If VM a/ns/db isn't needed, delete it. Otherwise, before its start, give it a new UUID"
        }


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_started_again_after_a_migration_it_is_a_duplicate(phase: str, shared: Callable[..., list[Any]]) -> None:
    again = [vm("db", ALIKE), vmi("db", ALIKE, creationTimestamp="2026-11-20T12:00:00Z")]
    other = [*receiving("Running"), migration("in", "db", phase, **RECEIVES)]
    found = shared([*again, migration("out", "db", phase, **SENDS)], other)
    assert brief(found) == [("a", "db", "warning"), ("b", "db", "warning")]


def system(uid: str) -> Object:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": uid}}


@pytest.mark.parametrize("alike", ["objects", "kube-system"])
def test_two_dumps_of_one_cluster_share_nothing(alike: str, tmp_path: Path, check: Check) -> None:
    """By the UIDs of their VMs, or by that of kube-system where a VM was made anew."""
    held = [vm("db", ALIKE), vmi("db", ALIKE)]
    third = of_cluster("third", [vm("copy", ALIKE)])
    later = held if alike == "objects" else of_cluster("anew", held)
    systems = [[], []] if alike == "objects" else [[system("s")], [system("s")]]
    words: list[str] = []
    for name, objects in (("one", [*held, *systems[0]]), ("two", [*later, *systems[1]]), ("three", third)):
        (tmp_path / f"{name}.yaml").write_text(many(objects), encoding="utf-8")
        words += ["--from", str(tmp_path / f"{name}.yaml")]
    _, out, err = check(*words[:4], "--complete", "--check", FLEET, "-o", "json")
    assert json.loads(out)["findings"] == []
    said = "steward: one and two are of one cluster: their VMs are not compared with each other\n"
    assert err == (said if systems[0] else "")
    found = json.loads(check(*words, "--complete", "--check", FLEET, "-o", "json")[1])["findings"]
    assert brief(found) == [("one", "db", "info"), ("three", "copy", "info"), ("two", "db", "info")]


def test_two_that_run_are_a_duplicate_whatever_else_a_dump_lacks(tmp_path: Path, check: Check) -> None:
    """Within one cluster and across two, with nothing but VMIs."""
    words: list[str] = []
    for name in ("one", "two"):
        held = of_cluster(name, [vmi("db", ALIKE), vmi("copy", ALIKE, namespace="other")])
        (tmp_path / f"{name}.json").write_text(json.dumps(plain_list(held)), encoding="utf-8")
        words += ["--from", str(tmp_path / f"{name}.json")]
    code, out, _ = check(*words[:2], "-o", "json")
    report = json.loads(out)
    assert code == 2
    assert {f["reason"] for f in report["findings"]} == {"Duplicate"}
    assert sorted(f["subject"]["name"] for f in report["findings"]) == ["copy", "db"]
    assert "firmware_duplicates" in {each["check"] for each in report["unknown"]}
    code, out, _ = check(*words, "-o", "json")
    report = json.loads(out)
    assert code == 2
    across = [f for f in report["findings"] if f["check"] == FLEET]
    assert [(f["cluster"], f["severity"]) for f in across] == [("one", "warning")] * 2 + [("two", "warning")] * 2


# -- every format shows what the JSON has


def test_every_format_shows_every_finding(dumps: tuple[str, str], check: Check) -> None:
    words = [word for path in dumps for word in ("--from", path)] + ["--complete"]
    report = json.loads(check(*words, "-o", "json")[1])
    findings = report["findings"]
    assert {FLEET} < {f["check"] for f in findings}
    ids = sorted(f["fingerprint"] for f in findings)

    wrong: dict[str, list[Any]] = {}
    for output in sorted(_RENDERERS.keys() - {"json"}):
        text = check(*words, "-o", output)[1]
        missing = [each for each in findings if not _shown(each, output, text)]
        wrong |= {output: missing} if missing else {}
    assert wrong == {}

    by_id = r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])"
    for output in ("wide", "csv", "html", "sarif", "yaml"):
        text = check(*words, "-o", output)[1]
        counted = Counter(re.findall(by_id, text))
        assert [each for each in set(ids) if counted[each] < ids.count(each)] == [], output
    assert all(
        any(c["cause"] == f["cause"] and c["cluster"] == f["cluster"] for c in report["causes"]) for f in findings
    )


def _shown(finding: Any, output: str, text: str) -> bool:
    """By its fingerprint; by its object where a format has none, or names as many as fit."""
    subject = finding["subject"]
    path = "/".join(filter(None, (subject["namespace"], subject["name"])))
    if output == "name":
        return f"{subject['kind'].lower()}/{path}" in text.splitlines()
    if output == "table":
        of = [line for line in text.splitlines() if finding["reason"] in line and line.startswith(finding["cluster"])]
        return bool(of) and (path in text or " more: steward check" in text)
    return finding["fingerprint"] in text


def test_without_vmims_the_ends_of_a_migration_say_that_they_are_such(tmp_path: Path, check: Check) -> None:
    held = [vmi("db", ALIKE), vmi("copy", ALIKE, namespace="other")]
    held[0]["status"]["migrationState"] = {"migrationUid": "m", "startTimestamp": OLD}
    (tmp_path / "one.json").write_text(json.dumps(plain_list(held)), encoding="utf-8")
    code, out, _ = check("--from", str(tmp_path / "one.json"), "-o", "json")
    assert (code, json.loads(out)["findings"]) == (2, [])
