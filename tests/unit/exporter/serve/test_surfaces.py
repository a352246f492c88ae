"""The API, the page and the command line, with the demo's fleet."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from msgspec import inspect

from demo.apiserver.server import kubeconfig
from demo.fleet.sample import sample_fleet
from exporter import questions
from exporter.__main__ import main
from exporter.checks import all_checks
from exporter.cli.options import subcommands
from exporter.cli.parsing import steward
from exporter.findings.check import PER_FLEET
from exporter.questions import all_questions
from exporter.questions.causes import CausesReport
from exporter.questions.findings import FindingReport, Report
from exporter.serve.reports import listing
from exporter.store.kind import ApiKind

from ....all_of import each_of
from ....asking import get, scripts_in
from ....case_files import read_yaml
from ....fakeapi.apiserver import FakeApiServer
from ....shared import REPO

FIELDS = {
    "next",
    "commands",
    "runbook",
    "unknown",
    *("check", "reason", "severity", "subject", "related", "vm", "node", "feature", "network", "since", "sinceSource"),
    *("message", "evidence", "group", "fingerprint", "cause", "remediation", "cluster"),
}


async def report(http: aiohttp.ClientSession, query: str = "") -> Any:
    status, text, _ = await get(http, f"/api/v1/findings{query}")
    assert status == 200, text
    return json.loads(text)


async def test_the_report_has_the_documented_shape(http: aiohttp.ClientSession) -> None:
    whole = await report(http)

    fields = {"generation", "findings", "unknown", "sources", "undecodable", "notApplicable", "ready", "fleet"}
    assert set(whole) == fields
    assert all(set(finding) == FIELDS for finding in whole["findings"])
    assert {f["severity"] for f in whole["findings"]} == {"critical", "warning", "info"}
    assert set(whole["findings"][0]["subject"]) == {"kind", "namespace", "name", "uid"}
    assert [(u["check"], u["partition"]) for u in whole["unknown"]] == [
        ("ipam_claims", "legacy"),
        ("ipam_networks", "legacy"),
        ("ipam_networks", "legacy"),
        ("ipam_vms", "legacy"),
    ]
    assert [(o["kind"], o["namespace"], o["name"]) for o in whole["undecodable"]] == [
        ("IPAMClaim", "legacy", "old-import.net1")
    ]
    assert {source["state"] for source in whole["sources"]} == {"live"}


async def test_filters_narrow_and_wrong_ones_are_refused(http: aiohttp.ClientSession) -> None:
    critical = (await report(http, "?severity=critical"))["findings"]
    both = (await report(http, "?severity=critical,warning&namespace=billing"))["findings"]

    assert {f["severity"] for f in critical} == {"critical"}
    assert {(f["subject"]["namespace"], f["severity"]) for f in both} == {
        ("billing", "critical"),
        ("billing", "warning"),
    }
    assert (await get(http, "/api/v1/findings?colour=red"))[0] == 400
    assert "not a filter" in (await get(http, "/api/v1/findings?colour=red"))[1]
    assert (await get(http, "/api/v1/findings?wait=long"))[0] == 400
    assert (await get(http, "/api/v1/findings?wait=999"))[0] == 400


async def test_an_unchanged_report_is_not_sent_twice(http: aiohttp.ClientSession) -> None:
    _, _, headers = await get(http, "/api/v1/findings")
    status, text, _ = await get(http, "/api/v1/findings", **{"If-None-Match": headers["ETag"]})
    assert (status, text) == (304, "")


async def test_a_long_poll_answers_when_something_changes(
    own_http: aiohttp.ClientSession, cluster: FakeApiServer
) -> None:
    generation = (await report(own_http))["generation"]
    polling = asyncio.create_task(report(own_http, f"?generation={generation}&wait=30&namespace=shop"))
    await asyncio.sleep(0)
    cluster.patch("ipamclaims", "shop", "checkout-canary.blue", {"metadata": {"finalizers": None}})
    cluster.delete("ipamclaims", "shop", "checkout-canary.blue")

    changed = await asyncio.wait_for(polling, 10)
    assert changed["generation"] > generation
    assert "checkout-canary.blue" not in [f["subject"]["name"] for f in changed["findings"]]


async def test_the_page_escapes_what_objects_are_called(
    own_http: aiohttp.ClientSession, cluster: FakeApiServer
) -> None:
    claim = cluster.get("ipamclaims", "shop", "checkout-canary.blue")
    hostile = {"spec": {"network": '"><script>alert(1)</script>'}}
    generation = (await report(own_http))["generation"]
    cluster.patch("ipamclaims", "shop", claim["metadata"]["name"], hostile)
    await report(own_http, f"?generation={generation}&wait=10")

    status, html, headers = await get(own_http, "/findings")
    assert status == 200
    assert "alert(1)" in html
    assert scripts_in(html) == []
    assert "&lt;script&gt;" in html
    assert "default-src 'none'; script-src 'self'; style-src 'self'" in headers["Content-Security-Policy"]


async def test_networks_are_reported_with_reclaimable_addresses(http: aiohttp.ClientSession) -> None:
    status, text, headers = await get(http, "/api/v1/networks")
    networks = {each["network"]: each for each in json.loads(text)["networks"]}
    assert status == 200
    assert networks["shop-blue"]["subnets"][0]["capacity"] == 254
    assert "checkout-canary.blue" in [each["claim"]["name"] for each in networks["shop-blue"]["reclaim"]]
    assert {name for name, each in networks.items() if not each["complete"]} == {"legacy-old"}
    again, nothing, _ = await get(http, "/api/v1/networks", **{"If-None-Match": headers["ETag"]})
    assert (again, nothing) == (304, "")

    _, text, _ = await get(http, "/api/v1/networks?network=shop-blue")
    assert [each["network"] for each in json.loads(text)["networks"]] == ["shop-blue"]
    assert (await get(http, "/api/v1/networks?colour=red"))[0] == 400


async def test_networks_are_on_the_page_and_in_the_scrape(http: aiohttp.ClientSession) -> None:
    _, section, _ = await get(http, "/networks/")
    assert "telecom-signalling" in section
    assert '<meter min="0" max="254"' in section
    assert "shop/checkout-canary.blue" in section
    assert "count incomplete" in section

    _, text, _ = await get(http, "/metrics")
    _, networks, _ = await get(http, "/api/v1/networks?network=shop-blue")
    (network,) = json.loads(networks)["networks"]
    (subnet,) = network["subnets"]
    used = [line for line in text.splitlines() if line.startswith('kubevirt_ipam_pool_used{network="shop-blue",')]
    assert sum(int(line.split()[-1]) for line in used) == subnet["used"] > 0
    assert f"{subnet['used']} of {subnet['capacity']}, {subnet['free']} free</td>" in section
    assert 'kubevirt_ipam_pool_capacity{network="shop-blue",subnet="192.168.10.0/24"} 254' in text
    assert 'kubevirt_steward_series_dropped{family="kubevirt_ipam_pool_used"} 0.0' in text


async def test_an_upgrade_of_kubevirt_is_in_the_scrape(own_http: aiohttp.ClientSession, cluster: FakeApiServer) -> None:
    sample = 'kubevirt_upgrade_in_progress{namespace="kubevirt",name="kubevirt"}'
    assert f"{sample} 0" in (await get(own_http, "/metrics"))[1]

    status = cluster.get("kubevirts", "kubevirt", "kubevirt")["status"]
    upgraded = {"status": status | {"targetKubeVirtVersion": "v1.8.0"}}
    cluster.patch("kubevirts", "kubevirt", "kubevirt", upgraded)
    async with asyncio.timeout(10):
        while f"{sample} 1" not in (await get(own_http, "/metrics"))[1]:
            pass


async def test_the_page_filters_without_script(http: aiohttp.ClientSession) -> None:
    _, html, _ = await get(http, "/findings?severity=critical&check=&namespace=telecom")
    causes = html[html.index("<article") : html.index("<form", html.index("<article"))]
    assert "sip-proxy-old.sig" in causes
    assert "billing/ledger-db" not in causes
    assert '<input type="checkbox" name="severity" value="critical" checked>' in html
    assert (await get(http, "/style.css"))[0] == 200


async def page_of(http: aiohttp.ClientSession, reason: str) -> str:
    """Of the first finding of a reason."""
    finding = (await report(http, f"?reason={reason}"))["findings"][0]
    return str((await get(http, f"/findings/{finding['fingerprint']}"))[1])


def advised(**advice: Any) -> Callable[..., FindingReport]:
    """What the page shows of a finding, with the same advice for every one."""

    def reported(*arguments: Any) -> FindingReport:
        return msgspec.structs.replace(questions.findings.reported(*arguments), **advice)

    return reported


async def test_the_page_shows_the_next_step_with_commands_and_runbook(
    own_http: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = ("kubectl get vmi -n ns db", 'kubectl patch vm db -p \'{"a":"<b>&c"}\'')
    shown = {"next": "Stop the VM, or <b>wait</b>.", "commands": commands, "runbook": "https://example.org/Runbook.md"}
    monkeypatch.setattr(listing, "reported", advised(**shown))
    html = await page_of(own_http, "NotMigratable")
    step = html[html.index('id="next"') :].partition("</section>")[0]

    assert "Stop the VM, or &lt;b&gt;wait&lt;/b&gt;." in step
    look, _, change = step.partition("<h3>Change</h3>")
    found = [[unescape(each) for each in re.findall("<pre[^>]*><code>(.*?)</code>", half)] for half in (look, change)]
    assert found == [[commands[0]], [commands[1]]]
    assert "changes the cluster" in change
    assert "changes the cluster" not in look
    assert '<a href="/runbooks/VMEvictionNotMigratable.md#notmigratable"' in html
    assert "out of date" not in html

    monkeypatch.setattr(listing, "reported", advised(next="", commands=(), runbook=""))
    html = await page_of(own_http, "NotMigratable")
    assert "NotMigratable" in html
    assert 'id="next"' not in html


async def test_the_page_says_why_a_finding_may_be_out_of_date(
    own_http: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing, "reported", advised(unknown="no connection for pods"))
    assert "Stale: no connection for pods" in await page_of(own_http, "NotMigratable")


async def test_the_page_shows_which_findings_belong_together(http: aiohttp.ClientSession) -> None:
    found = (await report(http, "?reason=Duplicate"))["findings"]
    _, html, _ = await get(http, "/findings?reason=Duplicate")
    assert len({finding["group"] for finding in found}) == 1
    assert "2 findings of 1 cause" in html
    assert "VirtualMachine billing/print-server and shop/print-server" in html


def fields_of(shape: Any) -> Iterator[str]:
    """The JSON names of a struct and of the structs in it."""
    described = inspect.multi_type_info([shape])[0] if isinstance(shape, type) else shape
    if isinstance(described, inspect.StructType):
        for each in described.fields:
            yield each.encode_name
            yield from fields_of(each.type)
    for inner in (*getattr(described, "types", ()), getattr(described, "item_type", None)):
        if inner is not None:
            yield from fields_of(inner)


def shapes() -> Iterator[type]:
    """What is answered: the report of the findings, and the answer of each question."""
    yield Report
    yield CausesReport
    yield from (each.answer for each in all_questions())


@each_of("shape", list(shapes()))
def test_every_field_of_the_api_is_documented(shape: type) -> None:
    text = (REPO / "docs" / "api.md").read_text(encoding="utf-8")
    names = set(fields_of(shape))
    assert len(names) > 10
    assert {name for name in names if f'"{name}"' not in text} == set()


async def test_hostile_names_stay_one_label_value(own_http: aiohttp.ClientSession, cluster: FakeApiServer) -> None:
    hostile = 'a"} 1\nup{x="\\'
    generation = (await report(own_http))["generation"]
    cluster.patch("ipamclaims", "shop", "checkout-canary.blue", {"spec": {"network": hostile}})
    await report(own_http, f"?generation={generation}&wait=10")

    _, text, _ = await get(own_http, "/metrics")
    assert r"a\"} 1\nup{x=\"\\" in text
    assert "\nup{" not in text


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    code = main(words)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


async def looked(cluster: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    config = str(kubeconfig(tmp_path, cluster.url))
    return await asyncio.to_thread(run, ["check", "--kubeconfig", config, *words], capsys)


async def test_check_reports_findings_and_that_it_is_incomplete(
    cluster: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = await looked(cluster, tmp_path, capsys)
    assert code == 2
    assert "StuckTerminatingBlocksOwnerDeletion" in out
    assert "could not be read" in out

    cluster.patch("ipamclaims", "legacy", "old-import.net1", {"metadata": {"finalizers": None}})
    cluster.delete("ipamclaims", "legacy", "old-import.net1")
    code, out, _ = await looked(cluster, tmp_path, capsys, "-o", "json")
    assert code == 1
    in_json = json.loads(out)
    code, out, _ = await looked(cluster, tmp_path, capsys, "-o", "yaml")
    assert [f["fingerprint"] for f in read_yaml(out)["findings"]] == [f["fingerprint"] for f in in_json["findings"]]


async def test_check_shows_of_a_cluster_what_is_asked_for(
    cluster: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = await looked(cluster, tmp_path, capsys, "--check", "sources", "-n", "legacy", "-o", "json")
    report = json.loads(out)
    assert (code, report["unknown"]) == (1, [])
    assert [f["reason"] for f in report["findings"]] == ["UndecodableObject"]


async def test_networks_as_a_table_and_as_json(
    cluster: FakeApiServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(kubeconfig(tmp_path, cluster.url))
    code, out, _ = await asyncio.to_thread(run, ["networks", "--kubeconfig", config], capsys)
    assert code == 2  # the demo has a claim that can't be read
    assert "shop/checkout-canary.blue" in out
    assert "0 % or more" in out

    code, out, _ = await asyncio.to_thread(run, ["networks", "lab-bench", "-o", "json", "--kubeconfig", config], capsys)
    assert code == 0
    assert [each["network"] for each in json.loads(out)["networks"]] == ["lab-bench"]


def test_networks_of_a_dump(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    objects = sample_fleet(datetime.now(UTC)).objects
    (tmp_path / "all.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    _, out, err = run(["networks", "shop-blue", "--from", str(tmp_path), "--complete"], capsys)
    assert "13 vm_running" in out, err
    code, out, err = run(["networks", "--from", str(tmp_path / "nowhere")], capsys)
    assert (code, out) == (2, "")


async def test_check_of_a_healthy_cluster_finds_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = FakeApiServer()
    await server.start()
    code, out, _ = await looked(server, tmp_path, capsys)
    server.unserve("ipamclaims")
    without, reported, _ = await looked(server, tmp_path, capsys)
    server.unserve("virtualmachines")
    incomplete, why, _ = await looked(server, tmp_path, capsys)
    await server.stop()

    kinds = len({kind.name for check in all_checks() for kind in check.reads if isinstance(kind, ApiKind)})
    checks = sum(1 for check in all_checks() if check.scope is not PER_FLEET)
    assert (code, out) == (0, f"No findings.\n{checks} of {checks} checks answered; {kinds} of {kinds} kinds seen.\n")
    assert without == 0  # it belongs to OVN-Kubernetes, which is optional
    assert reported.startswith("No findings.\n")
    assert incomplete == 2  # which VMs of a lost node start again is not known without them
    assert "does not serve virtualmachines.kubevirt.io" in why


@pytest.mark.parametrize("where", ["203.0.113.9:9877", "no-such-host.invalid:9877"])
def test_an_address_that_is_not_ours_is_refused_in_a_sentence(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = str(kubeconfig(tmp_path, "http://127.0.0.1:9"))
    code, _, err = run(["serve", "--kubeconfig", config, "--listen", where, "--insecure"], capsys)
    assert code == 1
    assert err.startswith("steward: cannot listen: ")
    assert err.endswith("choose another address with --listen\n")


def test_check_without_an_api_server_says_what_it_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = str(kubeconfig(tmp_path, "http://127.0.0.1:9"))
    code, out, err = run(["check", "--kubeconfig", config, "--timeout", "1"], capsys)
    assert (code, out) == (2, "")
    assert err.startswith("steward: http://127.0.0.1:9 is not reachable: Connection refused. Check the server")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["explain"], 0, "OrphanClaim"),
        (["explain", "ipam_claims"], 0, "Reads: IPAMClaim"),
        (["explain", "DuplicateIP"], 0, "kubevirt_ipamclaim_ip_duplicate"),
        (["explain", "DuplicateIpp"], 2, "did you mean DuplicateIP?"),
        (["check", "--kubeconfig", "/nowhere/config"], 2, "/nowhere/config can't be used"),
    ],
)
def test_the_command_line_answers_in_a_sentence(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    got, out, err = run(words, capsys)
    assert got == code
    assert said in out + err
    assert "Traceback" not in err


def test_help_lists_every_command_once_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    listed = re.findall(r"^  (\w+) +[A-Z]", shown, re.MULTILINE)
    assert sorted(listed) == sorted(subcommands(steward()))
