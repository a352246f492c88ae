"""The impact of gates, settings and upgrades as users meet it: on the command line, in the API, on a page."""

from __future__ import annotations

import json
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec
import pytest

from exporter.__main__ import main
from exporter.cli.commands.impact import impacted
from exporter.questions.impact import Impact

from ....all_of import each_of
from ....asking import get, scripts_in
from ....rows import full
from ....sharing import Fleet

Row = dict[str, Any]
HOST_DISK: Row = {"template": {"volumes": [{"name": "d", "hostDisk": {"path": "/d", "type": "Disk"}}]}}
ROWS: list[Row] = [
    {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.4", "gates": ["HostDisk"]},
    {"kind": "VirtualMachineClusterInstancetype", "name": "medium", "uid": "t1"},
    {"kind": "VirtualMachine", "name": "db", "uid": "u1", "networks": {}, "runStrategy": "Halted", **HOST_DISK},
    {"kind": "VirtualMachine", "name": "web", "uid": "u2", "networks": {}, "runStrategy": "Halted"},
]
NOTHING = 'permittedHostDevices={"pciHostDevices":[],"usb":[]}'


@pytest.fixture(scope="module")
def fleet() -> Fleet:
    return lambda: list(map(full, ROWS))


async def test_the_api_says_which_gates_are_switched_and_who_breaks(http: aiohttp.ClientSession) -> None:
    status, text, headers = await get(http, "/api/v1/impact?disable=HostDisk&upgrade-to=1.9")
    impact = json.loads(text)
    assert status == 200
    assert impact["changes"][0] == "KubeVirt is upgraded from v1.8.4 to v1.9.0"
    (gate,) = [each for each in impact["gates"] if each["name"] == "HostDisk"]
    assert gate == {
        "name": "HostDisk",
        "before": "on",
        "after": "off",
        "stage": "Alpha",
        "ruled": True,
        "vms": 1,
        "vmis": 0,
        "some": [{"kind": "VirtualMachine", "namespace": "ns", "name": "db", "uid": "u1"}],
        "namespaces": [{"namespace": "ns", "vms": 1, "vmis": 0}],
        "namespacesInAll": 1,
    }
    (broken,) = [each for each in impact["findings"] if each["outcome"] == "breaks"]
    assert (broken["when"], broken["answer"]) == ("at the next edit", "HostDisk feature gate is not enabled")
    assert impact["features"] == [{"feature": "host_disk", "breaks": 1, "worse": 0, "safe": 0, "other": 0}]
    assert len(impact["beforehand"]) == 2
    assert (await get(http, "/api/v1/impact?disable=HostDisk&upgrade-to=1.9", **{"If-None-Match": headers["ETag"]}))[
        0
    ] == 304


async def test_a_value_may_hold_commas(http: aiohttp.ClientSession) -> None:
    status, text, _ = await get(http, f"/api/v1/impact?set={quote(NOTHING)}&set=cpuModel=Haswell")
    assert status == 200
    assert json.loads(text)["changes"] == [
        'spec.configuration.permittedHostDevices is set to {"pciHostDevices":[],"usb":[]}',
        'spec.configuration.cpuModel is set to "Haswell"',
    ]


@each_of("path", ["/api/v1/impact", "/impact"])
@each_of(
    ("query", "status", "sentence"),
    [
        (
            "disable=Hostdisk",
            400,
            "KubeVirt v1.8.4 knows no feature gate 'Hostdisk'; names are case-sensitive; did you mean HostDisk?",
        ),
        ("upgrade-to=1.8&upgrade-to=1.9", 400, "upgrade-to is given 2 times; give it once"),
        ("set=cpuModel", 400, "'cpuModel' sets nothing; write it as PATH=VALUE, such as cpuModel=Haswell"),
    ],
)
async def test_what_can_not_be_done_is_refused(
    path: str, query: str, status: int, sentence: str, http: aiohttp.ClientSession
) -> None:
    got, text, _ = await get(http, f"{path}?{query}")
    if "api" in path:
        assert (got, json.loads(text)["error"]) == (status, sentence)
    else:  # the form is given back
        assert (got, sentence in unescape(text), 'action="/impact"' in text) == (400, True, True)


async def test_the_page_has_the_gates_who_uses_them_and_the_question_again(http: aiohttp.ClientSession) -> None:
    setting = 'cpuModel="<b>"'
    status, html, _ = await get(http, f"/impact?disable=HostDisk&enable=&upgrade-to=&set={quote(setting)}&set=")
    assert status == 200
    for text in (
        "feature gate HostDisk is removed from featureGates",
        '<code>HostDisk</code></td><td data-label="Stage">Alpha</td><td data-label="Was">on</td>',
        '<td data-label="Becomes">off</td>',
        "VirtualMachine ns/db",
        "at the next edit",
        "KubeVirt will say: HostDisk feature gate is not enabled",
        "Before you disable the feature gate",
        'name="disable" value="HostDisk"',
        'name="set" value="cpuModel=&#34;&lt;b&gt;&#34;"',
        'href="/api/v1/impact?disable=HostDisk&amp;set=cpuModel%3D%22%3Cb%3E%22"',
        "<code>host_disk</code>",
    ):
        assert text in html
    assert "<b>&" not in html
    assert scripts_in(html) == []


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(["impact", *words])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.fixture
def dump(tmp_path: Path) -> str:
    path = tmp_path / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(map(full, ROWS))}))
    return str(path)


@each_of(
    ("words", "code", "said"),
    [
        (["--disable", "HostDisk"], 1, "HostDisk  Alpha  on -> off  1    0     VirtualMachine ns/db"),
        (
            ["--disable", "HostDisk"],
            1,
            "KubeVirt will say: HostDisk feature gate is not enabled\n          after the change: ",
        ),
        (["--disable", "HostDisk"], 1, "host_disk  1       0      0     0"),
        (["--disable", "Sidecar"], 0, "which changes nothing: it is off already"),
        (["--upgrade-to", "1.9"], 0, "Feature gates that change (23):"),
        (["--set", NOTHING], 0, "No finding would differ."),
        (["--set", "migrations.network=x"], 2, "no check reads spec.configuration.migrations.network"),
        (["--disable", "HostDisk", "--delete-instancetype", "medium"], 1, "medium is deleted\nand feature gate"),
        (["--disable", "HostDisks"], 2, "steward: KubeVirt v1.8.4 knows no feature gate 'HostDisks'"),
        (["--upgrade-to", "1.7"], 2, "steward: KubeVirt v1.8.4 is running, and KubeVirt can't be downgraded to v1.7.0"),
        (["--upgrade-to", "1.8", "--upgrade-to", "1.9"], 2, "steward: upgrade-to is given 2 times; give it once"),
    ],
)
def test_what_the_command_prints(
    words: list[str], code: int, said: str, dump: str, capsys: pytest.CaptureFixture[str]
) -> None:
    got, out, err = run([*words, "--from", dump, "--complete"], capsys)
    assert (got, said in out + err) == (code, True), out + err


def test_without_a_kubevirt_in_the_dump_nothing_is_called_safe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "vms.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": list(map(full, ROWS[1:]))}))
    code, _, err = run(["--disable", "HostDisk", "--from", str(path)], capsys)
    assert code == 2
    assert "the KubeVirt object can't be seen" in err


async def test_page_text_and_api_say_of_the_same_gates_who_is_hit(http: aiohttp.ClientSession) -> None:
    _, html, _ = await get(http, "/impact?upgrade-to=1.9")
    _, text, _ = await get(http, "/api/v1/impact?upgrade-to=1.9")
    gates = json.loads(text)["gates"]
    unruled = {each["name"] for each in gates if not each["ruled"]}
    unasked = {each["name"] for each in gates if each["ruled"] and each["vms"] == each["vmis"] == 0}
    assert (len(unruled), len(unasked)) == (11, 12)
    assert "12 feature gates change that no VM uses; 11 feature gates change with unknown effect on VMs." in html
    for section, names in (("unused", unasked), ("unruled", unruled)):
        part = html.partition(f'id="{section}"')[2].partition("</details>")[0]
        assert {each for each in unasked | unruled if f"<code>{each}</code>" in part} == names
    assert "nobody uses" not in html
    out = impacted(msgspec.json.decode(text, type=Impact))
    for said, names in (("No VM and no VMI asks for: ", unasked), ("It is not known who is hit by: ", unruled)):
        line = next(each for each in out.split("\n") if each.startswith(said))
        assert {each.split()[0] for each in line.removeprefix(said).split("), ")} == names


async def test_the_page_refuses_a_downgrade_in_the_same_sentence(http: aiohttp.ClientSession) -> None:
    for address in ("/impact?upgrade-to=1.7", "/api/v1/impact?upgrade-to=1.7"):
        status, text, _ = await get(http, address)
        assert (status, "v1.8.4 is running, and KubeVirt can" in unescape(text)) == (400, True)
