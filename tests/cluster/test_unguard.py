"""`unguard --all` on a real API server: each guard goes, with an entry of the ledger and an Event, or is named."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from demo.fleet import instancetypes as its
from reconcile.ledger import Entry, Event, Ledger
from reconcile.plan.annotations import PAUSED
from reconcile.plan.remediations.instancetypes.guard_instancetype import FINALIZER
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.repair_faults import KUBEVIRT, SIZE
from tests.cluster.resources import CLUSTER_INSTANCETYPES, EVENTS, INSTANCETYPES, KUBEVIRTS, PREFERENCES, Resource
from tests.cluster.sidecar import steward, unaimed
from tests.manifests import Object

pytestmark = pytest.mark.long

KIND, PREFERENCE = "VirtualMachineInstancetype", "VirtualMachinePreference"


OTHER = "example.com/other"


@dataclass
class Ground:
    client: Client
    kubeconfig: Path
    namespace: str
    ledger: Path

    def run(self, *words: str, verb: str = "unguard") -> subprocess.CompletedProcess[str]:
        own = ("--ledger", str(self.ledger), "--kubeconfig", str(self.kubeconfig))
        return steward("reconcile", verb, *words, *own)

    def guarded(self, name: str, *others: str, kind: str = KIND) -> Object:
        """With the finalizer between those of others."""
        first, *rest = (*others, "") if others else ("",)
        finalizers = [each for each in (first, FINALIZER, *rest) if each]
        return self.client.create(its.kept(kind, self.namespace, name, SIZE, finalizers=finalizers))

    def used(self, name: str) -> None:
        vm = fleet.vm(self.namespace, "db")
        vm["spec"]["instancetype"] = {"name": name, "kind": KIND}
        self.client.create(vm)

    def meta(self, name: str, of: Resource = INSTANCETYPES) -> Object:
        found = self.client.find(of, self.namespace, name)
        return dict(found["metadata"]) if found is not None else {}

    def entries(self) -> list[Entry]:
        return list(Ledger.read(self.ledger)) if self.ledger.is_dir() else []


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = module_api_server()
    admin = made.client()
    admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kubevirt"}})
    admin.make(KUBEVIRT)
    return made


@pytest.fixture
def ground(server: ApiServer, tmp_path: Path) -> Iterator[Ground]:
    name = f"unguard-{uuid.uuid4().hex[:8]}"
    with server.client() as client:
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield Ground(client, server.kubeconfig("admin"), name, tmp_path / "ledger")
        for resource in (INSTANCETYPES, PREFERENCES):
            for each in client.list(resource, name)["items"]:
                client.patch(resource, name, each["metadata"]["name"], {"metadata": {"finalizers": None}})


def test_every_guard_of_a_namespace_goes_and_nothing_else(ground: Ground) -> None:
    ground.guarded("alone")
    ground.guarded("among", OTHER, "example.com/last")
    ground.guarded("preferred", kind=PREFERENCE)
    ground.client.create(its.kept(KIND, ground.namespace, "free", SIZE, finalizers=[OTHER]))
    elsewhere = its.kept("VirtualMachineClusterInstancetype", "", ground.namespace, SIZE, finalizers=[FINALIZER])
    ground.client.create(elsewhere)

    asked = ground.run("--all", "-n", ground.namespace)
    assert (asked.returncode, ground.entries()) == (1, [])
    assert "standard input is no terminal to ask on" in asked.stderr
    assert f"Nothing prevents the deletion of {KIND} {ground.namespace}/alone any more." in asked.stdout

    done = ground.run("--all", "-n", ground.namespace, "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"It is paused; to resume it: steward reconcile resume {KIND} {ground.namespace}/alone" in unaimed(
        done.stdout
    )
    assert "finalizers" not in ground.meta("alone")
    assert ground.meta("among")["finalizers"] == [OTHER, "example.com/last"]
    assert "finalizers" not in ground.meta("preferred", PREFERENCES)
    assert ground.meta("free")["finalizers"] == [OTHER]
    assert PAUSED not in ground.meta("free").get("annotations", {})
    assert ground.meta("alone")["annotations"][PAUSED].startswith("taken back by ")
    there = ground.client.get(CLUSTER_INSTANCETYPES, None, ground.namespace)
    assert there["metadata"]["finalizers"] == [FINALIZER]  # -n is of that namespace
    assert [(each.event, each.mode) for each in ground.entries()[:2]] == [(Event.INTENDED, "undo"), (Event.DONE, "")]
    assert len(ground.entries()) == 6
    events = ground.client.list(EVENTS, ground.namespace)["items"]
    assert {each["involvedObject"]["name"] for each in events} == {"alone", "among", "preferred"}
    assert {each["reason"] for each in events} == {"RepairUndone"}
    assert all("Because: the guard is taken off (attempt " in each["message"] for each in events)

    again = ground.run("--all", "-n", ground.namespace, "--yes")
    assert (again.returncode, again.stdout) == (0, "Nothing bears the guard.\n")
    whole = ground.run("--all", "--yes")
    assert whole.returncode == 0, whole.stderr
    there = ground.client.get(CLUSTER_INSTANCETYPES, None, ground.namespace)
    assert "finalizers" not in there["metadata"]


def test_under_vms_a_guard_stays_while_a_deletion_waits_and_the_others_go(ground: Ground) -> None:
    ground.guarded("needed")
    ground.used("needed")
    ground.guarded("free")
    ground.client.delete(INSTANCETYPES, ground.namespace, "needed")

    done = ground.run("--all", "-n", ground.namespace, "--yes")
    assert done.returncode == 1
    assert f"{KIND} {ground.namespace}/needed stays guarded, no_vm_without_copy: " in done.stderr
    assert "to give that up: steward reconcile unguard --all --accept copy" in unaimed(done.stderr)
    assert ground.meta("needed")["finalizers"] == [FINALIZER]
    assert "finalizers" not in ground.meta("free")

    done = ground.run("--all", "-n", ground.namespace, "--yes", "--accept", "copy")
    assert done.returncode == 0, done.stderr
    assert ground.meta("needed") == {}
    plan = ground.entries()[-2].plan
    assert plan is not None
    assert plan.accepted == ("copy",)


def test_a_word_is_accepted_only_where_it_is_lost(ground: Ground) -> None:
    ground.guarded("needed")
    ground.used("needed")
    ground.guarded("free")
    ground.client.delete(INSTANCETYPES, ground.namespace, "needed")
    done = ground.run("--all", "-n", ground.namespace, "--yes", "--accept", "copy")
    assert done.returncode == 0, done.stderr
    plans = {entry.plan.target.name: entry.plan.accepted for entry in ground.entries() if entry.plan is not None}
    assert plans == {"free": (), "needed": ("copy",)}


def test_what_cannot_be_listed_is_not_taken_for_unguarded(ground: Ground, server: ApiServer) -> None:
    ground.guarded("alone")
    nobody = Ground(ground.client, server.kubeconfig("steward-exporter"), ground.namespace, ground.ledger)
    done = nobody.run("--all", "-n", ground.namespace, "--yes")
    assert done.returncode == 2
    assert "Nothing bears the guard" not in done.stdout
    assert "forbidden" in done.stderr
    assert ground.meta("alone")["finalizers"] == [FINALIZER]


def test_while_kubevirt_is_upgraded_guards_stay(ground: Ground) -> None:
    ground.guarded("alone")
    kubevirt = ground.client.get(KUBEVIRTS, "kubevirt", "kubevirt")
    ground.client.update_status(kubevirt | {"status": kubevirt["status"] | {"targetKubeVirtVersion": "v1.8.0"}})
    try:
        done = ground.run("--all", "-n", ground.namespace, "--yes")
    finally:
        kubevirt = ground.client.get(KUBEVIRTS, "kubevirt", "kubevirt")
        ground.client.update_status(kubevirt | {"status": KUBEVIRT["status"]})
    assert done.returncode == 1
    assert f"{KIND} {ground.namespace}/alone:\n" in done.stdout
    assert "refused, upgrade: " in done.stderr
    assert ground.meta("alone")["finalizers"] == [FINALIZER]


def test_the_attempt_that_guarded_it_is_taken_back_in_the_ledger_that_has_it(ground: Ground) -> None:
    of = its.kept(
        KIND, ground.namespace, "small", SIZE, annotations={f"{PAUSED.rpartition('/')[0]}/guard-allowed": "true"}
    )
    ground.client.create(of)
    ground.used("small")
    done = ground.run("--remediation", "guard_instancetype", "-n", ground.namespace, "--yes", verb="apply")
    assert done.returncode == 0, done.stderr
    guarded = ground.entries()[0].attempt

    done = ground.run("--all", "-n", ground.namespace, "--yes")
    assert done.returncode == 0, done.stderr
    assert ground.entries()[-2].undoes == guarded
    again = ground.run(guarded, "--yes", verb="undo")
    assert again.returncode == 2
    assert "was taken back before" in again.stderr


@pytest.mark.parametrize(
    ("words", "says"), [((), "--all"), (("--all", "-n", ""), "a name is empty"), (("--all", "--accept", "x"), "copy")]
)
def test_what_is_asked_for_by_halves_is_a_mistake(ground: Ground, words: tuple[str, ...], says: str) -> None:
    ground.guarded("alone")
    done = ground.run(*words, "--yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert ground.meta("alone")["finalizers"] == [FINALIZER]
