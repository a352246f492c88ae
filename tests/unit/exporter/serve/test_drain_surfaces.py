"""A drain as users meet it: on the command line, in the API, on the page; live and of a dump."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from demo.apiserver.server import kubeconfig
from exporter.__main__ import main
from exporter.checks import all_checks
from exporter.questions import drain
from exporter.store.kind import ApiKind

from ....all_of import each_of
from ....asking import get, scripts_in
from ....drain_rows import Row, guest, migration, node, slices, volume
from ....evaluation import api_kinds
from ....fakeapi.apiserver import FakeApiServer
from ....rows import full
from ....sharing import Fleet

REQUESTED = "2026-06-01T10:00:00Z"
SMALL = {"cpu": "16", "memory": "8Gi", "pods": "110"}
ROWS: list[Row] = [
    node("node01", cordoned=REQUESTED),
    node("node02", allocatable=SMALL),
    node("node03", taints=["gpu:NoSchedule"]),
    {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt"},
    slices(True),
    *guest("web"),
    *guest("huge", {"requests": {"memory": "32Gi"}}),
    *guest("device", migratable="HostDeviceNotLiveMigratable"),
    *guest("plain", strategy="None"),
    *guest("moving", evacuation="node01", evacuation_since=REQUESTED),
    migration("m", "moving", "Running", 1),
    *guest("calm", node="node03"),
]


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


def outcomes(drain: Any) -> dict[str, str]:
    """`outcome reason` of each VM."""
    reported = {m["vm"]["name"]: f"{m['state']} {m['reason']}" for n in drain["nodes"] for m in n["vms"]}
    return {name: text.strip() for name, text in reported.items()}


ON_NODE01 = {
    "device": "blocked NotMigratable",
    "huge": "blocked NoTarget",
    "plain": "shuts_down WillShutDown",
    "moving": "migrating",
    "web": "waiting",
}


# -- over HTTP


async def test_the_api_answers_for_the_nodes_asked_for_or_for_those_being_emptied(http: aiohttp.ClientSession) -> None:
    status, text, _ = await get(http, "/api/v1/drain?node=node01")
    assert status == 200
    assert outcomes(json.loads(text)) == ON_NODE01
    assert outcomes(json.loads((await get(http, "/api/v1/drain"))[1])) == ON_NODE01

    both = json.loads((await get(http, "/api/v1/drain?node=node01,node03"))[1])
    assert [each["node"] for each in both["nodes"]] == ["node01", "node03"]
    assert both == json.loads((await get(http, "/api/v1/drain?node=node01&node=node03"))[1])


async def test_an_unchanged_answer_is_not_sent_twice_and_a_changed_one_is(
    own_http: aiohttp.ClientSession, cluster: FakeApiServer
) -> None:
    path = "/api/v1/drain?node=node01"
    _, _, headers = await get(own_http, path)
    assert (await get(own_http, path, **{"If-None-Match": headers["ETag"]}))[:2] == (304, "")

    cluster.delete("pods", "ns", "virt-launcher-web")
    async with asyncio.timeout(10):
        while (await get(own_http, path, **{"If-None-Match": headers["ETag"]}))[0] == 304:
            pass
        while outcomes(json.loads((await get(own_http, path))[1]))["web"] != "unknown":
            pass


async def test_a_node_that_is_not_there(http: aiohttp.ClientSession) -> None:
    status, text, _ = await get(http, "/api/v1/drain?node=nod1")
    assert (status, "did you mean node0" in text) == (404, True)


async def test_the_page_gives_the_form_back_with_the_mistake_and_the_nodes_that_there_are(
    http: aiohttp.ClientSession,
) -> None:
    status, html, _ = await get(http, "/drain?node=nod1")
    assert status == 400
    assert "No node is called &#39;nod1&#39;; did you mean node0" in html
    assert "<h1>Drains</h1>" in html
    assert '<input name="node" list="nodes" value="nod1"' in html
    assert '<a href="/drain?node=node02"><code>node02</code></a>' in html


async def test_what_is_no_parameter_is_refused(http: aiohttp.ClientSession) -> None:
    status, text, _ = await get(http, "/api/v1/drain?nodes=node01")
    assert (status, json.loads(text)) == (
        400,
        {"error": "'nodes' is not a filter. Filters are: node, all-cordoned, selector"},
    )


async def test_the_page_shows_nodes_being_emptied_and_what_stays(http: aiohttp.ClientSession) -> None:
    _, front, _ = await get(http, "/")
    under_way = front.partition('<section class="drains"')[2].partition("</section>")[0]
    assert 'href="/drain?node=node01"' in under_way
    assert '5 VMs still on it, <b class="blocked">3 blocked</b>' in under_way
    assert "node03" not in under_way
    _, section, _ = await get(http, "/drain")
    section = section[: section.index("<datalist")]
    assert "3 of 5 VMs do not leave by themselves." in section
    assert "2 blocked" in section
    assert "ns/device" in section
    assert "HostDeviceNotLiveMigratable" in section
    assert section.index("ns/device") < section.index("ns/web")
    assert "node03" not in section


async def test_green_is_only_what_leaves_by_itself(http: aiohttp.ClientSession) -> None:
    _, html, _ = await get(http, "/drain?node=node01")
    badges = re.findall(r'<span class="badge (\w+)">([^<]*)</span>', html)
    assert {state for colour, state in badges if colour == "fine"} == {"will migrate"}
    assert ("warning", "blocked") in badges
    assert ("none", "migrating") in badges


async def test_a_page_of_its_own_without_script(http: aiohttp.ClientSession) -> None:
    status, html, headers = await get(http, "/drain?node=node01")
    assert status == 200
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    for text in ("node02 could take it", "virtctl restart -n ns device", "taint gpu:NoSchedule", "2 off each node"):
        assert text in html
    assert scripts_in(html) == []
    _, empty, _ = await get(http, "/drain?node=node02")
    assert "No VM is on it." in empty


async def test_pages_escape_what_objects_say(own_http: aiohttp.ClientSession, cluster: FakeApiServer) -> None:
    hostile = {"type": "LiveMigratable", "status": "False", "reason": "<script>alert(1)</script>"}
    cluster.patch("virtualmachineinstances", "ns", "device", {"status": {"conditions": [hostile]}})
    async with asyncio.timeout(10):
        while "alert(1)" not in (html := (await get(own_http, "/drain?node=node01"))[1]):
            pass
    for page in (html, (await get(own_http, "/vms/ns/device"))[1]):
        assert scripts_in(page) == []
        assert "&lt;script&gt;alert(1)" in page


# -- on the command line


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["drain", *words])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def dump(tmp_path: Path) -> str:
    return written(tmp_path, ROWS)


def written(folder: Path, rows: list[Row]) -> str:
    path = folder / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects(rows))}))
    return str(path)


async def test_live_and_of_a_dump_it_is_the_same(
    cluster: FakeApiServer, tmp_path: Path, dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(kubeconfig(tmp_path, cluster.url))
    for output, load in (("json", json.loads), ("yaml", yaml.safe_load)):
        words = ["node01", "-o", output]
        live = await asyncio.to_thread(run, [*words, "--kubeconfig", config], capsys)
        offline = await asyncio.to_thread(run, [*words, "--from", dump, "--complete"], capsys)
        assert (live[0], offline[0]) == (1, 1)
        assert load(live[1])["nodes"] == load(offline[1])["nodes"]
        assert outcomes(load(live[1])) == ON_NODE01


async def test_live_nothing_is_asked_for_that_a_drain_has_nothing_to_do_with(
    cluster: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(kubeconfig(tmp_path, cluster.url))
    await asyncio.to_thread(run, ["node01", "--kubeconfig", config], capsys)
    watched = {call.path.rpartition("/")[2] for call in cluster.requests if call.watch}
    forbidding = (check for check in all_checks() if any(reason.forbids for reason in check.reasons.values()))
    of_checks = (kind for check in forbidding for kind in check.reads)
    kinds = (kind for kind in (*drain.READER.reads, *of_checks) if isinstance(kind, ApiKind))
    assert watched == {kind.plural for kind in kinds}
    assert {call.method for call in cluster.requests} == {"GET"}


def test_the_table_groups_what_stays_first_and_says_what_to_do(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(["node01", "--from", dump, "--complete"], capsys)
    assert code == 1
    assert out.startswith(
        f"node01 (cordoned since {REQUESTED}, VMIs on it have evacuation requests): "
        "2 blocked, 1 shuts down, 1 migrating, 1 will migrate.\n"
    )
    places = [out.index(f"ns/{name}") for name in ("device", "huge", "plain", "moving", "web")]
    assert places == sorted(places)
    assert "2 nodes: 1 lacks memory (needs 32 GiB, most free 8 GiB), 1 taint gpu:NoSchedule" in out
    assert "=> Restart the VM with its owner's consent: node node01 is cordoned." in out
    assert "   virtctl restart -n ns device\n" in out
    of_web = " ".join(out.split("ns/web")[1].split("\n")[0].split())
    assert of_web == "node02 could take it The VMI migrates when it is evicted"
    assert "Begun and not ended, those that hang included: 1 off these nodes, 1 in the cluster.\n" in out
    assert out.count("Not considered:") == 1


@each_of(
    ("words", "code", "said"),
    [
        (["node02"], 0, "node02 (not cordoned): no VM."),
        (["node03"], 0, "1 will migrate"),
        (["--all-cordoned"], 1, "node01 (cordoned"),
        (["-l", "kubernetes.io/hostname=node03"], 0, "node03 (not cordoned)"),
        (["node02", "-l", "kubernetes.io/hostname=node03"], 1, "1 node: 1 cordoned"),
        (["-l", "zone=x"], 2, "no node has the labels zone=x"),
        (["nod03"], 2, "steward: no node is called 'nod03'; did you mean node03?"),
        ([], 2, "name the nodes, or use --all-cordoned or --selector"),
    ],
)
def test_which_nodes(words: list[str], code: int, said: str, dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    got, out, err = run([*words, "--from", dump, "--complete"], capsys)
    assert (got, said in out + err) == (code, True), out + err


def test_a_kind_that_is_not_in_the_dump_is_said_with_what_adds_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row for row in ROWS if row["kind"] != "PodDisruptionBudget"]
    code, out, _ = run(["node03", "--from", written(tmp_path, rows)], capsys)
    assert code == 2
    assert "the answer may be incomplete" in out
    assert "kubectl get poddisruptionbudgets.policy -A -o yaml" in out

    nodeless = [row for row in ROWS if row["kind"] != "Node"]
    code, out, err = run(["node03", "--from", written(tmp_path, nodeless)], capsys)
    assert (code, err) == (2, "")
    assert "Not seen, so there is no answer" in out


def test_where_the_volumes_of_a_dump_can_be_used_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    disk = {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "data"}}]}
    rows = [row for row in ROWS if row.get("name") not in ("web", "virt-launcher-web")] + guest("web", spec=disk)
    bound = volume("data", "node01")
    code, out, _ = run(["node01", "--from", written(tmp_path, [*rows, bound]), "--complete"], capsys)
    assert code == 1
    assert "without access to its volumes" in out

    code, out, _ = run(["node01", "--from", written(tmp_path, rows)], capsys)
    assert code == 2
    assert "may migrate" in out
    assert "kubectl get persistentvolumes -A -o yaml" in out


def test_a_selector_that_is_none_is_refused(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, said = run(["-l", "zone in a", "--from", dump], capsys)
    assert (
        code,
        "is not a selector. Write it as zone=a,!gpu or as tier in (web,db); `steward help drain`" in said,
    ) == (2, True)


def test_help_says_what_the_exit_codes_mean(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, _ = run(["--help"], capsys)
    said = " ".join(shown.split())
    assert code == 0
    assert "0 every VM will migrate or move; 1 a VM is blocked, or an eviction shuts it down; 2 an incomplete" in said
