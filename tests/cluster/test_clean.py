"""`clean` on a real API server: what repairs left is listed, and goes; what has to stay is named. All of it goes while
no sidecar runs, guards alone at any time.
"""

from __future__ import annotations

import subprocess
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from demo.fleet import instancetypes as its
from exporter.facts.drain_stop import STOPPED_FOR_DRAIN
from exporter.facts.record import Ref
from reconcile.ledger import Entry, Event, Ledger
from reconcile.plan.annotations import APPROVED_PLAN, PAUSED, PREFIX, RESUMED
from reconcile.plan.plan import Patch, Plan
from reconcile.plan.remediations.instancetypes.guard_instancetype import FINALIZER
from reconcile.plan.removal import removal
from tests.cluster import fleet
from tests.cluster.apiserver import ApiServer
from tests.cluster.client import Client
from tests.cluster.conftest import MakeApiServer
from tests.cluster.exporter import Exporter, grant
from tests.cluster.repair_faults import KUBEVIRT, SIZE
from tests.cluster.repair_ground import deployed
from tests.cluster.resources import (
    CLUSTER_INSTANCETYPES,
    EVENTS,
    INSTANCETYPES,
    KUBEVIRTS,
    LEASES,
    NAMESPACES,
    PREFERENCES,
    VMIMS,
    VMS,
    Resource,
)
from tests.cluster.sidecar import Sidecar, steward, unaimed
from tests.cluster.test_gated_commands import APPROVE
from tests.manifests import Object

from .client import account
from .shell import OnTerminal

pytestmark = pytest.mark.long

KIND, PREFERENCE = "VirtualMachineInstancetype", "VirtualMachinePreference"
LEASE = "kubevirt-steward-reconcile"
MINE, OTHER = "example.com/mine", "example.com/other"
MADE_BY = "app.kubernetes.io/managed-by"
ALLOWED = f"{PREFIX}guard-allowed"


@dataclass
class Ground:
    client: Client
    kubeconfig: Path
    namespace: str
    folder: Path

    @property
    def own(self) -> tuple[str, ...]:
        return ("--ledger", str(self.folder / "ledger"), "--kubeconfig", str(self.kubeconfig))

    def run(self, *words: str, verb: str = "clean") -> subprocess.CompletedProcess[str]:
        return steward("reconcile", verb, *words, *self.own)

    def guards(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.run("--guards", "-n", self.namespace, *words)

    def vm(self, name: str, notes: dict[str, str], run_strategy: str = "Halted", **status: Any) -> Object:
        vm = fleet.vm(self.namespace, name)
        vm["spec"]["runStrategy"] = run_strategy
        vm["metadata"]["annotations"] = {MINE: "x", **notes}
        vm["status"] = status
        return self.client.make(vm)

    def migration(self, name: str, phase: str) -> Object:
        return self.client.make(
            {
                "apiVersion": "kubevirt.io/v1",
                "kind": "VirtualMachineInstanceMigration",
                "metadata": {
                    "name": name,
                    "namespace": self.namespace,
                    "labels": {MADE_BY: "kubevirt-steward", MINE: "x"},
                },
                "spec": {"vmiName": "db"},
                "status": {"phase": phase},
            }
        )

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

    def notes(self, resource: Resource, name: str, part: str = "annotations") -> Any:
        namespace = None if resource is NAMESPACES else self.namespace
        return self.client.get(resource, namespace, name)["metadata"].get(part, {})

    def entries(self) -> list[Entry]:
        return list(Ledger.read(self.folder / "ledger")) if (self.folder / "ledger").is_dir() else []


@pytest.fixture(scope="module")
def server(module_api_server: MakeApiServer) -> ApiServer:
    made = deployed(module_api_server)
    grant(made.client())
    return made


@pytest.fixture
def ground(server: ApiServer, tmp_path: Path) -> Iterator[Ground]:
    """What is in it goes, since the command looks everywhere."""
    name = f"clean-{uuid.uuid4().hex[:8]}"
    with server.client() as client:
        client.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        yield Ground(client, server.kubeconfig("admin"), name, tmp_path)
        client.patch(NAMESPACES, None, name, {"metadata": {"annotations": {PAUSED: None}}})
        for resource in (VMS, VMIMS, INSTANCETYPES, PREFERENCES):
            for each in client.list(resource, name)["items"]:
                client.patch(resource, name, each["metadata"]["name"], {"metadata": {"finalizers": None}})
                if client.find(resource, name, each["metadata"]["name"]) is not None:
                    client.remove(resource, name, each["metadata"]["name"])


def littered(ground: Ground) -> None:
    """One of everything that goes."""
    ground.vm("db", {PAUSED: "x\x1b[2J\ny", RESUMED: "x", APPROVED_PLAN: "x", f"{PREFIX}nudged-at": "1"})
    ground.vm("stale", {STOPPED_FOR_DRAIN: "{}"}, "Always", created=True)
    ground.client.patch(NAMESPACES, None, ground.namespace, {"metadata": {"annotations": {PAUSED: "x", MINE: "x"}}})
    ground.migration("steward-evacuation-1", "Succeeded")
    notes = {ALLOWED: "true", MINE: "x"}
    ground.client.create(
        its.kept(KIND, ground.namespace, "small", SIZE, finalizers=[MINE, FINALIZER], annotations=notes)
    )


LISTED = """\
To remove:
  Namespace NS: annotation steward.kubevirt-steward.io/paused
  VirtualMachine NS/db: annotations steward.kubevirt-steward.io/approved-plan, \
steward.kubevirt-steward.io/nudged-at, steward.kubevirt-steward.io/paused, steward.kubevirt-steward.io/resumed-at
  VirtualMachine NS/stale: annotation steward.kubevirt-steward.io/stopped-for-drain
  VirtualMachineInstanceMigration NS/steward-evacuation-1: label app.kubernetes.io/managed-by
  VirtualMachineInstancetype NS/small: annotation steward.kubevirt-steward.io/guard-allowed; its guard
"""


FORGET = f"kubectl annotate virtualmachines.kubevirt.io -n NS off {STOPPED_FOR_DRAIN}-"
OFF = "a repair stopped it for a drain, and the annotation says how to start it. Start it, or, if it is to stay off: "
LEFT = (
    "  VirtualMachine NS/going: it is being deleted",
    f"  VirtualMachine NS/off: {OFF}{FORGET}",
    "  VirtualMachineInstanceMigration NS/steward-evacuation-2: it is an unfinished migration",
    "  VirtualMachineInstancetype NS/small: it is being deleted",
)


def test_all_that_repairs_left_goes_and_nothing_of_others(ground: Ground) -> None:
    littered(ground)
    listed = ground.run()
    assert (listed.returncode, listed.stdout, listed.stderr) == (1, LISTED.replace("NS", ground.namespace), "")
    asked = ground.run("--all")
    assert (asked.returncode, asked.stdout) == (1, listed.stdout)
    assert "stdin isn't a terminal" in asked.stderr
    assert ground.entries() == []

    done = ground.run("--all", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(LISTED.replace("NS", ground.namespace))
    assert done.stdout.count(": removed, attempt ") == 5
    for resource, name in ((VMS, "db"), (VMS, "stale"), (INSTANCETYPES, "small"), (NAMESPACES, ground.namespace)):
        assert ground.notes(resource, name) == {MINE: "x"}
    assert ground.notes(VMIMS, "steward-evacuation-1", "labels") == {MINE: "x"}
    assert ground.notes(INSTANCETYPES, "small", "finalizers") == [MINE]
    assert [each.event for each in ground.entries()] == [Event.INTENDED, Event.DONE] * 6
    assert {each.mode for each in ground.entries() if each.plan is not None} == {"undo"}
    plans = [each.plan for each in ground.entries() if each.plan is not None]
    assert {(each.check, each.settles) for each in plans} == {("", False)}  # nobody follows them
    events = ground.client.list(EVENTS, ground.namespace)["items"]
    assert {each["reason"] for each in events} == {"RepairUndone"}
    assert any("Because: repairs left annotations or labels (attempt " in each["message"] for each in events)

    again = ground.run("--all", "--yes")
    assert (again.returncode, again.stdout) == (0, "Repairs left nothing on any object.\n")
    assert (ground.run().returncode, ground.run().stdout) == (0, again.stdout)


def test_what_has_to_stay_is_named_with_what_to_do(ground: Ground) -> None:
    ground.vm("off", {STOPPED_FOR_DRAIN: "{}", PAUSED: "x"}, created=False)
    ground.vm("going", {PAUSED: "x"})
    ground.client.patch(VMS, ground.namespace, "going", {"metadata": {"finalizers": [MINE]}})
    ground.client.delete(VMS, ground.namespace, "going")
    ground.migration("steward-evacuation-2", "Running")
    ground.client.create(its.kept(KIND, ground.namespace, "small", SIZE, finalizers=[FINALIZER]))
    ground.client.delete(INSTANCETYPES, ground.namespace, "small")

    done = ground.run("--all", "--yes")
    assert done.returncode == 1
    left = done.stdout.partition("Remains:\n")[2].splitlines()
    own = f"kubectl --kubeconfig {ground.kubeconfig} annotate"
    assert left == [line.replace("NS", ground.namespace).replace("kubectl annotate", own) for line in LEFT]
    assert "To remove" not in done.stdout
    assert ground.entries() == []
    assert ground.notes(VMS, "off") == {MINE: "x", STOPPED_FOR_DRAIN: "{}", PAUSED: "x"}
    assert ground.notes(INSTANCETYPES, "small", "finalizers") == [FINALIZER]


def test_while_a_sidecar_holds_the_lease_nothing_is_touched(ground: Ground, server: ApiServer) -> None:
    ground.vm("db", {PAUSED: "x"})
    with (
        Exporter(server.kubeconfig("steward-exporter")) as exporter,
        Sidecar(ground.folder / "sidecar", ground.kubeconfig, exporter.url, APPROVE) as sidecar,
    ):
        sidecar.runs_again(1)
        listed, refused = ground.run(), ground.run("--all", "--yes")
    assert f"VirtualMachine {ground.namespace}/db: annotation {PAUSED}" in listed.stdout
    assert (refused.returncode, refused.stdout) == (1, "")
    assert " is running: it holds the Lease" in refused.stderr
    assert "Scale its Deployment to 0 first" in refused.stderr
    assert PAUSED in ground.notes(VMS, "db")

    done = ground.run("--all", "--yes")  # it gave the Lease up
    assert done.returncode == 0, done.stderr
    assert PAUSED not in ground.notes(VMS, "db")


def held(ground: Ground, holder: str | None, renewed: int = 1) -> None:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": renewed}
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": spec}
    if ground.client.find(LEASES, "default", LEASE) is None:
        ground.client.create({**lease, "metadata": {"name": LEASE, "namespace": "default"}})
    else:
        ground.client.patch(LEASES, "default", LEASE, {"spec": spec})


def test_a_lease_that_nobody_renews_is_nobodys(ground: Ground) -> None:
    ground.vm("db", {PAUSED: "x"})
    held(ground, "gone")
    try:
        begun = time.monotonic()
        done = ground.run("--all", "--yes")
        assert (done.returncode, done.stderr) == (0, "")
        assert time.monotonic() - begun > 15  # as long as whoever holds it may take
    finally:
        held(ground, None)
    assert PAUSED not in ground.notes(VMS, "db")


def test_a_sidecar_that_starts_meanwhile_ends_it(ground: Ground) -> None:
    ground.vm("db", {PAUSED: "x"})
    held(ground, None)
    with OnTerminal("reconcile", "clean", "--all", *ground.own) as command:
        command.read_until("Remove it? [y/N] ")
        held(ground, "another", 2)
        code, _, err = command.answered("y")
    held(ground, None, 3)
    assert code == 2
    assert "sidecar another is running: it holds the Lease" in err
    assert PAUSED in ground.notes(VMS, "db")
    assert [each.event for each in ground.entries()] == [Event.INTENDED, Event.FAILED]
    done = ground.run("--all", "--yes")
    assert done.returncode == 0, done.stderr
    assert PAUSED not in ground.notes(VMS, "db")


def test_what_is_set_anew_meanwhile_stays_and_the_rest_goes(ground: Ground) -> None:
    ground.vm("db", {PAUSED: "x"})
    ground.vm("web", {PAUSED: "x"})
    with OnTerminal("reconcile", "clean", "--all", *ground.own) as command:
        command.read_until("Remove it? [y/N] ")
        ground.client.patch(VMS, ground.namespace, "db", {"metadata": {"annotations": {PAUSED: "since a minute"}}})
        code, out, err = command.answered("y")
    assert code == 1
    assert "refused, same_plan: " in err
    assert f"VirtualMachine {ground.namespace}/db:\n" in out
    assert ground.notes(VMS, "db")[PAUSED] == "since a minute"
    assert PAUSED not in ground.notes(VMS, "web")
    assert ground.run("--all", "--yes").returncode == 0
    assert PAUSED not in ground.notes(VMS, "db")


def test_it_goes_on_where_it_was_interrupted(ground: Ground) -> None:
    """A process that was killed has left an entry without an end, before the write or after it."""
    made = [ground.vm(name, {PAUSED: "x"}) for name in ("app", "db", "web")]
    assert ground.run("--all", "--yes").returncode == 0
    first = ground.entries()
    for vm in made[:2]:
        ground.client.patch(VMS, ground.namespace, vm["metadata"]["name"], {"metadata": {"annotations": {PAUSED: "x"}}})
    long_ago, whose = time.time() - 600, first[0].opens
    assert whose is not None
    with Ledger.open(ground.folder / "ledger", clock=lambda: long_ago, cluster=whose.cluster) as ledger:
        for vm in made:
            whole = {"kind": "VirtualMachine", **vm}
            ref = Ref("VirtualMachine", ground.namespace, vm["metadata"]["name"], vm["metadata"]["uid"])
            plan = removal(ref, whole)
            assert isinstance(plan, Plan)
            assert isinstance(plan.step, Patch)
            ledger.append(Event.INTENDED, plan=plan, whole=whole, mode="undo")

    done = ground.run("--all", "--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count(": removed, attempt ") == 2
    for name in ("app", "db", "web"):
        assert ground.notes(VMS, name) == {MINE: "x"}
    settled = [each for each in ground.entries()[len(first) :] if each.event is Event.RESOLVED]
    assert len(settled) == 3


def test_whoever_may_not_is_told_which_permissions_are_missing(ground: Ground, server: ApiServer) -> None:
    littered(ground)
    somebody = account(ground.client)
    rules = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list"]}]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": ground.namespace}}
    rules[0]["resources"] = [
        *("namespaces", "leases", "virtualmachines", "virtualmachineinstances", "virtualmachineinstancemigrations"),
        *("ipamclaims", "kubevirts", "virtualmachineinstancetypes", "virtualmachineclusterinstancetypes"),
        *("virtualmachinepreferences", "virtualmachineclusterpreferences", "controllerrevisions", "pods"),
    ]
    ground.client.create({**role, "rules": rules})
    somebody.grant(ground.namespace)
    theirs = Ground(ground.client, server.kubeconfig("somebody", somebody.token), ground.namespace, ground.folder)
    done = theirs.run("--all", "--yes")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    who = f"system:serviceaccount:default:{somebody.name}"
    assert line == (
        f"steward: {who} has no permission to list poddisruptionbudgets.policy, "
        f"patch namespaces, patch virtualmachines.kubevirt.io in namespace {ground.namespace}, patch "
        f"virtualmachineinstancemigrations.kubevirt.io in namespace {ground.namespace}, patch "
        f"virtualmachineinstancetypes.instancetype.kubevirt.io in namespace {ground.namespace}. Nothing was changed"
    )
    assert PAUSED in ground.notes(VMS, "db")
    assert ground.notes(INSTANCETYPES, "small", "finalizers") == [MINE, FINALIZER]


# Guards alone.


def test_every_guard_of_a_namespace_goes_and_nothing_else(ground: Ground) -> None:
    ground.guarded("alone")
    ground.guarded("among", OTHER, "example.com/last")
    ground.guarded("preferred", kind=PREFERENCE)
    ground.client.create(its.kept(KIND, ground.namespace, "free", SIZE, finalizers=[OTHER]))
    elsewhere = its.kept("VirtualMachineClusterInstancetype", "", ground.namespace, SIZE, finalizers=[FINALIZER])
    ground.client.create(elsewhere)

    asked = ground.guards()
    assert (asked.returncode, ground.entries()) == (1, [])
    assert "stdin isn't a terminal" in asked.stderr
    assert f"{KIND} {ground.namespace}/alone can be deleted again." in asked.stdout

    done = ground.guards("--yes")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"It is paused. To resume: steward reconcile resume {KIND} {ground.namespace}/alone" in unaimed(done.stdout)
    assert "finalizers" not in ground.meta("alone")
    assert ground.meta("among")["finalizers"] == [OTHER, "example.com/last"]
    assert "finalizers" not in ground.meta("preferred", PREFERENCES)
    assert ground.meta("free")["finalizers"] == [OTHER]
    assert PAUSED not in ground.meta("free").get("annotations", {})
    assert ground.meta("alone")["annotations"][PAUSED].startswith("undone by ")
    there = ground.client.get(CLUSTER_INSTANCETYPES, None, ground.namespace)
    assert there["metadata"]["finalizers"] == [FINALIZER]  # -n is of that namespace
    assert [(each.event, each.mode) for each in ground.entries()[:2]] == [(Event.INTENDED, "undo"), (Event.DONE, "")]
    assert len(ground.entries()) == 6
    events = ground.client.list(EVENTS, ground.namespace)["items"]
    assert {each["involvedObject"]["name"] for each in events} == {"alone", "among", "preferred"}
    assert {each["reason"] for each in events} == {"RepairUndone"}
    assert all("Because: the guard is being removed (attempt " in each["message"] for each in events)

    again = ground.guards("--yes")
    assert (again.returncode, again.stdout) == (0, "No object has the guard.\n")
    whole = ground.run("--guards", "--yes")
    assert whole.returncode == 0, whole.stderr
    there = ground.client.get(CLUSTER_INSTANCETYPES, None, ground.namespace)
    assert "finalizers" not in there["metadata"]
    ground.client.remove(CLUSTER_INSTANCETYPES, None, ground.namespace)


def test_under_vms_a_guard_stays_while_a_deletion_waits_and_the_others_go(ground: Ground) -> None:
    ground.guarded("needed")
    ground.used("needed")
    ground.guarded("free")
    ground.client.delete(INSTANCETYPES, ground.namespace, "needed")

    done = ground.guards("--yes")
    assert done.returncode == 1
    stays = done.stdout.partition("Remains:\n")[2]
    assert f"{KIND} {ground.namespace}/needed stays guarded, no_vm_without_copy: " in stays
    assert "To accept this loss: steward reconcile clean --guards --accept copy" in unaimed(stays)
    assert ground.meta("needed")["finalizers"] == [FINALIZER]
    assert "finalizers" not in ground.meta("free")

    done = ground.guards("--yes", "--accept", "copy")
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
    done = ground.guards("--yes", "--accept", "copy")
    assert done.returncode == 0, done.stderr
    plans = {entry.plan.target.name: entry.plan.accepted for entry in ground.entries() if entry.plan is not None}
    assert plans == {"free": (), "needed": ("copy",)}


def test_what_cannot_be_listed_is_not_taken_for_unguarded(ground: Ground, server: ApiServer) -> None:
    ground.guarded("alone")
    somebody = account(ground.client)
    kubeconfig = server.kubeconfig("somebody", somebody.token)
    done = Ground(ground.client, kubeconfig, ground.namespace, ground.folder).guards("--yes")
    assert done.returncode == 2
    assert "No object has the guard" not in done.stdout
    assert "has no permission to list " in done.stderr
    assert ground.meta("alone")["finalizers"] == [FINALIZER]


def test_while_kubevirt_is_upgraded_guards_stay(ground: Ground) -> None:
    ground.guarded("alone")
    kubevirt = ground.client.get(KUBEVIRTS, "kubevirt", "kubevirt")
    ground.client.update_status(kubevirt | {"status": kubevirt["status"] | {"targetKubeVirtVersion": "v1.8.0"}})
    try:
        done = ground.guards("--yes")
    finally:
        kubevirt = ground.client.get(KUBEVIRTS, "kubevirt", "kubevirt")
        ground.client.update_status(kubevirt | {"status": KUBEVIRT["status"]})
    assert done.returncode == 1
    assert f"{KIND} {ground.namespace}/alone:\n" in done.stdout
    assert "refused, upgrade: " in done.stderr
    assert ground.meta("alone")["finalizers"] == [FINALIZER]


def test_the_attempt_that_guarded_it_is_taken_back_in_the_ledger_that_has_it(ground: Ground) -> None:
    of = its.kept(KIND, ground.namespace, "small", SIZE, annotations={ALLOWED: "true"})
    ground.client.create(of)
    ground.used("small")
    done = ground.run("--remediation", "guard_instancetype", "-n", ground.namespace, "--yes", verb="apply")
    assert done.returncode == 0, done.stderr
    guarded = ground.entries()[0].attempt

    done = ground.guards("--yes")
    assert done.returncode == 0, done.stderr
    assert ground.entries()[-2].undoes == guarded
    assert ground.meta("small")["annotations"].keys() == {ALLOWED, PAUSED}  # what owners allowed is no guard
    again = ground.run(guarded, "--yes", verb="undo")
    assert again.returncode == 2
    assert "was undone before" in again.stderr


def test_guards_go_while_a_sidecar_runs(ground: Ground) -> None:
    ground.guarded("alone")
    held(ground, "another")
    try:
        done = ground.guards("--yes")
    finally:
        held(ground, None)
    assert done.returncode == 0, done.stderr
    assert "finalizers" not in ground.meta("alone")
    assert PAUSED in ground.meta("alone")["annotations"]  # or it would put it there again


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "--yes needs --all, --guards or --requests NODE"),
        (("--guards", "-n", ""), "a name is empty"),
        (("--requests", ""), "a name is empty"),
        (("--guards", "--accept", "x"), "copy"),
        (("--all", "--accept", "copy"), "-n and --accept are for --guards"),
        (("--all", "-n", "shop"), "-n and --accept are for --guards"),
        (("--all", "--guards"), "not allowed with argument"),
    ],
)
def test_what_is_asked_for_by_halves_is_a_mistake(ground: Ground, words: tuple[str, ...], says: str) -> None:
    ground.guarded("alone")
    done = ground.run(*words, "--yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
    assert ground.meta("alone")["finalizers"] == [FINALIZER]
