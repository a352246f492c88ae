"""What the steward expects of an eviction, held against what KubeVirt's webhook and the PDBs answer to a dry run."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporter.__main__ import main
from tests.cluster.resources import PODS
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.installation import NODES
from tests.kubevirt.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

# Name, eviction strategy, whether it can migrate, and what becomes of it.
VMS = (
    ("db", "LiveMigrate", True, "waiting"),
    ("licence", "LiveMigrate", False, "blocked"),
    ("tenant", "External", True, "blocked"),
    ("web", "LiveMigrateIfPossible", True, "waiting"),
    ("batch", "LiveMigrateIfPossible", False, "shuts_down"),
    ("old", "None", True, "shuts_down"),
    ("unset", None, True, "shuts_down"),
    ("kept", "None", True, "blocked"),
)


def test_every_answer_is_the_expected_one_and_nothing_is_requested(
    kubevirt: ControlPlane, stage: Stage, capsys: pytest.CaptureFixture[str]
) -> None:
    stage.orders.fixed |= {stage.key(name) for name, _, able, _ in VMS if not able}
    with stage.only_on(NODES[0]):
        for name, strategy, _, _ in VMS:
            stage.running(name, eviction=strategy)
    keep(stage, "kept")
    before = {pod["metadata"]["uid"] for pod in stage.client.list(PODS, stage.namespace)["items"]}

    code, reported = probed(kubevirt, stage, NODES[0], capsys)

    assert {name: vm["state"] for name, vm in reported.items()} == {name: ends for name, *_, ends in VMS}
    assert [name for name, vm in reported.items() if vm["probe"]["contradicts"]] == []
    assert code == 1
    assert {name: stage.evacuation(name) for name, *_ in VMS} == {name: "" for name, *_ in VMS}
    assert {pod["metadata"]["uid"] for pod in stage.client.list(PODS, stage.namespace)["items"]} == before


def keep(stage: Stage, name: str) -> None:
    """A PDB that never lets it go, and that its controller has seen."""
    meta = {"namespace": stage.namespace, "name": name}
    selector = {"matchLabels": {"vm.kubevirt.io/name": name}}
    pdb: Object = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": meta}
    stage.client.create(pdb | {"spec": {"minAvailable": 1, "selector": selector}})

    def counted() -> bool:
        path = f"/apis/policy/v1/namespaces/{stage.namespace}/poddisruptionbudgets/{name}"
        status: Object = stage.client.connection.request("GET", path).get("status", {})
        return status.get("currentHealthy") == 1

    wait_until(counted, 30, "the PDB is counted")


def probed(
    kubevirt: ControlPlane, stage: Stage, node: str, capsys: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, Any]]:
    """The exit code and the VMs of this namespace, by name."""
    code = main(["drain", node, "--probe", "-o", "json", "--kubeconfig", str(kubevirt.kubeconfig())])
    (report,) = json.loads(capsys.readouterr().out)["nodes"]
    vms = report["vms"]
    return code, {m["vm"]["name"]: m for m in vms if m["vm"]["namespace"] == stage.namespace}
