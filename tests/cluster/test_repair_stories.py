"""Each repair from its plan to its undo: shown, tried by a dry run, approved, carried out, seen, and taken back."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from reconcile.decide.approval import write
from reconcile.plan.annotations import APPROVED_PLAN, PAUSED
from tests.case_files import read_yaml
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_faults import FAULTS, LATER, Fault, settings
from tests.cluster.repair_ground import Ground, ground_of
from tests.cluster.resources import IPAM_CLAIMS, VMS, Resource
from tests.cluster.sidecar import Sidecar, steward, unaimed
from tests.cluster.stage import Stage
from tests.manifests import Object
from tests.waiting import wait_until

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def ground(module_api_server: MakeApiServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    with ground_of(module_api_server, tmp_path_factory.mktemp("sidecars")) as made:
        yield made


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_from_the_plan_to_its_undo(ground: Ground, fault: Fault) -> None:
    stage = ground.stage()
    namespace = stage.namespace
    fault.seed(stage)
    name, before = fault.name(stage), fault.target(stage)
    ground.wait_found(namespace, fault.reason)
    if not fault.aged:
        shown = _shown(ground, fault, namespace)
        assert [each["state"] for each in shown] == ["planned"], shown
    approve = settings({(fault.remediation, namespace): "approve"}, verifyAfter="1s")
    ahead = LATER if fault.aged else 0.0

    with ground.sidecar(namespace, approve, ahead=ahead) as sidecar:
        waiting = _waiting(sidecar, fault, namespace)
        sidecar.runs_again()
        assert ground.writes(namespace) == []
        assert fault.target(stage) == before
        _approve(ground, stage, fault, waiting, ahead)
        sidecar.wait_for("verified" if fault.settles else "done")
        attempt = next(each.attempt for each in sidecar.entries())
        assert sidecar.events()[:2] == ["intended", "done"]
        if fault.settles:
            ground.wait_found(namespace, fault.reason, there=False)
        written = [(verb, each.partition("/")[0], of) for verb, each, of in ground.writes(namespace)]
        assert written == [(fault.verb, fault.resource.plural, name)]
        (event,) = ground.events(namespace)
        assert (event["reason"], event["involvedObject"]["name"]) == ("Repaired", fault.bound or name)
        assert attempt in event["message"]
        _take_back(ground, stage, fault, sidecar, before, attempt)
        sidecar.runs_again()
        assert sidecar.events().count("intended") == 1


def _shown(ground: Ground, fault: Fault, namespace: str) -> list[Object]:
    """The plans, with what the API server says of a dry run; of two that are equal, one is refused."""
    own = ("--kubeconfig", str(ground.server.kubeconfig("admin")), "--exporter", ground.exporter.url)
    asked = steward(
        "reconcile", "plan", "-n", namespace, "--remediation", fault.remediation, "--dry-run", "-o", "json", *own
    )
    assert asked.returncode == 0, asked.stderr
    found: list[Object] = json.loads(asked.stdout)
    return [each for each in found if each["state"] != "refused"]


def _waiting(sidecar: Sidecar, fault: Fault, namespace: str) -> Object:
    def found() -> Object | None:
        own = (each for each in sidecar.plans() if each["namespace"] == namespace and each["state"] == "waiting")
        return next((each for each in own if each["remediation"] == fault.remediation), None)

    try:
        return wait_until(found, 40, "a plan waits for its approval", every=0.1)
    except TimeoutError as error:
        raise TimeoutError(f"{error}; {sidecar}") from error


def _approve(ground: Ground, stage: Stage, fault: Fault, waiting: Object, ahead: float) -> None:
    """By the command; where the sidecar's clock is ahead of that of the command, as the command writes it."""
    if not ahead:
        own = ("--kubeconfig", str(ground.server.kubeconfig("admin")), "--exporter", ground.exporter.url)
        words = (waiting["fingerprint"], "--remediation", fault.remediation, "--plan", waiting["hash"])
        done = steward("reconcile", "approve", *words, *own)
        assert done.returncode == 0, done.stderr
        return
    now = time.time() + ahead
    text = write(waiting["hash"], "alice", now, now + 3600)
    note = {"metadata": {"annotations": {APPROVED_PLAN: text}}}
    stage.client.patch(fault.resource, stage.namespace, fault.name(stage), note)


def _take_back(
    ground: Ground, stage: Stage, fault: Fault, sidecar: Sidecar, before: Object | None, attempt: str
) -> None:
    own = ("--kubeconfig", str(ground.server.kubeconfig("admin")), "--config", str(sidecar.config))
    words = ("--accept", fault.accepts) if fault.accepts else ()
    if words:
        refused = steward("reconcile", "undo", attempt, "--yes", *own)
        assert refused.returncode == 1
        assert f"steward reconcile undo {attempt} --ledger {sidecar.directory} {' '.join(words)}" in unaimed(
            refused.stderr
        )
    done = steward("reconcile", "undo", attempt, "--yes", *own, *words)
    after = fault.target(stage)
    if fault.undone == "patch":
        assert done.returncode == 0, done.stderr
        assert before is not None
        assert after is not None
        assert json.dumps(after.get("spec")) == json.dumps(before.get("spec"))
        for field in ("finalizers", "labels", "ownerReferences"):
            assert after["metadata"].get(field) == before["metadata"].get(field)
        assert done.stdout.count("Undone") == 1
        again = steward("reconcile", "undo", attempt, "--yes", *own)
        assert again.returncode == 2
        assert "was undone before" in again.stderr
    elif fault.undone == "delete":
        assert done.returncode == 0, done.stderr
        assert after is None
        of = stage.client.get(VMS, stage.namespace, fault.bound)
        assert of["metadata"]["annotations"][PAUSED].startswith("undone by ")
    else:
        assert done.returncode in (1, 2)
        assert "can't be undone" in done.stderr
    if fault.undone == "created again":
        _create_again(stage, fault, sidecar, before or {}, attempt)


def _create_again(stage: Stage, fault: Fault, sidecar: Sidecar, before: Object, attempt: str) -> None:
    kept = steward("reconcile", "ledger", attempt, "--object", "--ledger", str(sidecar.directory))
    assert kept.returncode == 0, kept.stderr
    body: Any = read_yaml(kept.stdout)
    _gone(stage, fault.resource, body["metadata"]["name"])
    made = stage.client.create(body)
    assert made.get("spec") == before.get("spec")
    assert made.get("data") == before.get("data")
    assert made["metadata"].get("labels") == before["metadata"].get("labels")


def _gone(stage: Stage, resource: Resource, name: str) -> None:
    """What still terminates is released first, as the network does it."""
    if resource is IPAM_CLAIMS:
        stage.client.patch(resource, stage.namespace, name, {"metadata": {"finalizers": None}})
    wait_until(lambda: stage.client.find(resource, stage.namespace, name) is None, 10, f"{name} is gone")
