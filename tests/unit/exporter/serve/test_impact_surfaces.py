"""The impact of deleting instancetypes and preferences as users meet it: on the command line, in the API, on a page."""

from __future__ import annotations

import asyncio
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from demo.apiserver.server import kubeconfig
from exporter.__main__ import main
from exporter.questions.impact import PARAMETERS

from ....all_of import each_of
from ....asking import get, scripts_in
from ....fakeapi.apiserver import FakeApiServer
from ....rows import full
from ....sharing import Fleet

Row = dict[str, Any]
MEDIUM = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterInstancetype"}
FOLLOWS = {"name": "medium"}
ROWS: list[Row] = [
    {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.7.1"},
    {"kind": "VirtualMachineClusterInstancetype", "name": "medium", "uid": "t1"},
    {"kind": "VirtualMachineClusterInstancetype", "name": "unused", "uid": "t2"},
    {"kind": "VirtualMachineInstancetype", "name": "medium", "uid": "t3"},
    {"kind": "VirtualMachineClusterPreference", "name": "fedora", "uid": "p1"},
    {"kind": "VirtualMachine", "name": "stopped", "uid": "u1", "instancetype": FOLLOWS, "runStrategy": "Halted"},
    {"kind": "VirtualMachine", "name": "runs", "uid": "u2", "instancetype": FOLLOWS, "runStrategy": "Always"},
    {"kind": "VirtualMachineInstance", "name": "runs", "vm": "u2"},
    {"kind": "VirtualMachine", "name": "kept", "uid": "u3", "instancetype": FOLLOWS, "instancetypeRef": "kept-medium"},
    {
        "kind": "ControllerRevision",
        "name": "kept-medium",
        "vm": "kept",
        "owner": "u3",
        "of": MEDIUM
        | {
            "metadata": {"name": "medium", "uid": "t1", "generation": 1},
            "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
        },
    },
    {
        "kind": "VirtualMachine",
        "name": "own",
        "uid": "u4",
        "instancetype": FOLLOWS | {"kind": "VirtualMachineInstancetype"},
    },
    {"kind": "VirtualMachine", "name": "tuned", "uid": "u5", "preference": {"name": "fedora"}},
    {"kind": "VirtualMachinePool", "name": "workers", "instancetype": FOLLOWS},
]
CONDITION = 'virtualmachineclusterinstancetypes.instancetype.kubevirt.io "medium" not found'


def outcomes(impact: Any) -> dict[str, set[str]]:
    """The paths of the subjects by outcome, of what breaks and of what is safe."""
    found: dict[str, set[str]] = {"breaks": set(), "safe": set(), "worse": set()}
    for each in impact["findings"]:
        if each["outcome"] in found:
            found[each["outcome"]].add(each["finding"]["subject"]["name"])
    return found


WITHOUT_MEDIUM = {"breaks": {"stopped", "runs", "workers"}, "safe": {"kept"}, "worse": set()}


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return lambda: list(map(full, ROWS))


# -- over HTTP


async def test_the_api_says_who_breaks_and_who_has_a_copy(http: aiohttp.ClientSession) -> None:
    status, text, _ = await get(http, "/api/v1/impact?delete-instancetype=medium")
    impact = json.loads(text)
    assert status == 200
    assert impact["changes"] == ["VirtualMachineClusterInstancetype medium is deleted"]
    assert outcomes(impact) == WITHOUT_MEDIUM
    when = {e["finding"]["subject"]["name"]: e["when"] for e in impact["findings"] if e["outcome"] == "breaks"}
    assert when["stopped"] == "at its next start"
    assert when["runs"] == "when virt-controller next reconciles it"
    said = {e["finding"]["evidence"].get("condition") for e in impact["findings"] if e["when"] == when["runs"]}
    assert said == {CONDITION}
    assert (impact["unknown"], impact["leftOut"]) == ([], 0)
    assert {each["namespace"]: each["breaks"] for each in impact["namespaces"] if each["breaks"]} == {"ns": 3}


async def test_several_changes_are_previewed_together(http: aiohttp.ClientSession) -> None:
    path = "/api/v1/impact?delete-instancetype=medium,ns/medium&delete-preference=fedora"
    impact = json.loads((await get(http, path))[1])
    assert len(impact["changes"]) == 3
    assert outcomes(impact)["breaks"] == {"stopped", "runs", "workers", "own", "tuned"}
    again = "/api/v1/impact?delete-preference=fedora&delete-instancetype=medium&delete-instancetype=ns/medium"
    assert json.loads((await get(http, again))[1]) == impact


async def test_an_unchanged_answer_is_not_sent_twice_and_a_changed_one_is(
    own_http: aiohttp.ClientSession, cluster: FakeApiServer
) -> None:
    path = "/api/v1/impact?delete-instancetype=medium"
    _, _, headers = await get(own_http, path)
    assert (await get(own_http, path, **{"If-None-Match": headers["ETag"]}))[:2] == (304, "")
    cluster.delete("virtualmachines", "ns", "stopped")
    async with asyncio.timeout(10):
        while outcomes(json.loads((await get(own_http, path))[1]))["breaks"] != {"runs", "workers"}:
            pass


@each_of("path", ["/api/v1/impact", "/impact"])
@each_of(
    ("query", "status", "sentence"),
    [
        (
            "delete-instancetype=mediun",
            404,
            "there is no VirtualMachineClusterInstancetype 'mediun'; did you mean medium?",
        ),
        (
            "delete-preference=ns/fedora",
            404,
            "there is no VirtualMachinePreference 'ns/fedora', but there is VirtualMachineClusterPreference fedora",
        ),
        ("delete-instancetype=a/b/c", 400, "'a/b/c' names no instancetype; write it as NAME, or as NAMESPACE/NAME"),
        ("delete-instancetype=/x", 400, "'/x' names no instancetype; write it as NAME, or as NAMESPACE/NAME"),
        ("remove=x", 400, f"'remove' is not a filter. Filters are: {', '.join(PARAMETERS)}"),
    ],
)
async def test_what_is_not_there_or_no_name_is_refused_in_a_sentence(
    path: str, query: str, status: int, sentence: str, http: aiohttp.ClientSession
) -> None:
    got, text, _ = await get(http, f"{path}?{query}")
    if "api" in path:
        assert (got, json.loads(text)["error"]) == (status, sentence)
    else:  # the form is given back
        said = f">{sentence[0].upper()}{sentence[1:]}" in unescape(text)
        assert (got, said, 'action="/impact"' in text) == (400, True, True)


async def test_without_a_change_the_api_refuses_and_the_page_asks(http: aiohttp.ClientSession) -> None:
    status, text, _ = await get(http, "/api/v1/impact?delete-instancetype=")
    assert (status, json.loads(text)["error"]) == (400, f"name a change: {', '.join(PARAMETERS)}")
    status, html, _ = await get(http, "/impact")
    assert status == 200
    assert 'name="delete-instancetype"' in html


async def test_a_page_of_its_own_without_script_that_the_front_page_leads_to(http: aiohttp.ClientSession) -> None:
    status, html, headers = await get(http, "/impact?delete-instancetype=medium&delete-preference=")
    assert status == 200
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert scripts_in(html) == []
    for text in (
        "If VirtualMachineClusterInstancetype medium is deleted",
        "Of what is found, 3 objects break; 1 is safe, by its revision; ",
        "ns/stopped",
        "at its next start",
        "KubeVirt will say: virtualmachineclusterinstancetypes.instancetype.kubevirt.io &#34;medium&#34; not found",
        'value="medium"',
        'href="/api/v1/impact?delete-instancetype=medium"',
    ):
        assert text in html
    named = re.findall("<code>(.*?)</code>", html.partition("What breaks:")[2].partition("</p>")[0])
    assert "ns/stopped" in named
    assert len(named) == len(set(named))
    _, front, _ = await get(http, "/")
    assert 'href="/impact"' in front
    assert "Before you delete it, have KubeVirt copy it" in html
    assert html.count("KubeVirt will say") == 3  # not of what goes
    _, calm, _ = await get(http, "/impact?delete-instancetype=unused")
    assert "No finding would differ." in calm
    assert "What breaks" not in calm
    assert "Before you delete it" not in calm


async def test_what_can_not_be_said_and_where_it_counts_are_on_the_page(
    own_http: aiohttp.ClientSession, cluster: FakeApiServer
) -> None:
    for namespace, more in (("dark", {"undecodable": True}), ("far", {})):
        row = {"kind": "VirtualMachine", "name": "lone", "namespace": namespace, "instancetype": FOLLOWS}
        cluster.create(full(row | more))
    async with asyncio.timeout(10):
        html = ""
        while "far/lone" not in html or "dark/lone" not in html:
            _, html, _ = await get(own_http, "/impact?delete-instancetype=medium")
    assert "<b>instancetype_vms</b> dark: VirtualMachine dark/lone could not be read" in html
    assert '<tr><td>far</td><td class="number" data-label="Breaks">1</td>' in html
    local = json.loads((await get(own_http, "/api/v1/impact?delete-instancetype=ns/medium"))[1])
    assert local["unknown"] == []


async def test_what_is_asked_for_is_escaped(own_http: aiohttp.ClientSession, cluster: FakeApiServer) -> None:
    cluster.create(full({"kind": "VirtualMachine", "name": "odd<b>", "instancetype": {"name": "medium"}}))
    async with asyncio.timeout(10):
        while "ns/odd" not in (html := (await get(own_http, "/impact?delete-instancetype=medium"))[1]):
            pass
    assert "odd<b>" not in html
    status, text, headers = await get(own_http, "/impact?delete-instancetype=%3Cb%3E")
    assert (status, headers["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert "<b>" not in text
    assert text.count("&lt;b&gt;") == 2  # in the sentence, and in the form


# -- on the command line


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["impact", *words])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def written(folder: Path, rows: list[Row]) -> str:
    path = folder / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(map(full, rows))}))
    return str(path)


@pytest.fixture
def dump(tmp_path: Path) -> str:
    return written(tmp_path, ROWS)


async def test_live_and_of_a_dump_it_is_the_same(
    cluster: FakeApiServer, tmp_path: Path, dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(kubeconfig(tmp_path, cluster.url))
    for output, load in (("json", json.loads), ("yaml", yaml.safe_load)):
        words = ["--delete-instancetype", "medium", "-o", output]
        live = await asyncio.to_thread(run, [*words, "--kubeconfig", config], capsys)
        offline = await asyncio.to_thread(run, [*words, "--from", dump, "--complete"], capsys)
        assert (live[0], offline[0]) == (1, 1)
        assert load(live[1])["findings"] == load(offline[1])["findings"]
        assert outcomes(load(live[1])) == WITHOUT_MEDIUM
    assert {call.method for call in cluster.requests} == {"GET"}


def test_the_table_has_who_breaks_first_then_who_is_safe(dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(["--delete-instancetype", "medium", "--from", dump, "--complete"], capsys)
    assert code == 1
    assert out.startswith("If VirtualMachineClusterInstancetype medium is deleted:\n\nBreaks (3):\n")
    places = [out.index(text) for text in ("VirtualMachine ns/runs", "ns/stopped", "and safe (1):", "ns/kept")]
    assert places == sorted(places)
    assert f"KubeVirt will say: {CONDITION}\n" in out
    assert out.index("Before you delete it, have KubeVirt copy it") < out.index("and safe (1):")
    assert out.endswith("Nothing was changed.\n")


@each_of(
    ("words", "code", "said"),
    [
        (["--delete-instancetype", "unused"], 0, "No finding would differ. Nothing was changed."),
        (["--delete-instancetype", "ns/medium"], 1, "VirtualMachine ns/own"),
        (["--delete-preference", "fedora", "--delete-instancetype", "unused"], 1, "VirtualMachine ns/tuned"),
        (
            ["--delete-instancetype", "mediun"],
            2,
            "steward: there is no VirtualMachineClusterInstancetype 'mediun'; did you",
        ),
        (
            ["--delete-preference", "medium"],
            2,
            "but there is VirtualMachineClusterInstancetype medium and VirtualMachineInstancetype ns/medium\n",
        ),
        (["--delete-instancetype", ""], 2, "steward: '' names no instancetype; write it as NAME, or as NAMESPACE/NAME"),
        ([], 2, f"steward: name a change: {', '.join(f'--{name}' for name in PARAMETERS)}"),
    ],
)
def test_which_changes(words: list[str], code: int, said: str, dump: str, capsys: pytest.CaptureFixture[str]) -> None:
    got, out, err = run([*words, "--from", dump, "--complete"], capsys)
    assert (got, said in out + err) == (code, True), out + err


def test_a_vm_with_a_copy_of_all_that_it_needs_is_safe_and_nothing_gets_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row for row in ROWS if row["name"] not in ("stopped", "runs", "workers")]
    code, out, _ = run(
        ["--delete-instancetype", "medium", "--from", written(tmp_path, rows), "--complete", "-o", "json"], capsys
    )
    assert code == 0
    assert outcomes(json.loads(out)) == {"breaks": set(), "safe": {"kept"}, "worse": set()}


def test_what_a_dump_lacks_or_can_not_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--delete-instancetype", "medium", "--from"]
    rows = [row for row in ROWS if row["kind"] != "ControllerRevision"]
    code, out, _ = run([*words, written(tmp_path, rows)], capsys)
    assert code == 2
    assert "Could not say:" in out
    assert "ControllerRevision" in out

    hidden = {"kind": "VirtualMachine", "name": "hidden", "namespace": "dark", "undecodable": True}
    code, out, _ = run([*words, written(tmp_path, [*ROWS, hidden]), "--complete"], capsys)
    assert code == 2
    assert "VirtualMachine dark/hidden could not be read" in out
    assert "Breaks (3):" in out


def test_help_says_what_the_exit_codes_mean(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown, _ = run(["--help"], capsys)
    assert code == 0
    assert "0 nothing gets worse, 1 something does, 2 an incomplete answer" in " ".join(shown.split())


def test_what_could_not_be_evaluated_is_not_called_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [row for row in ROWS if row["kind"] != "ControllerRevision"]
    code, out, _ = run(["--delete-instancetype", "medium", "--from", written(tmp_path, rows)], capsys)
    assert code == 2
    assert "No finding would differ in what could be evaluated." in out
