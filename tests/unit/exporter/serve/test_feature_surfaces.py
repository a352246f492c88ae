"""Features as users meet them: the API, the page, and `steward features`, live and of a dump."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from html import unescape
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from demo.apiserver.server import kubeconfig
from exporter.__main__ import main
from exporter.checks.features import feature_configuration, feature_mismatch
from exporter.store.source import SyncState

from ....asking import get, scripts_in
from ....case_files import read_yaml
from ....dumps import plain_list
from ....fakeapi.apiserver import FakeApiServer
from ....feature_rows import KUBEVIRT, METRICS, VM, VSOCK, gpu_size, vm, vmi
from ....rows import full
from ....served import Served, served

Row = dict[str, Any]
Run = Callable[..., tuple[int, str, str]]
ROWS: tuple[Row, ...] = (
    KUBEVIRT | {"target": "v1.9.0", "gates": ["VSOCK"]},
    vm("a", domain=METRICS),
    vm("b", domain=METRICS),
    vmi("b", domain=METRICS),
    vm("c", domain=VSOCK),
    gpu_size(),
    vm("d", instancetype={"name": "gpu1"}),
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
    status, _, body = await server.get(f"/api/v1/features{query}")
    assert status == 200, body
    return json.loads(body)


async def section(server: Served) -> str:
    status, _, body = await server.get("/features/")
    assert status == 200
    html = body.decode()
    return html[html.index("<h1>") : html.index("<footer>")]


def row_of(html: str, feature: str) -> str:
    """The text of a feature's row of the page."""
    rows = [row for row in html.split("<tr>") if f'<br><a href="/features/{feature}"><code>' in row]
    assert len(rows) == 1
    return " ".join(re.sub("<[^>]*>", " ", rows[0]).split())


# -- the API


async def test_the_api_answers_with_each_feature_and_gate(server: Served) -> None:
    see(server, *ROWS)
    found = await asked(server)
    assert (found["unseen"], found["notApplicable"], found["unknown"], found["complete"]) == ([], "", "", True)
    assert (found["kubevirt"]["name"], found["version"], found["target"]) == ("kubevirt", "v1.8.4", "v1.9.0")
    features = {each["feature"]: each for each in found["features"]}
    metrics = features["downward_metrics"]
    assert (metrics["state"], metrics["why"]) == ("refused", ["feature gate DownwardMetrics is off"])
    assert (metrics["vms"], metrics["vmis"]) == (2, 1)
    assert metrics["requests"]["VirtualMachine"] == {"running": 1, "stopped": 1}
    assert metrics["first"][0] == {"kind": VM, "namespace": "ns", "name": "a", "uid": "u-a"}
    assert (features["vsock"]["state"], features["vsock"]["vms"]) == ("allowed", 1)
    assert [each["value"] for each in features["permitted_host_devices"]["values"]] == ["nvidia.com/A100"]
    gates = {each["gate"]: each for each in found["gates"]}
    assert (gates["VSOCK"]["on"], gates["VSOCK"]["source"], gates["VSOCK"]["nextOn"]) == (True, "listed", True)
    assert (gates["GPUsWithDRA"]["on"], gates["GPUsWithDRA"]["nextOn"]) == (False, True)


async def test_one_is_asked_for_by_its_name(server: Served) -> None:
    see(server, *ROWS)
    found = await asked(server, "?feature=vsock,DownwardMetrics")
    assert [each["feature"] for each in found["features"]] == ["downward_metrics", "vsock"]
    assert [each["gate"] for each in found["gates"]] == ["DownwardMetrics", "VSOCK"]
    found = await asked(server, "?unallowed=true")
    assert [each["feature"] for each in found["features"]] == ["downward_metrics"]
    for query, status, said in (
        ("?feature=vsok", 404, "did you mean vsock?"),
        ("?colour=red", 400, "is not a filter"),
        ("?unallowed=maybe", 400, "true or false"),
    ):
        code, _, body = await server.get(f"/api/v1/features{query}")
        assert (code, said in body.decode()) == (status, True)


async def test_the_answer_follows_a_change(server: Served) -> None:
    see(server, KUBEVIRT, vm("a", domain=METRICS))
    _, headers, body = await server.get("/api/v1/features")
    assert (await server.get("/api/v1/features", If_None_Match=headers["ETag"]))[0] == 304
    see(server, KUBEVIRT | {"gates": ["DownwardMetrics"]})
    status, _, body = await server.get("/api/v1/features", If_None_Match=headers["ETag"])
    states = {each["feature"]: each["state"] for each in json.loads(body)["features"]}
    assert (status, states["downward_metrics"]) == (200, "allowed")


# -- the page


async def test_the_page_shows_what_is_allowed_who_asks_and_the_gates(server: Served) -> None:
    see(server, *ROWS)
    html = await section(server)
    assert "KubeVirt <code>kubevirt/kubevirt</code> v1.8.4, being upgraded to v1.9.0." in html
    metrics = row_of(html, "downward_metrics")
    assert "refused feature gate DownwardMetrics is off" in metrics
    assert "DownwardMetrics: Alpha, off" in metrics
    assert "2 VMs (1 running, 1 stopped), 1 VMI (1 Running)" in metrics
    assert "ns/a , ns/b" in metrics
    assert "every create and edit of the VM, and every new VMI a live migration then: goes on" in metrics
    assert "allowed" in row_of(html, "vsock")
    assert "nobody" in row_of(html, "host_disk")
    assert "then allowed" in row_of(html, "gpu_dra")
    assert "nvidia.com/A100 : 1 and 0" in row_of(html, "permitted_host_devices")
    gates = html[html.index("Feature gates") :]
    assert '<th scope="col">In v1.9.0</th>' in gates
    dra = " ".join(re.sub("<[^>]*>", " ", gates[gates.index("<code>GPUsWithDRA</code>") :][:600]).split())
    assert dra.startswith("GPUsWithDRA Alpha off on Beta gpu_dra")


async def test_the_page_links_to_the_findings_of_a_feature() -> None:
    async with served(checks=[feature_mismatch.CHECK, feature_configuration.CHECK]) as server:
        see(server, *ROWS[1:], KUBEVIRT | {"gates": ["LiveMigration"]})
        server.evaluation.now += 3600
        server.evaluation.evaluate()
        html = unescape(await section(server))
        links = re.findall(r'href="(/findings\?feature=[^"]*)"', html)
        assert "/findings?feature=downward_metrics&reason=NotEditable" in links
        assert "/findings?feature=downward_metrics&namespace=ns&name=a" in links
        assert "/findings?feature=LiveMigration&reason=RedundantGate" in links
        assert len(links) > 5
        for link in links:
            _, _, body = await server.get(f"/api/v1{link}")
            assert json.loads(body)["findings"], link
        found = await asked(server)
        reasons = {each["feature"]: each["findings"] for each in found["features"]}
        assert reasons["downward_metrics"] == {"NotEditable": 1, "StoppedRequestsDisabled": 1}


async def test_the_page_folds_what_nobody_asks_for(server: Served) -> None:
    see(server, *ROWS)
    html = await section(server)
    shown, _, folded = html.partition("<details")
    assert "<code>downward_metrics</code>" in shown
    assert "<code>vsock</code>" in shown
    assert "<code>host_disk</code>" in folded
    assert f"{folded.count('a live migration then: ')} features that no VM uses" in folded


async def test_the_page_says_what_nobody_knows(server: Served) -> None:
    see(server, vm("a", domain=METRICS))
    html = await section(server)
    assert "What the cluster allows is unknown: no KubeVirt object is deployed." in html
    assert "Feature gates" not in html
    assert "1 VM (1 stopped), 0 VMIs" in row_of(html, "downward_metrics")
    see(server, KUBEVIRT)
    server.evaluation.sync_state(VM, SyncState.FORBIDDEN)
    html = await section(server)
    assert "Not counted: VirtualMachine can't be listed." in html
    assert "not counted" in row_of(html, "downward_metrics")
    server.evaluation.sync_state(VM, SyncState.ABSENT)
    html = await section(server)
    assert "Not applicable: the cluster does not serve virtualmachines.kubevirt.io." in html
    assert "<table" not in html


async def test_the_page_says_when_counts_are_incomplete(server: Served) -> None:
    see(server, KUBEVIRT, vm("x", undecodable=True))
    assert "Counts are incomplete: an object is undecodable." in await section(server)


@pytest.mark.parametrize("name", [SCRIPT, "x" * 253, "a\x1b[31m\u202eb"])
async def test_the_page_escapes_what_objects_ask_for(server: Served, name: str) -> None:
    devices = {"gpus": [{"name": "g", "deviceName": name}], "downwardMetrics": {}}
    binding = {"interfaces": [{"name": "n", "binding": {"name": name}}]}
    see(server, KUBEVIRT | {"gates": [name]}, vm(name, uid="u", domain={"devices": devices | binding}))
    see(server, vm("m", domain={"machine": {"type": name}}))
    html = await section(server)
    assert scripts_in(html) == []
    assert not {"\x1b", "\u202e"} & set(html)
    found = await asked(server)
    assert name in [each["gate"] for each in found["gates"]]
    (values,) = (each["values"] for each in found["features"] if each["feature"] == "permitted_host_devices")
    assert [each["value"] for each in values] == [name]


async def test_the_page_is_cut_where_there_are_many_gates_and_values(server: Served) -> None:
    gates, disabled = ([f"{name}{each:04}" for each in range(900)] for name in ("Gate", "Other"))
    see(server, KUBEVIRT | {"gates": gates, "disabledGates": disabled})
    see(server, *(vm(f"vm-{each}", domain={"machine": {"type": f"t{each:03}"}}) for each in range(60)))
    html = await section(server)
    assert "The first 200 of" in html
    machines = row_of(html, "emulated_machines")
    assert "and 55 more" in machines
    assert machines.count("not in emulatedMachines") == 20


# -- the command line


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Of a dump of these rows."""

    def run(rows: tuple[Row, ...], *words: str, command: str = "features") -> tuple[int, str, str]:
        (tmp_path / "all.json").write_text(json.dumps(plain_list([full(row) for row in rows])), encoding="utf-8")
        code = main([command, "--from", str(tmp_path / "all.json"), *words])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return run


def lines(text: str, first: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.startswith(first)]


def test_a_dump_as_a_table(run: Run) -> None:
    code, out, err = run(ROWS, "--complete")
    assert (code, err) == (0, "")
    assert out.startswith("KubeVirt kubevirt/kubevirt v1.8.4, being upgraded to v1.9.0.\n")
    head, metrics = (line.split() for line in out.splitlines()[2:4])
    assert head == ["FEATURE", "STATE", "VMS", "RUNNING", "VMIS", "BITES", "DECIDED", "BY", "FINDINGS"]
    assert metrics[:8] == ["downward_metrics", "refused", "2", "1", "1", "admission", "DownwardMetrics", "(off)"]
    assert lines(out, "vsock")[0][:5] == ["vsock", "allowed", "1", "0", "0"]
    assert lines(out, "gpu_dra")[0][1:5] == ["refused,", "then", "allowed", "0"]
    assert lines(out, "not allowed ")[0][2:] == ["feature", "gate", "DownwardMetrics", "is", "off"]
    assert lines(out, "asked for by")[0][3:] == ["ns/a,", "ns/b"]
    assert not lines(out, "port_ranges")[:1] or lines(out, "port_ranges")[0][1] != "allowed"
    assert not lines(out, "numa")  # allowed, and nobody asks: folded
    assert "features that nobody asks for are not refused; name one to see it." in out
    assert lines(out, "VSOCK") == [["VSOCK", "Alpha", "on", "(listed)", "vsock", "-"]]
    assert lines(out, "GPUsWithDRA") == [["GPUsWithDRA", "Alpha", "off", "gpu_dra", "on,", "Beta"]]
    assert not lines(out, "LiveMigration")
    assert re.search(r"Beside these, \d+ feature gates are always on, and \d+ are off.\n$", out)


def test_a_feature_by_its_name_and_only_what_is_not_allowed(run: Run) -> None:
    code, out, _ = run(ROWS, "--complete", "numa", "LiveMigration")
    assert (code, lines(out, "numa")[0][1], lines(out, "LiveMigration")[0][1]) == (0, "allowed", "GA")
    assert not lines(out, "downward_metrics")
    code, out, _ = run(ROWS, "--complete", "--unallowed")
    assert [line[0] for line in lines(out, "downward_metrics ")] == ["downward_metrics"]
    assert not lines(out, "vsock")
    code, out, _ = run((KUBEVIRT, vm("a")), "--complete", "--unallowed")
    assert (code, out.splitlines()[2:]) == (0, ["Nothing is asked for that is not allowed."])
    code, out, err = run(ROWS, "--complete", "vsok")
    assert (code, out) == (2, "")
    assert err == "steward: no feature or feature gate is called vsok; did you mean vsock?\n"


def test_a_dump_for_programs(run: Run) -> None:
    code, out, _ = run(ROWS, "--complete", "vsock", "-o", "json")
    assert (code, [each["vms"] for each in json.loads(out)["features"]]) == (0, [1])
    assert read_yaml(run(ROWS, "--complete", "vsock", "-o", "yaml")[1])["features"] == json.loads(out)["features"]


def test_the_exit_code_says_whether_everything_was_seen(run: Run) -> None:
    code, out, err = run(ROWS[1:])  # what is not in it may be there all the same
    assert code == 2
    assert "what the cluster allows is unknown: KubeVirt can't be listed" in err
    assert "nothing is counted while " in err
    assert "Of 53 features it is not known whether they are allowed, nor who asks for them; name one" in out
    assert not lines(out, "downward_metrics")
    code, out, _ = run(ROWS[1:], "downward_metrics")
    assert code == 2
    assert lines(out, "downward_metrics")[0][1:6] == ["unknown", "?", "?", "?", "?"]
    code, out, err = run((*ROWS, vm("x", undecodable=True)), "--complete")
    assert (code, "an object is undecodable" in err) == (2, True)
    code, out, err = run(ROWS[1:], "--complete")
    assert (code, "no KubeVirt object is deployed" in err) == (2, True)


def test_no_character_of_a_name_reaches_a_terminal_raw(run: Run) -> None:
    evil = "n\x1b[31m\x9b\u202e\u200b\nforged"
    devices = {"gpus": [{"name": "g", "deviceName": evil}], "downwardMetrics": {}}
    rows = (KUBEVIRT | {"gates": [evil], "version": "v1.8.4"}, vm(evil, uid="u", domain={"devices": devices}))
    _, out, err = run(rows, "--complete")
    assert "31m" in out
    assert not {"\x1b", "\x9b", "\u202e", "\u200b"} & set(out + err)
    assert not any(line.startswith("forged") for line in out.splitlines())
    _, out, err = run((KUBEVIRT | {"version": evil},), "--complete", evil)
    assert not {"\x1b", "\x9b", "\u202e", "\u200b"} & set(out + err)


def test_check_shows_what_is_about_a_feature(run: Run) -> None:
    code, out, _ = run(ROWS, "--complete", "--feature", "downward_metrics", "-o", "json", command="check")
    findings = json.loads(out)["findings"]
    assert (code, {each["feature"] for each in findings}) == (1, {"downward_metrics"})
    assert {each["reason"] for each in findings} == {"NotEditable", "StoppedRequestsDisabled"}
    code, out, _ = run(ROWS, "--complete", "--feature", "vsock", "-o", "json", command="check")
    assert json.loads(out)["findings"] == []
    code, out, _ = run(ROWS, "--feature", "vsock", "-o", "json", command="check")
    assert code == 2
    assert {each["check"].split("_")[0] for each in json.loads(out)["unknown"]} == {"feature"}


async def live(
    cluster: FakeApiServer, folder: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    config = str(kubeconfig(folder, cluster.url))
    code = await asyncio.to_thread(main, ["features", "--kubeconfig", config, *words])
    shown = capsys.readouterr()
    own = [line for line in shown.err.splitlines() if line.startswith("steward: ")]  # beside the log
    return code, shown.out, "\n".join(own)


async def test_a_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = FakeApiServer()
    server.load([full(row) for row in ROWS])
    await server.start()
    code, out, err = await live(server, tmp_path, capsys)
    assert (code, err) == (0, "")
    assert lines(out, "downward_metrics")[0][1:5] == ["refused", "2", "1", "1"]
    server.unserve("virtualmachines")
    code, out, err = await live(server, tmp_path, capsys)
    await server.stop()
    assert code == 2
    assert err == "steward: not applicable: the cluster does not serve virtualmachines.kubevirt.io"


# -- the surfaces agree


async def test_the_demo_has_them_in_its_scrape_its_api_and_its_page(http: aiohttp.ClientSession) -> None:
    _, text, _ = await get(http, "/metrics")
    _, answer, _ = await get(http, "/api/v1/features")
    _, page, _ = await get(http, "/features/")
    found = json.loads(answer)
    counts = {
        f'kubevirt_feature_requests{{feature="{each["feature"]}",kind="{kind}",phase="{phase}"}} {number}'
        for each in found["features"]
        for kind, phases in each["requests"].items()
        for phase, number in phases.items()
    }
    assert counts == {line for line in text.splitlines() if line.startswith("kubevirt_feature_requests{")}
    gates = {
        f'kubevirt_feature_enabled{{feature="{each["gate"]}",stage="{each["stage"]}",source="{each["source"]}"}} '
        f"{each['on']:d}"
        for each in found["gates"]
        if each["stage"]  # else it is one that the version does not know
    }
    assert gates == {line for line in text.splitlines() if line.startswith("kubevirt_feature_enabled{")}
    metrics = next(each for each in found["features"] if each["feature"] == "downward_metrics")
    assert metrics["vms"] > 0
    assert f"{metrics['vms']} VMs (" in row_of(page, "downward_metrics")
    for each in found["features"]:
        _, listed, _ = await get(http, f"/api/v1/findings?feature={each['feature']}")
        assert len(json.loads(listed)["findings"]) == sum(each["findings"].values())


@pytest.mark.parametrize(
    "command", [("features",), ("impact", "--disable", "VSOCK"), ("networks",), ("instancetypes",), ("drain", "n")]
)
def test_a_second_dump_is_refused_by_what_looks_at_one(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--from", str(tmp_path), "--from", str(tmp_path / "other")]) == 2
    assert "--from: is given twice, and this command looks at one dump" in capsys.readouterr().err
