"""Instancetypes as users meet them: the API, the page, and `steward instancetypes`, live and of a dump."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from demo.apiserver.server import kubeconfig
from exporter.__main__ import main
from exporter.store.source import SyncState

from ....asking import get, scripts_in
from ....case_files import read_yaml
from ....dumps import plain_list
from ....fakeapi.apiserver import FakeApiServer
from ....instancetype_rows import CLUSTER, U1, revision, vm
from ....rows import full
from ....served import Served, served

Row = dict[str, Any]
Run = Callable[..., tuple[int, str, str]]
SERVED = f"{CLUSTER.lower()}s"
ROWS: tuple[Row, ...] = (
    U1 | {"generation": 2, "spec": {"cpu": {"guest": 2}}},
    vm("a"),
    vm("b", instancetypeRef="r"),
    revision(vm="b", owner="u-b"),
    vm("c", instancetype={"name": "lost"}),
    {"kind": "VirtualMachinePool", "name": "p", "instancetype": {"name": "u1"}},
    vm("d", instancetype={"inferFromVolume": "disk"}),
)
SCRIPT = '"><script>alert(1)</script>'


@pytest.fixture
async def server() -> AsyncIterator[Served]:
    async with served() as made:
        yield made


def see(server: Served, *rows: Row) -> None:
    for row in rows:
        server.evaluation.seen(full(row))


async def asked(server: Served, query: str = "") -> Any:
    status, _, body = await server.get(f"/api/v1/instancetypes{query}")
    assert status == 200, body
    return json.loads(body)


async def section(server: Served) -> str:
    status, _, body = await server.get("/instancetypes/")
    assert status == 200
    html = body.decode()
    return html[html.index("<h1>") : html.index("<footer>")]


# -- the API


async def test_the_api_answers_with_each_object_and_its_users(server: Served) -> None:
    see(server, *ROWS)
    found = await asked(server)
    assert (found["unseen"], found["notApplicable"], found["inferred"]) == (
        [],
        "",
        {"instancetype": 1, "preference": 0},
    )
    lost, u1 = found["objects"]
    assert (lost["name"], lost["state"], lost["users"]["unversioned"]) == ("lost", "missing", 1)
    assert (u1["name"], u1["state"], u1["safe"], u1["dependents"], u1["pools"]) == ("u1", "present", 1, 1, 1)
    assert u1["firstDependents"] == [{"kind": "VirtualMachine", "namespace": "ns", "name": "a", "uid": "u-a"}]
    assert (u1["drifted"], u1["fields"]) == (1, {"cpu.guest": 1})


async def test_one_is_asked_for_by_its_name(server: Served) -> None:
    see(server, *ROWS, {"kind": "VirtualMachinePreference", "name": "u1"})
    assert [each["kind"] for each in (await asked(server, "?name=u1"))["objects"]] == [
        CLUSTER,
        "VirtualMachinePreference",
    ]
    assert [each["role"] for each in (await asked(server, "?name=ns/u1"))["objects"]] == ["preference"]
    assert (await asked(server, "?name=nothing"))["objects"] == []


async def test_the_answer_follows_a_change(server: Served) -> None:
    see(server, U1, vm("a"))
    _, headers, body = await server.get("/api/v1/instancetypes")
    assert (await server.get("/api/v1/instancetypes", If_None_Match=headers["ETag"]))[0] == 304
    see(server, vm("b"))
    status, _, body = await server.get("/api/v1/instancetypes", If_None_Match=headers["ETag"])
    assert (status, json.loads(body)["objects"][0]["dependents"]) == (200, 2)


# -- the page


async def test_the_page_shows_users_drift_and_who_fails(server: Served) -> None:
    see(server, *ROWS)
    html = await section(server)
    assert "<code>u1</code>" in html
    assert "1 by a ControllerRevision" in html
    assert "1 by the live object" in html
    assert "1 VM has a copy that differs: <code>cpu.guest</code>" in html
    assert "<code>ns/a</code>" in html
    assert "next VMs of pool <code>ns/p</code>" in html
    assert '<span class="badge critical">missing</span>' in html
    assert html.count("If it is deleted") == html.count('<span class="kind">') - 1  # not of the missing one
    assert 'href="/impact?delete-instancetype=u1"' in html
    assert "1 VM waits for its instancetype to be inferred" in html
    assert "can't be decoded" not in html
    see(server, vm("e", instancetypeRef="nowhere"))
    assert "1 ControllerRevision; 1 VM has one that is missing or can't be decoded; 1 VM has a copy" in await section(
        server
    )


async def test_the_page_says_when_there_is_nothing_or_nothing_to_see(server: Served) -> None:
    assert "There is no instancetype and no preference." in await section(server)
    see(server, *ROWS)
    server.evaluation.sync_state("VirtualMachinePool", SyncState.FORBIDDEN)
    html = await section(server)
    assert "Incomplete: VirtualMachinePool can't be listed" in html
    assert "pools can't be seen" in html
    server.evaluation.sync_state("ControllerRevision", SyncState.FORBIDDEN)
    html = await section(server)
    assert "Not counted: ControllerRevision, VirtualMachinePool can't be listed" in html
    assert "u1" not in html
    server.evaluation.sync_state(CLUSTER, SyncState.ABSENT)
    html = await section(server)
    assert f"Not applicable: the cluster does not serve {SERVED}.instancetype.kubevirt.io." in html
    assert "can't be listed" not in html


async def test_the_page_is_cut_where_there_are_many(server: Served) -> None:
    see(server, *(U1 | {"name": f"u{each:03}"} for each in range(120)))
    html = await section(server)
    assert html.count("<code>u") == 100
    assert "The first 100 of 120; all are in the" in html


@pytest.mark.parametrize("name", [SCRIPT, "x" * 253, "a\x1b[31m\u202eb"])
async def test_the_page_escapes_what_objects_are_called(server: Served, name: str) -> None:
    hostile = {"spec": {SCRIPT: 1, "nodeSelector": {SCRIPT: SCRIPT}}}
    see(server, U1 | hostile | {"name": name}, vm("a", instancetype={"name": name}))
    see(server, vm(name, uid="u-n", instancetype={"name": name}, instancetypeRef="r"), revision(of=name))
    html = await section(server)
    assert scripts_in(html) == []
    assert not {"\x1b", "\u202e"} & set(html)
    assert "VMs have" in html or "VM has" in html
    assert (await asked(server))["objects"][0]["name"] == name


# -- the command line


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Of a dump of these rows."""

    def run(rows: tuple[Row, ...], *words: str) -> tuple[int, str, str]:
        (tmp_path / "all.json").write_text(json.dumps(plain_list([full(row) for row in rows])), encoding="utf-8")
        code = main(["instancetypes", "--from", str(tmp_path / "all.json"), *words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def test_a_dump_as_a_table(run: Run) -> None:
    code, out, err = run(ROWS, "--complete")
    assert (code, err) == (0, "")
    head, lost, u1 = (line.split() for line in out.splitlines()[:3])
    assert head == ["KIND", "NAME", "VMS", "PINNED", "REVISION", "UNVERSIONED", "DRIFTED", "STATE", "FINDINGS"]
    assert lost[:8] == [CLUSTER, "lost", "1", "0", "0", "1", "0", "missing"]
    assert u1[:8] == [CLUSTER, "u1", "2", "0", "1", "1", "1", "-"]
    assert [line.split(maxsplit=4) for line in out.splitlines() if line.startswith("fail ")] == [
        ["fail", "already", "1", "ns/c"],
        ["fail", "without", "it", "1", "ns/a"],
        ["fail", "without", "it", "-", "the next VMs of pool ns/p"],
    ]
    assert "go on without it" in out
    assert out.endswith("1 VM waits for an instancetype to be inferred from a volume.\n")


def test_a_dump_for_programs(run: Run) -> None:
    code, out, _ = run(ROWS, "--complete", "u1", "-o", "json")
    assert (code, [each["dependents"] for each in json.loads(out)["objects"]]) == (0, [1])
    assert read_yaml(run(ROWS, "--complete", "u1", "-o", "yaml")[1])["objects"] == json.loads(out)["objects"]


def test_the_exit_code_says_whether_everything_was_seen(run: Run) -> None:
    code, out, err = run(ROWS)  # no kind of it is known to be whole
    assert code == 2
    assert "u1" not in out
    assert "nothing is counted while " in err
    code, out, err = run((*ROWS, vm("x", undecodable=True)), "--complete")
    assert (code, "1 or more" in out) == (2, True)
    code, out, err = run(ROWS, "--complete", "nothing")
    assert (code, len(err.splitlines())) == (2, 1)
    assert err.startswith("steward: no instancetype and no preference is called 'nothing'; there are ")
    code, out, err = run(ROWS, "--complete", "--timeout", "soon")
    assert code == 2


def test_no_character_of_a_name_reaches_a_terminal_raw(run: Run) -> None:
    evil = "n\x1b[31m\x9b\u202e\u200b\nforged"
    rows = (
        {"kind": CLUSTER, "name": evil, "spec": {evil: 1}},
        vm(evil, instancetype={"name": evil}),
        vm("b", instancetype={"name": evil}, instancetypeRef="r"),
        revision(of=evil),
        {"kind": "VirtualMachinePool", "name": evil, "instancetype": {"name": evil}},
    )
    _, out, err = run(rows, "--complete")
    assert "31m" in out
    assert not {"\x1b", "\x9b", "\u202e", "\u200b"} & set(out + err)
    assert not any(line.startswith("forged") for line in out.splitlines())
    out, err = run(rows, "--complete", evil + "x")[1:]
    assert not {"\x1b", "\x9b", "\u202e", "\u200b"} & set(out + err)


async def live(
    cluster: FakeApiServer, folder: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    config = str(kubeconfig(folder, cluster.url))
    code = await asyncio.to_thread(main, ["instancetypes", "--kubeconfig", config])
    shown = capsys.readouterr()
    own = [line for line in shown.err.splitlines() if line.startswith("steward: ")]  # beside the log
    return code, shown.out, "\n".join(own)


async def test_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = FakeApiServer()
    server.load([full(row) for row in ROWS])
    await server.start()
    code, out, err = await live(server, tmp_path, capsys)
    assert (code, "being deleted" in out, err) == (0, False, "")
    assert [line.split()[1] for line in out.splitlines()[1:3]] == ["lost", "u1"]
    server.unserve(SERVED)
    code, out, err = await live(server, tmp_path, capsys)
    await server.stop()
    assert code == 2
    assert err == f"steward: not applicable: the cluster does not serve {SERVED}.instancetype.kubevirt.io"


async def test_the_demo_has_them_in_its_scrape_and_its_api(http: aiohttp.ClientSession) -> None:
    _, text, _ = await get(http, "/metrics")
    _, answer, _ = await get(http, "/api/v1/instancetypes")
    objects = [each for each in json.loads(answer)["objects"] if each["role"] == "instancetype"]
    counts = {
        f'name="{each["name"]}",mode="{mode}"}} {number}' for each in objects for mode, number in each["users"].items()
    }
    lines = [line for line in text.splitlines() if line.startswith("kubevirt_instancetype_vms{")]
    assert counts == {line[line.index("name=", line.index("namespace=") + 5) :] for line in lines}
    assert objects
