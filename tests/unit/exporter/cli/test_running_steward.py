"""`steward check --exporter`: the findings of a steward that runs, with the ages that it is a witness of."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
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
    assert line.split()[4:7] == ["≥", line.split()[5], "Pinned"]
    _, out, _ = await running.check("--kubeconfig", str(running.kubeconfig), "--reason", "LabellessPin")
    (line,) = (line for line in out.splitlines() if "LabellessPin" in line)
    assert line.split()[4:6] == ["-", "Pinned"]


async def test_a_part_of_each_cause_is_counted_from_what_is_left_of_it(running: Running) -> None:
    whole = await running.report()
    causes = {each["cause"]: each["findings"] for each in whole["causes"]}
    parts = 0
    for namespace in sorted({f["subject"]["namespace"] for f in whole["findings"]} - {""}):
        part = await running.report("-n", namespace)
        own = Counter(f["cause"] for f in whole["findings"] if f["subject"]["namespace"] == namespace)
        assert {each["cause"]: each["findings"] for each in part["causes"]} == own
        parts += sum(own[cause] < causes[cause] for cause in own)
    assert parts


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


async def test_what_is_wrong_with_other_commands_is_one_sentence(running: Running) -> None:
    for words, says in WRONG:
        code = await asyncio.to_thread(main, [*words.split(), "--exporter", running.url])
        shown = running.capsys.readouterr()
        assert (code, shown.out, len(shown.err.splitlines())) == (2, "", 1), words
        assert shown.err.startswith(f"steward: {says}"), words


WRONG = [
    ("networks shop-bleu", "no network is called 'shop-bleu'; did you mean shop-blue?"),
    ("instancetypes u1.lage", "no instancetype and no preference is called 'u1.lage'; did you mean u1.large?"),
    ("vm --manifest x", "--manifest is evaluated by a look at a cluster or a dump, and not by a running steward"),
    ("drain node05 --probe", "--probe asks a cluster; there is none behind --exporter"),
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
