"""What the real kubectl gets out of a real API server gives the findings of the exporter that watches it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import main
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import Tools
from tests.cluster.custom_resources import crds
from tests.cluster.exporter import Exporter, grant
from tests.cluster.fleet import claimed_vm
from tests.cluster.resources import VMS
from tests.evaluation import api_kinds

Kubectl = Callable[..., bytes]
Outline = set[tuple[str, str, str, str]]


@pytest.fixture
def kubectl(binary: Tools, api_server: ApiServer, tmp_path: Path) -> Kubectl:
    """`kubectl("get", "pods")`: what it prints."""
    config = api_server.kubeconfig("steward-exporter")
    env = {**os.environ, "KUBECONFIG": str(config), "HOME": str(tmp_path)}

    def run(*words: str) -> bytes:
        return subprocess.run([binary("kubectl"), *words], env=env, capture_output=True, check=True, timeout=60).stdout

    return run


def outline(report: Any) -> Outline:
    """The findings of objects: of the sources of a dump and of a cluster there is not the same to say."""
    return {
        (f["fingerprint"], f["reason"], f["severity"], f["subject"]["name"])
        for f in report["findings"]
        if f["check"] != "sources"
    }


Agrees = Callable[[Outline], None]


@pytest.fixture
def agrees(api_server: ApiServer, client: Client, namespace: str) -> Agrees:
    """Asserts that these are the findings of an exporter, on a server with a few of them.

    It is asked before and after: what is older than its grace by then only one of the two has to find.
    """
    grant(client)
    for name in ("db", "web", "cache"):
        claimed_vm(client, namespace, name, ip="10.0.0.9/24")
    client.delete(VMS, namespace, "cache")  # and not its claim: a moment later is too early to say that one hangs

    def live() -> Outline:
        with Exporter(api_server.kubeconfig("steward-exporter")) as running:
            return outline(running.wait_ready().report())

    before = live()
    reasons = {reason for _, reason, _, name in before if name in ("db.blue", "web.blue", "cache.blue")}
    assert {"DuplicateIP", "OrphanClaim"} <= reasons

    def agree(found: Outline) -> None:
        after = live()
        assert sorted((before & after) - found) == []
        assert sorted(found - (before | after)) == []

    return agree


def checked(path: Path, capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code = main(["check", "--from", str(path), "-o", "json", *words])
    return code, json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("output", ["json", pytest.param("yaml", marks=pytest.mark.long)])
def test_one_output_of_kubectl_for_each_kind(
    output: str, agrees: Agrees, kubectl: Kubectl, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump"
    dump.mkdir()
    for kind in api_kinds().values():
        (dump / f"{kind.plural}.{output}").write_bytes(kubectl("get", kind.resource, "-A", "-o", output))

    code, report = checked(dump, capsys, "--complete")
    assert code == 1
    agrees(outline(report))
    assert {source["state"] for source in report["sources"]} == {"read"}


def test_the_command_that_a_report_names_fills_the_dump(
    agrees: Agrees, kubectl: Kubectl, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = tmp_path / "dump.yaml"
    dump.write_bytes(kubectl("get", "namespaces", "-o", "yaml"))
    assert main(["check", "--from", str(dump)]) == 2
    said = capsys.readouterr().out.partition("No answer:\n")[2].partition("\n")[0]
    command = said.partition("; add: ")[2]
    with dump.open("ab") as file:
        file.write(b"---\n" + kubectl(*command.split()[1:]))

    code, report = checked(dump, capsys, "--complete")
    assert code == 1
    agrees(outline(report))


def test_raw_lists_say_themselves_that_there_are_none(
    agrees: Agrees, client: Client, kubectl: Kubectl, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """kubectl prints them as the API server writes them; it is run for one of them."""
    dump = tmp_path / "dump.json"
    served = {(crd["spec"]["group"], version["name"]) for crd in crds() for version in crd["spec"]["versions"]}
    groups = {group for group, _ in served}
    paths = [
        f"{kind.base(version)}/{kind.plural}"
        for kind in api_kinds().values()
        for version in [each for each in kind.versions if kind.group not in groups or (kind.group, each) in served][:1]
    ]
    first, *more = paths
    lists = [
        kubectl("get", "--raw", first),
        *(f"{json.dumps(client.connection.request('GET', each))}\n".encode() for each in more),
    ]
    dump.write_bytes(b"".join(lists))

    code, report = checked(dump, capsys)
    assert (code, report["unknown"]) == (1, [])
    agrees(outline(report))
