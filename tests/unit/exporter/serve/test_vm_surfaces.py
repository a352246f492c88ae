"""One VM as users meet it: in the API and on the command line, live, of a dump, and by its manifest."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from demo.apiserver.server import kubeconfig
from exporter.__main__ import main
from exporter.questions.vm import KINDS
from exporter.store.kind import ApiKind

from ....all_of import each_of
from ....asking import get
from ....drain_rows import Row, node
from ....evaluation import api_kinds
from ....fakeapi.apiserver import FakeApiServer
from ....one_vm import running
from ....rows import full
from ....sharing import Fleet

SMALL = {"cpu": "16", "memory": "2Gi", "pods": "110"}
MAC = "02:00:00:00:00:01"
NETWORKS: Row = {"networks": {"blue": "blue"}, "macs": {"blue": MAC}}
WEB, VMI, POD = running("web", {"requests": {"memory": "4Gi"}}, migratable="DisksNotLiveMigratable", **NETWORKS)
ROWS: list[Row] = [
    node("node01"),
    node("node02", allocatable=SMALL),
    node("node03", taints=["gpu:NoSchedule"]),
    {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"},
    WEB | NETWORKS | {"domain": {"memory": {"guest": "3Gi"}}},
    VMI,
    POD,
    {"kind": "NetworkAttachmentDefinition", "name": "blue"},
    {"kind": "IPAMClaim", "name": "web.blue", "vm": "web", "owner": "vm-web", "ips": ["10.0.0.7/16"]},
    *running("calm", node="node02"),
]
MANIFEST: dict[str, Any] = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "new"},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "nowhere"},
        "template": {
            "spec": {"domain": {"devices": {}}, "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone"}]}
        },
    },
}


def objects(rows: list[Row]) -> Iterator[dict[str, Any]]:
    """The objects of rows, each in the version that it is served in."""
    kinds = api_kinds()
    for row in rows:
        made = row if "apiVersion" in row else full(row)
        kind = kinds[made["kind"]]
        yield {**made, "apiVersion": f"{kind.group}/{kind.versions[0]}" if kind.group else kind.versions[0]}


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return lambda: list(objects(ROWS))


# -- over HTTP


async def test_the_api_answers_on_one_vm(http: aiohttp.ClientSession) -> None:
    status, text, _ = await get(http, "/api/v1/vms/ns/web")
    assert status == 200
    found = json.loads(text)
    assert (found["vm"]["name"], found["runs"]["node"], found["proposed"]) == ("web", "node01", False)
    assert found["migration"] == {
        "migratable": "False",
        "reason": "DisksNotLiveMigratable",
        "message": "",
        "strategy": "LiveMigrate",
        "strategySource": "vmi",
        "features": [],
        "obstacle": "",
        "refused": [],
        "notNow": [],
    }
    assert [(each["node"], each["answer"]) for each in found["targets"]["nodes"]] == [
        ("node02", "no"),
        ("node03", "no"),
    ]
    assert found["targets"]["ruledOut"] == [[1, "lacks memory"], [1, "with taint gpu:NoSchedule"]]
    assert (found["drain"]["state"], found["drain"]["reason"]) == ("blocked", "NotMigratable")
    assert found["interfaces"][0]["claimed"] == ["10.0.0.7/16"]
    assert (found["unseen"], found["unansweredInAll"]) == ([], 0)
    verdicts = {each["act"]: each for each in found["verdicts"]}
    assert verdicts["restart"] == {"act": "restart", "answer": "yes", "reasons": [], "then": [], "to": ""}
    migrate = verdicts["migrate"]
    assert (migrate["answer"], verdicts["drain"]["answer"], verdicts["delete"]["answer"]) == ("no", "no", "yes")
    assert [each["why"] for each in migrate["reasons"]] == [
        "its condition LiveMigratable is False (DisksNotLiveMigratable)",
        "no other node could take it",
    ]


async def test_an_unchanged_answer_is_not_sent_twice_and_a_changed_one_is(
    own_http: aiohttp.ClientSession, cluster: FakeApiServer
) -> None:
    path = "/api/v1/vms/ns/web"
    _, _, headers = await get(own_http, path)
    assert (await get(own_http, path, **{"If-None-Match": headers["ETag"]}))[:2] == (304, "")
    cluster.patch("nodes", "", "node03", {"spec": {"taints": []}})
    async with asyncio.timeout(10):
        while (await get(own_http, path, **{"If-None-Match": headers["ETag"]}))[0] == 304:
            pass
    assert json.loads((await get(own_http, path))[1])["targets"]["fitting"] == 1


@each_of(
    ("path", "status", "said"),
    [
        ("/api/v1/vms/ns/wbe", 404, "no VM is called 'ns/wbe'; did you mean ns/web?"),
        ("/api/v1/vms/far/web", 404, "no VM is called 'far/web'; did you mean ns/web?"),
        ("/api/v1/vms/ns/web?node=a", 400, "'node' is not a filter. The filter is: beside"),
        ("/api/v1/vms/ns/web?beside=wbe", 404, "no VM is called 'ns/wbe'; did you mean ns/web?"),
    ],
)
async def test_what_is_not_there_or_no_question(path: str, status: int, said: str, http: aiohttp.ClientSession) -> None:
    got, text, _ = await get(http, path)
    assert (got, json.loads(text)) == (status, {"error": said})


@each_of("name", ["%3Cscript%3E", "a" * 5000, "%00", "..%2F..", "%E2%80%AEgnp"])
async def test_a_name_of_any_kind_is_answered_in_json(name: str, http: aiohttp.ClientSession) -> None:
    status, text, headers = await get(http, f"/api/v1/vms/ns/{name}")
    assert (status, headers["Content-Type"].partition(";")[0]) == (404, "application/json")
    assert len(text) < 2000
    assert "error" in json.loads(text)


# -- on the command line


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["vm", *words])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def dump(tmp_path: Path) -> str:
    return written(tmp_path, ROWS)


def written(folder: Path, rows: list[Row], name: str = "dump.json") -> str:
    path = folder / name
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects(rows))}))
    return str(path)


WHOLE = """\
VM ns/web is on node01 since 2026-05-04T08:12:31Z (by its creation).
  It can't be migrated:
  - its condition LiveMigratable is False (DisksNotLiveMigratable).
  - no other node could take it.
  A drain of its node can't move it: The VMI can't be live-migrated
    (DisksNotLiveMigratable), and its strategy allows no shutdown. KubeVirt
    would reject its evictions.
  It can be restarted.
  It can be stopped: KubeVirt starts it again after a shutdown in the guest, and
    not after virtctl stop.
  KubeVirt can be upgraded to v1.8.0.
  It can be deleted: with it go 1 IPAMClaim (10.0.0.7) and the DataVolumes and
    PVCs of its dataVolumeTemplates, if it has any.

Migration
  evictionStrategy LiveMigrate, its own.

Where it could migrate to
  None of 2 other nodes could take it: 1 lacks memory, 1 with taint
    gpu:NoSchedule.
    => Free memory on another node, or add a node.
       Look, as a cluster administrator:
       kubectl describe nodes
    node02  no: lacks memory (needs 4 GiB, has 1 GiB free)
    node03  no: with taint gpu:NoSchedule

If its node is drained
  blocked: NotMigratable: The VMI can't be live-migrated
    (DisksNotLiveMigratable), and its strategy allows no shutdown. KubeVirt
    would reject its evictions.
    => Once node01 is cordoned, restart the VM if its disks aren't local and its
       owner agrees. Or use ReadWriteMany volumes.
       Look:
       kubectl get virtualmachineinstances.kubevirt.io -n ns web -o yaml
       Change:
       # Restarts the guest (not with runStrategy Once: stop and start it).
       virtctl restart -n ns web

At its next start
  1 of 3 nodes could take it.

With KubeVirt v1.8.0
  No finding of it comes or goes.

Identity
  firmware UUID 11111111-2222-4333-8444-000000000318 (from its spec)
  serial s-web

Interfaces
  blue: ns/blue; MAC 02:00:00:00:00:01; IPAMClaim web.blue holds 10.0.0.7/16

No finding is open on it, and every check has an answer for it.

Not considered of nodes: affinity of other pods to this one, and of this one to
  pods that are no VM's; topology spread; quotas; CPUs, and the memory that
  virt-launcher and QEMU take beside the guest's.
"""


def test_the_text_of_one_vm(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(["ns/web", "--from", dump, "--complete"], capsys)
    assert (code, err) == (1, "")
    assert out == WHOLE
    prose = [line for line in out.splitlines() if "kubectl" not in line and "virtctl" not in line]
    assert max(map(len, prose)) <= 80


async def test_live_and_of_a_dump_it_is_the_same(
    cluster: FakeApiServer, tmp_path: Path, dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(kubeconfig(tmp_path, cluster.url))
    for output, load in (("json", json.loads), ("yaml", yaml.safe_load)):
        words = ["ns/web", "-o", output]
        live = await asyncio.to_thread(run, [*words, "--kubeconfig", config], capsys)
        offline = await asyncio.to_thread(run, [*words, "--from", dump, "--complete"], capsys)
        assert (live[0], offline[0]) == (1, 1)
        one, other = load(live[1]), load(offline[1])
        for name in ("runs", "migration", "targets", "restart", "identity", "interfaces", "sizes", "features"):
            assert one[name] == other[name]
        assert [each["reason"] for each in one["findings"]] == [each["reason"] for each in other["findings"]]
    assert {call.method for call in cluster.requests} == {"GET"}
    watched = {call.path.rpartition("/")[2] for call in cluster.requests if call.watch}
    assert {kind.plural for kind in KINDS if isinstance(kind, ApiKind)} <= watched


async def test_a_name_alone_is_of_the_namespace_of_the_context_as_kubectl_takes_it(
    cluster: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = kubeconfig(tmp_path, cluster.url)
    of = ["--kubeconfig", str(path), "-o", "json"]
    code, _, err = await asyncio.to_thread(run, ["calm", *of], capsys)
    assert (code, "no VM is called 'default/calm'; did you mean ns/calm?" in err) == (2, True)
    written = yaml.safe_load(path.read_text())
    written["contexts"][0]["context"]["namespace"] = "ns"
    path.write_text(yaml.safe_dump(written))
    for name in ("calm", "vm/calm", "ns/calm"):
        code, out, _ = await asyncio.to_thread(run, [name, *of], capsys)
        assert (code, json.loads(out)["namespace"]) == (0, "ns")
    code, _, err = await asyncio.to_thread(run, ["-n", "other", "calm", *of], capsys)
    assert (code, "'other/calm'" in err) == (2, True)


@each_of(
    ("words", "code", "said"),
    [
        (["ns/calm"], 0, "VM ns/calm is on node02"),
        (["ns/wbe"], 2, "steward: no VM is called 'ns/wbe'; did you mean ns/web?"),
        (["vm/ns/calm"], 0, "VM ns/calm is on node02"),
        (["-n", "ns", "calm"], 0, "VM ns/calm is on node02"),
        (["-n", "ns", "virtualmachines.kubevirt.io/calm"], 0, "VM ns/calm is on node02"),
        (["-n", "ns", "vmi/ns/calm"], 0, "VM ns/calm is on node02"),
        (["web"], 2, "steward: 'web' names no namespace; add -n NAMESPACE, or write it as NAMESPACE/web"),
        (["vm/web"], 2, "steward: no VM is called 'vm/web'; did you mean ns/web?"),
        (["-n", "other", "ns/web"], 2, "steward: 'ns/web' is in namespace ns, and -n says other"),
        (["ns/web/x"], 2, "names no VM; write it as NAMESPACE/NAME"),
        (["pod/ns/web"], 2, "names no VM; write it as NAMESPACE/NAME"),
        ([], 2, "steward: name the VM as NAMESPACE/NAME or -n NAMESPACE NAME, or give its manifest with --manifest"),
        (["ns/\x1b[31mred"], 2, "no VM is called 'ns/\\x1b[31mred'"),
    ],
)
def test_which_vm(words: list[str], code: int, said: str, dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    got, out, err = run([*words, "--from", dump, "--complete"], capsys)
    assert (got, said in out + err) == (code, True), out + err
    assert "\x1b" not in out + err


def test_what_objects_say_controls_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hostile = {"type": "LiveMigratable", "status": "False", "reason": "\x1b[31mRed\nnew", "message": "\u202eno"}
    rows = [*ROWS[:4], WEB, VMI | {"over": {"status": {"conditions": [hostile]}}}, POD]
    code, out, _ = run(["ns/web", "--from", written(tmp_path, rows), "--complete"], capsys)
    assert code == 1
    assert "?[31mRed?new: ?no" in out
    assert "\x1b" not in out
    assert "\u202e" not in out


def test_a_dump_of_one_vm_alone_says_what_it_is_and_what_adds_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = run(["ns/web", "--from", written(tmp_path, [WEB | NETWORKS])], capsys)
    assert code == 2
    said = " ".join(out.split())
    assert said.startswith("VM ns/web: whether it runs is not known: no VirtualMachineInstance in the dump; add the")
    assert f"firmware UUID {WEB['uuid']} (from its spec)" in said
    assert f"blue: ns/blue; MAC {MAC}" in said
    assert "Node: no Node in the dump; add the output of: kubectl get nodes -A -o yaml" in said
    assert "No finding is open on it, as far as can be seen." in said


# -- by a manifest


def manifest(folder: Path, *documents: Any) -> str:
    path = folder / "vm.yaml"
    path.write_text(yaml.dump_all(documents))
    return str(path)


def test_a_manifest_of_another_namespace_than_the_one_given_is_refused(
    tmp_path: Path, dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    elsewhere = MANIFEST | {"metadata": MANIFEST["metadata"] | {"namespace": "ns"}}
    path = manifest(tmp_path, elsewhere)
    for words, expected in ((["-n", "other"], 2), (["-n", "ns"], 1), ([], 1)):
        code, _, err = run([*words, "--manifest", path, "--from", dump, "--complete"], capsys)
        assert (code, "has ns/new, and -n says other" in err) == (expected, expected == 2)


def test_a_manifest_that_refers_to_a_missing_instancetype(
    tmp_path: Path, dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--manifest", manifest(tmp_path, MANIFEST), "--from", dump, "--complete"]
    code, out, _ = run(words, capsys)
    said = " ".join(out.split())
    assert code == 1
    assert said.startswith(
        "VM default/new, as its manifest would have it. Nothing is created. It will not start: "
        "VirtualMachineClusterInstancetype nowhere does not exist (ObjectMissing). Findings (1) critical Ob"
    )
    assert " At its start By placement alone, 2 of 3 nodes could take it." in said
    assert "Any of them may be ruled out by its topology spread constraints, not evaluated here." in said
    assert "VirtualMachineClusterInstancetype nowhere does not exist" in said
    assert "critical ObjectMissing: " in said
    _, out, _ = run([*words, "-o", "json"], capsys)
    assert json.loads(out)["vm"] == {"kind": "VirtualMachine", "namespace": "default", "name": "new", "uid": "proposed"}


async def test_a_manifest_on_a_live_cluster(
    cluster: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["ns/new", "--manifest", manifest(tmp_path, MANIFEST), "-o", "json"]
    config = str(kubeconfig(tmp_path, cluster.url))
    code, out, _ = await asyncio.to_thread(run, [*words, "--kubeconfig", config], capsys)
    found = json.loads(out)
    assert (code, found["namespace"], found["restart"]["start"]["fitting"]) == (1, "ns", 2)
    assert {call.method for call in cluster.requests} == {"GET"}


@pytest.mark.parametrize(
    ("documents", "words", "said"),
    [
        ([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}], [], "has no VirtualMachine and no"),
        ([MANIFEST, MANIFEST | {"metadata": {"name": "b"}}], [], "has 2 VMs; name one: default/new, default/b"),
        ([MANIFEST], ["ns/other"], "has no VM called 'ns/other'; it has ns/new"),
        ([MANIFEST | {"spec": "x"}], [], "VirtualMachine new can't be read: "),
    ],
)
def test_what_is_no_manifest_of_one_vm(
    documents: list[Any], words: list[str], said: str, tmp_path: Path, dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = manifest(tmp_path, *documents)
    code, _, err = run([*words, "--manifest", path, "--from", dump], capsys)
    assert (code, said in err) == (2, True), err
    assert run(["--manifest", f"{path}.no", "--from", dump], capsys)[0] == 2


def test_help_says_what_the_exit_codes_mean(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, _ = run(["--help"], capsys)
    assert code == 0
    assert "0 nothing is wrong with the VM; 1 it has a finding above info" in " ".join(shown.split())
