"""`steward check --exporter`: the findings of a steward that runs, with the ages that it is a witness of."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import main
from tests.sharing import Shared


@dataclass
class Running:
    url: str
    kubeconfig: Path
    capsys: pytest.CaptureFixture[str]

    async def check(self, *words: str) -> tuple[int, str, str]:
        code = await asyncio.to_thread(main, ["check", *words])
        shown = self.capsys.readouterr()
        return code, shown.out, shown.err

    async def report(self, *words: str) -> Any:
        return json.loads((await self.check("--exporter", self.url, "-o", "json", *words))[1])


@pytest.fixture
def running(shared: Shared, capsys: pytest.CaptureFixture[str]) -> Running:
    return Running(shared.url, shared.kubeconfig, capsys)


async def test_it_finds_what_a_look_at_the_cluster_finds(running: Running) -> None:
    code, out, _ = await running.check("--kubeconfig", str(running.kubeconfig), "-o", "json")
    looked = json.loads(out)
    asked = await running.report()

    def ids(report: Any) -> Any:
        return sorted((f["fingerprint"], f["severity"], f["cause"]) for f in report["findings"])

    assert ids(asked) == ids(looked)
    assert sorted(c["cause"] for c in asked["causes"]) == sorted(c["cause"] for c in looked["causes"])
    assert (await running.check("--exporter", running.url))[0] == code == 2


async def test_ages_are_at_least_those_that_it_is_a_witness_of(running: Running) -> None:
    code, out, _ = await running.check("--exporter", running.url, "--reason", "LabellessPin")
    (line,) = (line for line in out.splitlines() if "LabellessPin" in line)
    assert code == 1
    assert line.split()[4:7] == ["≥", line.split()[5], "ControllerRevision"]
    _, out, _ = await running.check("--kubeconfig", str(running.kubeconfig), "--reason", "LabellessPin")
    (line,) = (line for line in out.splitlines() if "LabellessPin" in line)
    assert line.split()[4:6] == ["-", "ControllerRevision"]


async def test_what_is_asked_for_can_be_narrowed(running: Running) -> None:
    whole = await running.report()
    part = await running.report("-n", "shop", "--severity", "warning")
    chosen = [f for f in whole["findings"] if f["subject"]["namespace"] == "shop" and f["severity"] == "warning"]
    assert part["findings"] == chosen != []
    assert sum(each["findings"] for each in part["causes"]) == len(chosen)
    assert {each["severity"] for each in part["causes"]} == {"warning"}
    assert (await running.report("vm/shop/pinned"))["findings"] == [
        f for f in whole["findings"] if f["reason"] == "LabellessPin"
    ]
    of = ("--exporter", running.url, "--check", "ipam_claims")
    assert (await running.check(*of))[0] == 2
    assert (await running.check(*of, "-n", "shop"))[0] == 1  # what is unknown is an object of another one


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--exporter", "URL", "--from", "x"], "--exporter asks a running steward, and --from reads a dump; give one"),
        (["--token-file", "x"], "--token-file is for a running steward; it needs --exporter"),
        (["--exporter", "URL", "--probe-features"], "--probe-features asks a cluster; there is none behind --exporter"),
        (["--exporter", "URL", "0123456789abcdef"], "no finding and no cause has ID 0123456789abcdef, or"),
        (["--exporter", "http://127.0.0.1:9"], "http://127.0.0.1:9 is not reachable: Connection refused; "),
    ],
)
async def test_what_is_wrong_is_one_sentence(words: list[str], says: str, running: Running) -> None:
    code, out, err = await running.check(*(running.url if word == "URL" else word for word in words))
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith(f"steward: {says}")


@pytest.mark.parametrize(
    "commands",
    [
        ["networks", "networks shop-blue", "instancetypes", "instancetypes u1.large"],
        ["features", "features vsock", "features --unallowed", "vm shop/pinned"],
        ["drain node05", "drain --all-cordoned", "impact --enable VSOCK --set evictionStrategy=LiveMigrate"],
    ],
    ids=lambda commands: commands[0].partition(" ")[0],
)
async def test_other_commands_say_what_a_look_at_the_cluster_does(commands: list[str], running: Running) -> None:
    async def said(words: list[str], *where: str) -> tuple[int, Any, str]:
        code = await asyncio.to_thread(main, [*words, *where, "-o", "json"])
        shown = running.capsys.readouterr()
        return code, undated(json.loads(shown.out)), shown.err

    for command in commands:
        asked = await said(command.split(), "--exporter", running.url)
        assert asked == await said(command.split(), "--kubeconfig", str(running.kubeconfig)), command
        assert len(json.dumps(asked[1])) > 200, command


def undated(report: Any) -> Any:
    """Without what differs between two looks: their generations, and since when each has seen what no object dates."""
    if isinstance(report, list):
        return [undated(each) for each in report]
    if not isinstance(report, dict):
        return report
    left_out = {"generation", "since"} if report.get("sinceSource") == "firstSeen" else {"generation"}
    return {key: undated(value) for key, value in report.items() if key not in left_out}


async def test_what_is_wrong_with_other_commands_is_one_sentence(running: Running) -> None:
    for words, says in WRONG:
        code = await asyncio.to_thread(main, [*words.split(), "--exporter", running.url])
        shown = running.capsys.readouterr()
        assert (code, shown.out, len(shown.err.splitlines())) == (2, "", 1), words
        assert shown.err.startswith(f"steward: {says}"), words


WRONG = [
    ("networks shop-bleu", "no network is called 'shop-bleu'; did you mean shop-blue?"),
    ("instancetypes u1.lage", "no instancetype and no preference is called 'u1.lage'; did you mean u1.large?"),
    ("features vsok", "no feature or feature gate is called vsok; did you mean vsock?"),
    ("vm shop/pined", "no VM is called 'shop/pined'; did you mean shop/pinned?"),
    ("vm --manifest x", "--manifest is evaluated by a look at a cluster or a dump, and not by a running steward"),
    ("drain node99", "no node is called 'node99'; did you mean node"),
    ("drain -l zone=a", "a running steward takes the names of nodes, or --all-cordoned; leave the other out"),
    ("drain node05 --probe", "--probe asks a cluster; there is none behind --exporter"),
    ("impact --disable Nothing", "KubeVirt v1.7.0 knows no feature gate 'Nothing'; names are case-sensitive"),
    ("check -l tier=web", "-l asks for labels of VMs, which a running steward does not tell; name them: "),
]


async def test_a_server_that_is_no_steward(running: Running) -> None:
    server = json.loads(running.kubeconfig.read_text(encoding="utf-8"))["clusters"][0]["cluster"]["server"]
    code, out, err = await running.check("--exporter", server)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith(f"steward: GET {server}/api/v1/findings was answered with 404")


async def test_status_of_it_has_the_release_and_the_drains_of_a_look_at_the_cluster(running: Running) -> None:
    async def status(*words: str) -> list[str]:
        await asyncio.to_thread(main, ["status", *words])
        return running.capsys.readouterr().out.splitlines()

    looked = await status("--kubeconfig", str(running.kubeconfig))
    asked = await status("--exporter", running.url)
    assert asked[0] == f"Cluster   as {running.url} sees it"
    assert asked[1:5] == looked[1:5]
    assert asked[1].startswith("KubeVirt  v")
    assert [line for line in asked if line.startswith("Drains")] == [
        line for line in looked if line.startswith("Drains")
    ]
    assert any(line.startswith("Drains    node05: 6 VMs still on it") for line in asked)
    (changes,) = (line for line in asked if line.startswith("Changes "))
    assert re.fullmatch("Changes   .* since the steward began to count .* ago", changes)
    assert not any(line.startswith("Changes ") for line in looked)  # a single look has seen nothing change
