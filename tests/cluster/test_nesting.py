"""What one tenant may write into free fields and annotations costs nobody else anything; on a real API server."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from exporter.__main__ import main
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import Tools
from tests.cluster.exporter import Exporter, grant
from tests.cluster.fleet import launcher_pod, nad, vm
from tests.cluster.resources import PODS
from tests.manifests import Object
from tests.waiting import wait_until

DEEP = '{"a":' * 3_000 + "1" + "}" * 3_000
TWIN = {"uuid": "5d307ca9-b3ef-428c-8861-06e72d69f223", "serial": ""}

Write = Callable[[str, Object], None]


@pytest.fixture
def write(binary: Tools, api_server: ApiServer, tmp_path: Path) -> Iterator[Write]:
    """`write("replace", thing)` by kubectl, with 3,000 levels for each text DEEP in it.

    What is created goes at the end: no other test could list it with Python's JSON parser.
    """
    env = {**os.environ, "KUBECONFIG": str(api_server.kubeconfig("admin")), "HOME": str(tmp_path)}

    def run(verb: str, thing: Object) -> None:
        file = tmp_path / "thing.json"
        file.write_text(json.dumps(thing).replace('"DEEP"', DEEP), encoding="utf-8")
        options = ["--ignore-not-found"] if verb == "delete" else ["--validate=false"]
        words = [str(binary("kubectl")), verb, "-f", str(file), *options]
        subprocess.run(words, env=env, capture_output=True, check=True, timeout=60)
        if verb == "create":
            created.append(thing)

    created: list[Object] = []
    yield run
    for thing in created:
        run("delete", thing)


def twin(namespace: str, name: str, notes: str) -> Object:
    thing = vm(namespace, name, firmware=TWIN)
    thing["spec"]["template"]["metadata"] = {"annotations": {"x": notes}}
    return thing


def test_three_thousand_levels_in_one_vm_hide_no_vm(
    api_server: ApiServer, client: Client, namespace: str, write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    grant(client)
    deep = twin(namespace, "deep", "DEEP")
    write("create", deep)
    client.create(twin(namespace, "plain", "x"))
    kubeconfig = api_server.kubeconfig("steward-exporter")
    with Exporter(kubeconfig) as running:
        running.wait_ready()
        assert found(running, namespace, "firmware_duplicates") == {"deep", "plain"}  # from a list
        write("create", twin(namespace, "later", "DEEP"))  # from a watch
        wait_until(lambda: len(found(running, namespace, "firmware_duplicates")) == 3, 20, "the third VM is found")
        deep["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"] = "8e1c2bd1-6c3c-4bd6-8a53-7c6f20f0a4d1"
        write("replace", deep)
        wait_until(lambda: found(running, namespace, "firmware_duplicates") == {"later", "plain"}, 20, "two are left")
        assert main(["check", "--kubeconfig", str(kubeconfig), "-o", "json"]) == 1
        report = json.loads(capsys.readouterr().out)
        assert {each["subject"]["name"] for each in report["findings"] if each["check"] == "firmware_duplicates"} >= {
            "later",
            "plain",
        }
        write("delete", twin(namespace, "later", "DEEP"))
        wait_until(lambda: not found(running, namespace, "firmware_duplicates"), 20, "the last VM is alone")
        assert running.state("VirtualMachine") == "live"
        assert found(running, namespace, "UndecodableObject") == set()


def found(running: Exporter, namespace: str, what: str) -> set[str]:
    """The objects of the namespace with a finding of this check, or of this reason."""
    findings = running.report(f"?namespace={namespace}")["findings"]
    return {each["subject"]["name"] for each in findings if what in (each["check"], each["reason"])}


@pytest.mark.parametrize("note", [DEEP, "{nonsense"], ids=["deep", "nonsense"])
def test_an_annotation_that_anybody_may_write_hides_no_claim_of_another(
    api_server: ApiServer, client: Client, namespace: str, note: str
) -> None:
    grant(client)
    client.create(nad(namespace, "blue"))
    pod = launcher_pod(namespace, "db", {f"{namespace}/blue": ""})
    pod["metadata"]["annotations"] |= {"k8s.v1.cni.cncf.io/networks": note, "k8s.ovn.org/pod-networks": note}
    client.make(pod)
    name = pod["metadata"]["name"]
    with Exporter(api_server.kubeconfig("steward-exporter")) as running:
        running.wait_ready()
        assert found(running, namespace, "UnreadableAnnotation") == {name}
        assert running.state("Pod") == "live"
        assert [each for each in running.report()["unknown"] if namespace in each["why"]] == []
        client.delete(PODS, namespace, name, gracePeriodSeconds=0)
        wait_until(lambda: not found(running, namespace, "UnreadableAnnotation"), 20, "it is gone")
