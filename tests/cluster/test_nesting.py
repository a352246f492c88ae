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
from tests.cluster.fleet import claim, launcher_pod, nad, vm, vmi
from tests.cluster.resources import IPAM_CLAIMS, NADS, PODS, VMIS, VMS
from tests.manifests import Object
from tests.waiting import wait_until

DEEP = '{"a":' * 3_000 + "1" + "}" * 3_000
TWIN = {"uuid": "5d307ca9-b3ef-428c-8861-06e72d69f223", "serial": ""}

Write = Callable[[str, Object], None]


@pytest.fixture(autouse=True)
def nothing_stays(client: Client, namespace: str) -> Iterator[None]:
    """Clears the test's namespaces at the end: other tests use the same addresses, and find nothing unreadable."""
    yield
    for resource in (PODS, VMIS, VMS, IPAM_CLAIMS, NADS):
        for of in (namespace, f"{namespace}-victim"):
            for name in [each["metadata"]["name"] for each in client.list(resource, of)["items"]]:
                if resource is IPAM_CLAIMS:
                    client.patch(resource, of, name, {"metadata": {"finalizers": None}})
                client.delete(resource, of, name, gracePeriodSeconds=0)


@pytest.fixture
def write(binary: Tools, api_server: ApiServer, tmp_path: Path, nothing_stays: None) -> Iterator[Write]:
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
        # Only this check: what other tests left on this server leaves others without an answer.
        words = ["check", "--kubeconfig", str(kubeconfig), "--check", "firmware_duplicates", "-o", "json"]
        assert main(words) == 1
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


# What the API server takes as a time, although no calendar has it.
TIMES = ("2026-06-01T10:30:00z", "2026-06-01T10:30:00x5Z", "2026-06-01T10:30:00+99:99", "0000-01-01T00:00:00Z", [7])


def test_no_time_that_the_api_server_takes_hides_an_object(
    api_server: ApiServer, client: Client, namespace: str
) -> None:
    grant(client)
    client.create(nad(namespace, "blue"))
    for number, time in enumerate(TIMES):
        made = client.create(vm(namespace, f"db{number}", {"blue": "blue"}))
        running_vmi = vmi(made)
        migrated = {"migrationState": {"startTimestamp": time, "endTimestamp": time}}
        asked = {"type": "EvictionRequested", "status": "True", "lastTransitionTime": time}
        running_vmi["status"] |= migrated | {"conditions": [asked]}
        kept = client.create(running_vmi)
        assert kept["status"]["migrationState"]["endTimestamp"] == time
    with Exporter(api_server.kubeconfig("steward-exporter")) as running:
        running.wait_ready()
        report = running.report()
        assert [each for each in report["undecodable"] if each["namespace"] == namespace] == []
        assert [each for each in report["unknown"] if namespace in (each["partition"], each["why"])] == []


def test_what_a_tenant_writes_leaves_the_findings_of_others_and_is_said(
    api_server: ApiServer, client: Client, namespace: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Many unreadable annotations, before the start and after, beside another namespace on one network and node."""
    grant(client)
    victim, network = f"{namespace}-victim", f"net-{namespace}"  # of its own: others leave such addresses in theirs
    client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": victim}})
    for each in (namespace, victim):
        client.create(nad(each, "blue", network))
    for name in ("one", "two"):
        made = client.create(vm(victim, name, {"blue": "blue"}))
        client.create(vmi(made))
        client.make(claim(made, network))
        client.make(launcher_pod(victim, name, {f"{victim}/blue": f"{name}.blue"}, ("10.0.0.5/24",)))
    own = client.create(vm(namespace, "own", {"blue": "blue"}))
    client.create(vmi(own))
    client.make(claim(own, network, ip="10.0.0.7/24"))
    hidden = launcher_pod(namespace, "own", {f"{namespace}/blue": "own.blue"})
    hidden["metadata"]["annotations"]["k8s.ovn.org/pod-networks"] = "{nonsense"
    client.make(hidden)
    for number in range(100):
        client.make(unreadable_pod(namespace, f"early-{number}"))
    kubeconfig = api_server.kubeconfig("steward-exporter")
    with Exporter(kubeconfig) as running:
        running.wait_ready()
        assert found(running, victim, "DuplicateIP") == {"one.blue", "two.blue"}
        for number in range(100):
            client.make(unreadable_pod(namespace, f"late-{number}"))
        wait_until(lambda: len(found(running, namespace, "UnreadableAnnotation")) == 201, 30, "all are found")
        unknown = [each for each in running.report()["unknown"] if namespace in each["why"]]
        assert {(each["check"], each["partition"]) for each in unknown} == {("ipam_claims", f"{namespace}/own")}
        assert f"Pod {namespace}/virt-launcher-own: annotation k8s.ovn.org/pod-networks" in unknown[0]["why"]
        assert running.get("/readyz")[0] == 200
        assert f"{namespace}/own" in running.get("/health")[1]
        for check in ("ipam_claims", "ipam_networks", "evictions"):
            assert running.value(f'kubevirt_steward_check_state{{check="{check}",state="answering"}}') == 1
        client.delete(PODS, victim, "virt-launcher-two", gracePeriodSeconds=0)
        client.delete(IPAM_CLAIMS, victim, "two.blue")
        client.patch(IPAM_CLAIMS, victim, "two.blue", {"metadata": {"finalizers": None}})
        wait_until(lambda: "one.blue" not in found(running, victim, "DuplicateIP"), 30, "the twin is seen to be gone")
    capsys.readouterr()
    main(["check", "--kubeconfig", str(kubeconfig), "-o", "json"])
    report = json.loads(capsys.readouterr().out)
    assert f"{namespace}/own" in {each["partition"] for each in report["unknown"]}


def unreadable_pod(namespace: str, name: str) -> Object:
    pod = launcher_pod(namespace, name, {})
    pod["metadata"] |= {
        "name": name,
        "labels": {},
        "annotations": {"k8s.v1.cni.cncf.io/networks": "[{nonsense", "k8s.ovn.org/pod-networks": "{nonsense"},
    }
    return pod
