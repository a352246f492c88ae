"""The rules in a real Prometheus's eyes, and the runbooks' commands against a real API server."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import Tools
from tests.cluster.resources import IPAM_CLAIMS
from tests.manifests import Object
from tests.rules import FILES, RULES, TESTS, blocks

OURS, FOREIGN = "kubevirt.io/persistent-ipam", "example.com/other"
WRITES = ("kubectl patch ipamclaims", "kubectl delete --raw")
RUNBOOKS = sorted((RULES / "runbooks").glob("VMIPAMClaim*.md"))
WRITING = [
    pytest.param(block, id=f"{runbook.stem}-{number}")
    for runbook in RUNBOOKS
    for number, block in enumerate(blocks(runbook, "sh"))
    if block.startswith(WRITES)
]
OTHERS = [
    pytest.param(block, id=f"{runbook.stem}-{number}")
    for runbook in RUNBOOKS
    for number, block in enumerate(blocks(runbook, "sh"))
    if not block.startswith(WRITES)
]


def promtool(binary: Tools, *arguments: str | Path) -> None:
    done = subprocess.run([binary("promtool"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_has_nothing_to_say_of_the_rules(binary: Tools) -> None:
    promtool(binary, "check", "rules", "--lint=all", "--lint-fatal", *FILES)


@pytest.mark.parametrize("file", TESTS, ids=lambda file: file.stem)
def test_rules_fire_wait_and_stay_quiet(binary: Tools, file: Path) -> None:
    promtool(binary, "test", "rules", file)


class Kubectl:
    """Runs a block of a runbook, with the placeholders filled in."""

    def __init__(self, binary: Tools, server: ApiServer, namespace: str, folder: Path) -> None:
        path = f"{binary('kubectl').parent}:{os.environ['PATH']}"
        self._env = {**os.environ, "PATH": path, "KUBECONFIG": str(server.kubeconfig("admin"))}
        self._folder = folder
        self._values = {"NAMESPACE": namespace, "NAME": "db.blue", "MACHINE": "db", "ADDRESS": "10.1.2.3"}
        self._values |= {"OTHERNAMESPACE": namespace, "OTHERPOD": "virt-launcher-db", "KIND": "VirtualMachine"}

    def __call__(self, block: str, **values: str) -> subprocess.CompletedProcess[str]:
        filled = {**self._values, **values}
        script = re.sub(r"\b[A-Z]{3,}\b", lambda found: filled.get(found[0], found[0]), block)
        return subprocess.run(
            ["bash", "-c", script], env=self._env, cwd=self._folder, capture_output=True, text=True, check=False
        )


@pytest.fixture
def kubectl(binary: Tools, api_server: ApiServer, namespace: str, tmp_path: Path) -> Kubectl:
    return Kubectl(binary, api_server, namespace, tmp_path)


def claim(namespace: str, block: str) -> Object:
    """One in the state for which the block is meant."""
    meta: dict[str, Any] = {"namespace": namespace, "name": "db.blue", "labels": {"example.com/some": "label"}}
    if '"/metadata/finalizers", "value": [' not in block:
        meta["finalizers"] = [FOREIGN, OURS]
    if "ownerReferences/0" in block:
        owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "db", "uid": "old"}
        meta["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    spec = {"network": "blue", "interface": ""}
    return {"apiVersion": "k8s.cni.cncf.io/v1alpha1", "kind": "IPAMClaim", "metadata": meta, "spec": spec}


@pytest.mark.parametrize("block", WRITING)
def test_a_runbook_s_write_takes_effect_once_and_only_on_what_was_read(
    block: str, kubectl: Kubectl, client: Client, namespace: str
) -> None:
    client.create(claim(namespace, block))
    if '"op": "remove"' in block:
        client.delete(IPAM_CLAIMS, namespace, "db.blue")
    meta = client.get(IPAM_CLAIMS, namespace, "db.blue")["metadata"]
    read = {"UID": meta["uid"], "INDEX": "1", "OLDUID": "old", "OWNERUID": "new"}

    for wrong in ({"RESOURCEVERSION": "1"}, {"RESOURCEVERSION": meta["resourceVersion"], "UID": "another"}):
        assert kubectl(block, **{**read, **wrong}).returncode != 0
        assert client.get(IPAM_CLAIMS, namespace, "db.blue")["metadata"] == meta
    done = kubectl(block, **read, RESOURCEVERSION=meta["resourceVersion"])
    after = client.get(IPAM_CLAIMS, namespace, "db.blue")["metadata"]

    assert done.returncode == 0, done.stderr
    releases, protects = '"op": "remove"' in block, '"/metadata/finalizers", "value": [' in block
    assert after["finalizers"] == ([FOREIGN] if releases else [OURS] if protects else [FOREIGN, OURS])
    assert ("deletionTimestamp" in after) is (releases or "kubectl delete" in block)
    assert [owner["uid"] for owner in after.get("ownerReferences", ())] == (["new"] if "OWNERUID" in block else [])


@pytest.mark.parametrize("block", OTHERS)
def test_a_runbook_s_other_commands_work(block: str, kubectl: Kubectl, client: Client, namespace: str) -> None:
    client.create(claim(namespace, block))
    annotations = {
        "kubevirt.io/domain": "db",
        "k8s.ovn.org/pod-networks": '{"ns/blue":{"ip_addresses":["10.1.2.3/24"]}}',
    }
    pod_meta = {"namespace": namespace, "name": "virt-launcher-db", "annotations": annotations}
    container = {"name": "compute", "image": "none"}
    client.create({"apiVersion": "v1", "kind": "Pod", "metadata": pod_meta, "spec": {"containers": [container]}})
    vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"namespace": namespace, "name": "db"}}
    client.create({**vm, "spec": {"running": False, "template": {"spec": {"domain": {"devices": {}}}}}})

    done = kubectl(block)
    said = [line for line in done.stderr.splitlines() if "(NotFound)" not in line and "No resources found" not in line]

    assert not said
    if "get pods" in block:
        assert "virt-launcher-db" in done.stdout
    if not {"grep", "virtualmachineinstances"} & set(re.findall(r"\w+", block)):
        assert done.returncode == 0
