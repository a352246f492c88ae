"""A drain of nodes of a real API server: the same live, over HTTP and of what kubectl gets from it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from exporter.__main__ import main
from exporter.questions import drain
from exporter.store.kind import ApiKind
from tests.case_files import read_yaml
from tests.cluster.apiserver import ApiServer
from tests.cluster.conftest import MakeApiServer, Tools
from tests.cluster.exporter import Exporter, binding, grant
from tests.cluster.nodes import Guest, join, kubevirt, migration, pdb, write
from tests.cluster.resources import NODES, PODS
from tests.shared import REPO
from tests.waiting import wait_until

NAMESPACE = "default"


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    """Of its own: nodes are cluster-wide."""
    server = module_api_server()
    client = server.client()
    grant(client)
    join(client, "node01", memory="64Gi")
    join(client, "node02", memory="8Gi")
    client.make(kubevirt())
    write(client, Guest("web"), Guest("huge", memory="32Gi"), Guest("plain", strategy="None"))
    write(client, Guest("device", hindrance="HostDeviceNotLiveMigratable"), Guest("kept", strategy="None"))
    write(client, Guest("moving", evacuation="node01"), Guest("calm", node="node02"))
    client.make(migration("moving", "node01"))
    client.make(pdb("kept"))
    return server


@pytest.fixture(scope="module")
def exporter(server: ApiServer) -> Iterator[Exporter]:
    with Exporter(server.kubeconfig("steward-exporter")) as running:
        yield running.wait_ready()


EXPECTED = {
    "device": "blocked NotMigratable",
    "huge": "blocked NoTarget",
    "kept": "blocked UserPDB",
    "plain": "shuts_down WillShutDown",
    "moving": "migrating",
    "web": "waiting",
}


def outcomes(answer: Any) -> dict[str, str]:
    reported = {m["vm"]["name"]: f"{m['state']} {m['reason']}" for n in answer["nodes"] for m in n["vms"]}
    return {name: text.strip() for name, text in reported.items()}


def asked(exporter: Exporter, query: str = "?node=node01") -> Any:
    status, body = exporter.get(f"/api/v1/drain{query}")
    assert status == 200, body
    return json.loads(body)


def looked(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, Any]:
    code = main(["drain", "node01", "-o", "json", *words])
    return code, json.loads(capsys.readouterr().out)


def dumped(binary: Tools, server: ApiServer, folder: Path) -> str:
    """What kubectl gets of the kinds that the answer is made of, as lists that say what they are of."""
    env = {**os.environ, "KUBECONFIG": str(server.kubeconfig("steward-exporter")), "HOME": str(folder)}
    kinds = [each for each in drain.READER.reads if isinstance(each, ApiKind)]
    paths = [f"{kind.base(kind.versions[0])}/{kind.plural}" for kind in kinds]
    gets = [[str(binary("kubectl")), "get", "--raw", path] for path in paths]
    lists = [subprocess.run(get, env=env, capture_output=True, check=True, timeout=60).stdout for get in gets]
    (folder / "dump.json").write_bytes(b"\n".join(lists))
    return str(folder / "dump.json")


def test_live_over_http_and_of_a_dump_it_is_the_same(
    exporter: Exporter, server: ApiServer, binary: Tools, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    served = asked(exporter)
    live = looked(capsys, "--kubeconfig", str(server.kubeconfig("steward-exporter")))
    offline = looked(capsys, "--from", dumped(binary, server, tmp_path))

    assert outcomes(served) == EXPECTED
    assert (live[0], offline[0]) == (1, 1)
    assert served["nodes"] == live[1]["nodes"] == offline[1]["nodes"]
    assert served["unseen"] == live[1]["unseen"] == offline[1]["unseen"] == []
    of_web = next(m for m in served["nodes"][0]["vms"] if m["vm"]["name"] == "web")
    assert of_web["target"] == "node02"


def test_what_changes_in_the_cluster_changes_the_answer(exporter: Exporter, server: ApiServer) -> None:
    client = server.client()
    write(client, Guest("late", hindrance="DisksNotLiveMigratable", node="node02"))
    wait_until(
        lambda: outcomes(asked(exporter, "?node=node02")).get("late") == "blocked NotMigratable", 30, "late is blocked"
    )
    assert asked(exporter, "")["nodes"] == []
    client.patch(NODES, None, "node02", {"spec": {"unschedulable": True}})
    wait_until(lambda: [n["node"] for n in asked(exporter, "")["nodes"]] == ["node02"], 30, "node02 is cordoned")
    assert exporter.get("/")[1].count("/drain?node=node02") == 1
    assert "DisksNotLiveMigratable" in exporter.get("/drain?node=node02")[1]
    client.patch(NODES, None, "node02", {"spec": {"unschedulable": None, "taints": None}})


def test_whoever_may_list_nothing_gets_one_sentence(
    own_api_server: MakeApiServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server = own_api_server()
    join(server.client(), "node01", memory="64Gi")
    code = main(["drain", "node01", "-o", "json", "--kubeconfig", str(server.kubeconfig("steward-exporter"))])
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert "lets you list none of the required resources" in printed.err


def test_a_probe_asks_the_real_server_and_evicts_nothing(server: ApiServer, capsys: pytest.CaptureFixture[str]) -> None:
    """There is no webhook of KubeVirt here: what it would protect is let pass, which is a contradiction."""
    client, words = server.client(), ("--probe", "--kubeconfig", str(server.kubeconfig("steward-exporter")))
    code, refused = looked(capsys, *words)
    assert code == 2
    assert set(said(refused).values()) == {"forbidden"}

    client.apply(read_yaml((REPO / "deploy/base/drain-probe/clusterrole.yaml").read_text(encoding="utf-8")))
    client.apply(binding("steward-drain-probe"))
    wait_until(
        lambda: "forbidden" not in said(looked(capsys, *words)[1]).values(), 30, "the permission to ask is there"
    )
    code, answer = looked(capsys, *words)
    assert code == 2
    assert said(answer) == {
        "plain": "passes",
        "kept": "pdb",
        **dict.fromkeys(("web", "huge", "device", "moving"), "passes, contradicts"),
    }
    pods = [client.get(PODS, NAMESPACE, f"virt-launcher-{name}") for name in EXPECTED]
    assert not [pod["metadata"]["name"] for pod in pods if "deletionTimestamp" in pod["metadata"]]


def said(answer: Any) -> dict[str, str]:
    return {
        vm["vm"]["name"]: f"{vm['probe']['said']}{', contradicts' * vm['probe']['contradicts']}"
        for node in answer["nodes"]
        for vm in node["vms"]
    }
