"""`plan`, `approve` and `apply` ask the gates that the sidecar asks, and say what opens those that are closed."""

from __future__ import annotations

import json
import shlex
import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from reconcile.plan.annotations import APPROVED_PLAN, PAUSED
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import STEADY, Exporter, grant
from tests.cluster.resources import IPAM_CLAIMS, NAMESPACES
from tests.cluster.sidecar import steward, unaimed
from tests.cluster.stage import Stage
from tests.cluster.test_repairs import KUBEVIRT
from tests.manifests import Object
from tests.waiting import wait_until

pytestmark = pytest.mark.long

REPAIR = "repair_ipam_claim_metadata"
APPROVE = {"remediations": {REPAIR: {"mode": "approve", "minAge": "0s"}}}
FREEZE = {"metadata": {"annotations": {PAUSED: "change freeze"}}}


@dataclass
class Desk:
    """A namespace with an IPAMClaim that lost its finalizer, and commands of a person about it."""

    admin: Client
    kubeconfig: Path
    url: str
    namespace: str
    folder: Path

    def run(self, verb: str, *more: str, settings: Object | None = None) -> subprocess.CompletedProcess[str]:
        own = ["--kubeconfig", str(self.kubeconfig), "--exporter", self.url]
        if settings is not None:
            file = self.folder / "reconcile.yaml"
            ledger = {"directory": str(self.folder / "ledger")}
            file.write_text(json.dumps({"ledger": ledger, **settings}), encoding="utf-8")
            own += ["--config", str(file)]
        return steward("reconcile", verb, *more, *own)

    def plan(self, settings: Object | None = None) -> Object:
        done = self.run("plan", "-n", self.namespace, "--remediation", REPAIR, "-o", "json", settings=settings)
        assert done.returncode == 0, done.stderr
        (found,) = json.loads(done.stdout)
        return dict(found)

    def approval(self) -> str | None:
        meta = self.admin.get(IPAM_CLAIMS, self.namespace, "db.blue")["metadata"]
        found: str | None = meta.get("annotations", {}).get(APPROVED_PLAN)
        return found


@pytest.fixture(scope="module")
def cluster(module_api_server: MakeApiServer) -> ApiServer:
    server = module_api_server()
    admin = server.client()
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
    admin.make(KUBEVIRT)
    grant(admin)
    return server


@pytest.fixture(scope="module")
def exporter(cluster: ApiServer) -> Iterator[Exporter]:
    with Exporter(cluster.kubeconfig("steward-exporter"), STEADY, graces=0) as made:
        made.wait_ready()
        yield made


@pytest.fixture
def desk(cluster: ApiServer, exporter: Exporter, tmp_path: Path) -> Desk:
    admin, namespace = cluster.client(), f"gated-{uuid.uuid4().hex[:8]}"
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    stage = Stage(admin, namespace)
    stage.nad()
    stage.claim(stage.vm(), finalizers=None)
    wait_until(lambda: exporter.found(namespace), 30, "the finding is there")
    return Desk(admin, cluster.kubeconfig("admin"), exporter.url, namespace, tmp_path)


def resumed(desk: Desk, said: str) -> None:
    """By the command that a refusal names, word for word."""
    command = said.rpartition("To resume: ")[2].splitlines()[0].strip()
    words = shlex.split(command)
    assert words[:3] == ["steward", "reconcile", "resume"]
    done = steward(*words[1:], "--kubeconfig", str(desk.kubeconfig))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("where", ["the object", "its namespace"])
def test_what_is_paused_is_neither_approved_nor_applied(desk: Desk, where: str) -> None:
    if where == "the object":
        desk.admin.patch(IPAM_CLAIMS, desk.namespace, "db.blue", FREEZE)
    else:
        desk.admin.patch(NAMESPACES, None, desk.namespace, FREEZE)
    gate = "object_paused" if where == "the object" else "paused"

    shown = desk.plan(APPROVE)
    assert [each["gate"] for each in shown["blocked"]] == [gate]
    assert "commands" not in shown
    for verb, more in (("approve", ()), ("apply", ("--yes",))):
        done = desk.run(verb, shown["fingerprint"], "--remediation", REPAIR, *more, settings=APPROVE)
        assert done.returncode == 1, done.stdout
        assert f"refused, {gate}: " in done.stderr
        assert "change freeze" in done.stderr
    assert desk.approval() is None
    assert desk.admin.find(IPAM_CLAIMS, desk.namespace, "db.blue") is not None

    resumed(desk, done.stderr)
    done = desk.run("approve", shown["fingerprint"], "--remediation", REPAIR, settings=APPROVE)
    assert (done.returncode, done.stderr) == (0, "")
    assert str(desk.approval()).startswith(shown["hash"])


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, f"the mode of {REPAIR} is plan"),
        ({"remediations": {REPAIR: {"mode": "auto", "minAge": "0s"}}}, f"the mode of {REPAIR} is auto"),
        ({"remediations": {REPAIR: {"mode": "approve", "namespaces": {"NAMESPACE": "off"}}}}, "is off in namespace"),
    ],
)
def test_an_approval_that_nothing_waits_for_is_refused(desk: Desk, settings: Object, says: str) -> None:
    settings = json.loads(json.dumps(settings).replace("NAMESPACE", desk.namespace))
    fingerprint = desk.plan()["fingerprint"]

    done = desk.run("approve", fingerprint, "--remediation", REPAIR, settings=settings)
    assert done.returncode == 1
    assert says in done.stderr
    assert f"steward reconcile apply {fingerprint} --remediation {REPAIR}" in unaimed(done.stderr)
    assert desk.approval() is None


@pytest.mark.parametrize(
    ("settings", "gate"),
    [
        ({"remediations": {REPAIR: {"mode": "approve", "minAge": "30d"}}}, "min_age"),
        ({**APPROVE, "budgets": {"hour": 0}}, "budget_hour"),
    ],
)
def test_what_only_waits_is_approved_with_a_warning(desk: Desk, settings: Object, gate: str) -> None:
    shown = desk.plan(settings)
    assert [each["gate"] for each in shown["blocked"]] == [gate]

    done = desk.run("approve", shown["fingerprint"], "--remediation", REPAIR, settings=settings)
    assert done.returncode == 0, done.stderr
    assert f"it waits, {gate}: " in done.stderr
    assert str(desk.approval()).startswith(shown["hash"])


def test_without_the_sidecars_configuration_its_mode_is_not_known(desk: Desk) -> None:
    done = desk.run("approve", desk.plan()["fingerprint"], "--remediation", REPAIR)
    assert done.returncode == 0, done.stderr
    assert "--config" in done.stderr
