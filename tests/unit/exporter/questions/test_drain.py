"""What becomes of each VM of a node that is drained, and what somebody has to do about it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from demo.fleet.sample import sample_fleet
from exporter.domain.drains.departure import DrainState
from exporter.engine.evaluate import at_once
from exporter.facts.record import Ref
from exporter.facts.selector import selector_in
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from exporter.questions import drain
from exporter.questions.drain.report import NOT_CONSIDERED
from exporter.questions.question import NotThereError
from exporter.store.kinds.node import Node
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.source import SyncState

from ....drain_rows import Drained, Row, guest, migration, node, pdb, slices, volume
from ....rows import full

REQUESTED = "2026-06-01T10:00:00Z"
LEAVING: Row = {"evacuation": "node01", "evacuation_since": REQUESTED}
NONE: Row = {"strategy": "None"}
UNENDED: Row = {"migrationUid": "uid-m", "startTimestamp": "2026-06-01T10:01:00Z"}
FAILED = [migration(f"m{n}", "a", "Failed", n, failed="no bandwidth") for n in range(1, 3)]


@pytest.mark.parametrize(
    ("rows", "reported"),
    [
        (guest("a"), ("waiting", "")),
        (guest("a", strategy="LiveMigrateIfPossible"), ("waiting", "")),
        (guest("a", strategy="LiveMigrateIfPossible", migratable=False), ("shuts_down", "WillShutDown")),
        (guest("a", **NONE), ("shuts_down", "WillShutDown")),
        (guest("a", strategy=None), ("shuts_down", "WillShutDown")),
        (guest("a", migratable=False), ("blocked", "NotMigratable")),
        (guest("a", migratable=False, **LEAVING), ("blocked", "NotMigratableAfterRequest")),
        (guest("a")[:1], ("unknown", "")),
        (guest("a", strategy="External"), ("blocked", "ExternalNoHandler")),
        (guest("a", strategy="External", set="blue"), ("external", "")),
        (guest("a", strategy="External", **LEAVING), ("blocked", "ExternalAwaiting")),
        (guest("a", strategy="External", set="blue", **LEAVING), ("blocked", "ExternalAwaiting")),
        (guest("a", strategy="External", set="blue", evacuation="gone"), ("blocked", "StaleEvacuationRequest")),
        ([*guest("a", **NONE), pdb("b", "a", desired=1, expected=1, healthy=1)], ("blocked", "UserPDB")),
        ([*guest("a", **NONE), pdb("b", "a", allowed=1)], ("shuts_down", "WillShutDown")),
        ([*guest("a", **NONE), pdb("b", "other")], ("shuts_down", "WillShutDown")),
        ([*guest("a", **NONE), pdb("b", "a", allowed=1), pdb("c", "a")], ("blocked", "MultiplePDB")),
        ([*guest("a"), pdb("b", "a"), pdb("c", "a")], ("waiting", "")),  # the webhook comes before PDBs
        (guest("a", **NONE, **LEAVING), ("shuts_down", "RequestWithUnmanagedStrategy")),
        ([*guest("a", **NONE, **LEAVING), pdb("b", "a", desired=1, expected=1, healthy=1)], ("blocked", "UserPDB")),
        (guest("a", evacuation="node02"), ("blocked", "StaleEvacuationRequest")),
        # A migration that succeeds clears the request.
        ([*guest("a", evacuation="node02"), migration("m", "a", "Pending")], ("waiting", "MigrationQueued")),
        (guest("a", **LEAVING), ("blocked", "NotStarted")),
        ([*guest("a", **LEAVING), migration("m", "a", "Pending", 1)], ("waiting", "MigrationQueued")),
        ([*guest("a", **LEAVING), migration("m", "a", "Running", 1)], ("migrating", "")),
        ([*guest("a", **LEAVING), migration("m", "a", "Pending", 1, rejected="migrationBlockedByBackup")],
         ("blocked", "MigrationPending")),
        ([*guest("a", **LEAVING), *FAILED], ("blocked", "MigrationFailing")),
        ([*guest("a", **LEAVING), *FAILED, migration("m", "a", "Pending", 5)], ("blocked", "MigrationFailing")),
        ([*guest("a", **LEAVING), *FAILED, migration("m", "a", "Running", 5)], ("blocked", "MigrationFailing")),
        # The next attempt is made at once, and waits where a back-off is due.
        ([*guest("a", **LEAVING), FAILED[0]], ("blocked", "NotStarted")),
        ([*guest("a", **LEAVING), FAILED[0], migration("m2", "a", "Pending", 5)], ("blocked", "MigrationPending")),
        (guest("a", migratable="Unknown"), ("blocked", "NotMigratable")),
        (guest("a", migratable="Unknown", phase="Scheduled"), ("unknown", "NotEvaluated")),
        (guest("a", migratable="Unknown", strategy="LiveMigrateIfPossible"), ("shuts_down", "WillShutDown")),
        (guest("a", migration=UNENDED), ("blocked", "NotEnded")),
        (guest("a", migration=UNENDED, **LEAVING), ("blocked", "NotStarted")),
        ([*guest("a", migration=UNENDED, **LEAVING), migration("m", "a", "Running", 1)], ("migrating", "")),
        ([*guest("a", migration=UNENDED, **LEAVING), migration("m", "a", "Pending", 1)], ("migrating", "")),
        ([*guest("a", migration=UNENDED, **LEAVING), migration("m", "a", "Failed", 1)], ("blocked", "NotStarted")),
        (guest("a", migration=UNENDED, evacuation="node02"), ("blocked", "StaleEvacuationRequest")),
        ([*guest("a", migration=UNENDED, evacuation="node02"), migration("m", "a", "Running")], ("migrating", "")),
        # Of a migration that is not kept its own status tells.
        (guest("a", migration=UNENDED | {"endTimestamp": "2026-06-01T10:02:00Z", "failed": True}, **LEAVING),
         ("blocked", "NotStarted")),
        # What failed before the request does not count.
        ([*guest("a", evacuation_since="2026-06-01T10:30:00Z", evacuation="node01"), *FAILED],
         ("blocked", "NotStarted")),
        (guest("a" * 64), ("blocked", "NameTooLong")),
        (guest("a" * 63), ("waiting", "")),
        # Unseen: settled from how KubeVirt behaves, before the view was looked at.
        (guest("a" * 63, **LEAVING), ("blocked", "NotStarted")),
        (guest("a" * 64, migratable=False), ("blocked", "NotMigratable")),
        (guest("a" * 64, **NONE), ("shuts_down", "WillShutDown")),
        (guest("a", paused=True, pod={"ready": False}), ("waiting", "")),
        ([*guest("a", {"ready": False}, paused=True, **NONE), pdb("b", "a", desired=1, expected=1, healthy=0)],
         ("blocked", "UserPDB")),
        ([*guest("a", {"ready": False}, paused=True, **NONE), pdb("b", "a", desired=1, expected=2, healthy=1)],
         ("shuts_down", "WillShutDown")),
        (guest("a", strategy="LiveMigrateIfPossible")[1:], ("blocked", "OrphanLauncherPod")),
        (guest("a", strategy="External", migration=UNENDED), ("blocked", "ExternalNoHandler")),
        ([*guest("a", migration=UNENDED | {"mode": "PostCopy"}, **LEAVING), migration("m", "a", "Running", 1)],
         ("migrating", "")),
        ([*guest("a", **LEAVING), migration("m", "a", "WaitingForSync", 1)], ("migrating", "")),
        ([*guest("a", **LEAVING), migration("m", "a", "Pending", 1), guest("a", {"name": "second"})[1]],
         ("blocked", "MigrationPending")),
        # One that has not been handled yet is not in the queue.
        ([*guest("a", **LEAVING), migration("m", "a", "", 1)], ("blocked", "MigrationPending")),
        ([*guest("a", **LEAVING), migration("m", "a", "Failed", 1, namespace="far")], ("blocked", "NotStarted")),
        (guest("a", evacuation="node02", deleting=True), ("terminating", "StuckTerminating")),
        (guest("a", evacuation="node02", migratable="Unknown"), ("blocked", "StaleEvacuationRequest")),
        (guest("a", descheduled=True, **LEAVING), ("blocked", "NotStarted")),
        (guest("a" * 64, **LEAVING), ("blocked", "NotStarted")),
        ([*guest("a"), guest("a", {"name": "second"})[1]], ("blocked", "SeveralPods")),
        ([*guest("a", **LEAVING), guest("a", {"name": "second"})[1]], ("blocked", "NotStarted")),
        (guest("a")[1:], ("blocked", "OrphanLauncherPod")),
        ([guest("a", {"phase": "Pending"})[1]], ("unknown", "")),
        ([guest("a", {"deleting": True})[1]], ("terminating", "")),
        (guest("a", deleting=True, termination=31536000), ("terminating", "")),
        (guest("a", deleting=True), ("terminating", "StuckTerminating")),
    ],
)  # fmt: skip
def test_what_becomes_of_a_vm(rows: list[Row], reported: tuple[str, str]) -> None:
    assert Drained(*rows).reported() == reported
    assert Drained(*reversed(rows)).reported() == reported


STOP, RESTART = "virtctl stop -n ns a", "virtctl restart -n ns a"


@pytest.mark.parametrize(
    ("rows", "why", "next_", "command"),
    [
        (guest("a", migratable="HostDeviceNotLiveMigratable"), "HostDeviceNotLiveMigratable", "Restart the", RESTART),
        (guest("a", owned=False, migratable=False), "can't", "Nothing restarts", '"preconditions": {"uid": "u-a"}'),
        (guest("a", **NONE), "strategy is None", "migrate the VMI now", "vmiName: a"),
        (guest("a", **NONE, migratable=False), "strategy is None", "shut it down now", STOP),
        (guest("a", strategy=None), "KubeVirt's default", "migrate the VMI now", "vmiName: a"),
        ([*guest("a", **NONE, migratable=False), pdb("b", "a", refused="SyncFailed", maxUnavailable=1)],
         "uses maxUnavailable or", "integer minAvailable", "kubectl edit poddisruptionbudgets.policy -n ns b"),
        ([*guest("a", **NONE, migratable=False), pdb("b", "a", desired=2, expected=2, healthy=2)], "ready, 2 required",
         "lower its minAv", "kubectl edit poddisruptionbudgets.policy -n ns b"),
        ([*guest("a", **NONE), pdb("b", "a", desired=2, expected=2, healthy=2)], "ready, 2 required",
         "migrate the VMI now", "vmiName: a"),
        ([*guest("a", {"ready": False}, paused=True, **NONE), pdb("b", "a", desired=2, expected=3, healthy=1)],
         "paused, so its pod is not ready", "make other pods", "kubectl get poddisruptionbudgets.policy -n ns"),
        ([*guest("a", **NONE, migratable=False), pdb("b", "a"), pdb("c", "a")], "b, c", "leave only one", "-n ns c"),
        ([*guest("a", **NONE), pdb("b", "a"), pdb("c", "a")], "b, c", "migrate the VMI now", "vmiName: a"),
        (guest("a", evacuation="node02"), "is for node node02", "request for node node02", "' node02 |"),
        (guest("a", **LEAVING), "KubeVirt has created no migration", "virt-controller", "virt-controller"),
        (guest("a" * 64, **LEAVING), "64 characters", "under this name", f"virtctl stop -n ns {'a' * 64}"),
        ([*guest("a", **LEAVING), *FAILED], "2 migrations in a row failed: no bandwidth", "last failed migration",
         "kubectl get events"),
        ([*guest("a", **LEAVING), migration("m", "a", "Pending", 1, rejected="migrationRejectedByResourceQuota")],
         "ResourceQuota", "to raise the ResourceQuota", "kubectl describe resourcequotas -n ns"),
        (guest("a", strategy="External"), "no label or owner", "Find the controller", "instances.kubevirt.io -n ns a"),
        (guest("a")[1:], "VMI a doesn't exist", "no guest", "/api/v1/namespaces/ns/pods/virt-launcher-a"),
    ],
)  # fmt: skip
def test_what_is_in_the_way_and_what_to_do(rows: list[Row], why: str, next_: str, command: str) -> None:
    vm = Drained(*rows).one()
    assert why in vm.why
    assert next_ in vm.next
    assert any(command in each for each in vm.commands), vm.commands
    assert "disable-eviction" not in "".join(vm.commands)


def test_a_vm_that_starts_is_not_evaluated_until_it_runs() -> None:
    vmi, pod = guest("a", node="", phase="Scheduling", migratable=False)
    del vmi["migratable"]
    starting = Drained(vmi, pod | {"node": "node01", "phase": "Pending"})
    assert starting.reported() == ("unknown", "NotEvaluated")
    assert "Wait until the VMI runs" in starting.one().next
    running = Drained(vmi | {"node": "node01", "phase": "Running"}, pod | {"node": "node01"})
    assert running.reported() == ("unknown", "NotEvaluated")


def test_the_pod_that_a_migration_leaves_behind_and_the_one_that_comes() -> None:
    vmi, new = guest("a", node="node02")
    left = {**new, "name": "old", "node": "node01", "created": "2026-05-01T00:00:00Z"}
    assert Drained(vmi, new, left).reported() == ("terminating", "")

    coming = {**new, "name": "coming", "node": "node01", "migration": "uid-m", "phase": "Pending"}
    arriving = Drained(vmi, new, coming, migration("m", "a", "Scheduling", evacuates="node02"))
    assert (arriving.reported(), arriving.one().why) == (("arriving", ""), "The VMI is migrating here from node02.")


def test_who_is_on_its_way_and_where_to() -> None:
    state = {"migrationUid": "uid-m", "startTimestamp": REQUESTED, "sourceNode": "node01", "targetNode": "node02"}
    vm = Drained(*guest("a", migration=state, **LEAVING), migration("m", "a", "Running", 1)).one()
    assert (vm.state, vm.to, vm.evacuation_since) == (DrainState.MIGRATING, "node02", REQUESTED)


def test_a_target_pod_that_finds_no_node() -> None:
    target = guest("a", {"name": "t", "node": "", "phase": "Pending", "migration": "uid-m"})[1]
    rows = [*guest("a", **LEAVING), migration("m", "a", "Scheduling", 1), target | {"unschedulable": "0/3 nodes"}]
    vm = Drained(*rows).one()
    assert (vm.state, vm.reason) == (DrainState.BLOCKED, "TargetUnschedulable")
    assert vm.why == "No node can run the target pod of the VMI's migration: 0/3 nodes."


@pytest.mark.parametrize(
    ("since", "state", "reason"),
    [
        ("2026-06-01T10:01:00Z", DrainState.BLOCKED, "MigrationHanging"),
        ("2026-09-21T14:12:20Z", DrainState.MIGRATING, ""),
    ],
)
def test_a_migration_is_under_way_until_it_hangs(since: str, state: DrainState, reason: str) -> None:
    now = {"migrationUid": "uid-m", "sourceNode": "node01", "targetNode": "node02"}
    made = migration("m", "a", "PreparingTarget", 1)
    drained = Drained(*guest("a", migration=now, **LEAVING))
    drained.seen(full(made | {"phaseSince": since}))
    vm = drained.one()
    assert (vm.state, vm.reason, vm.to) == (state, reason, "node02")
    assert bool(vm.next) is bool(vm.commands) is bool(reason)
    assert drain.exit_code(drained.take()) == (1 if reason else 0)


def test_external_names_who_answers() -> None:
    labels = {
        "capk.cluster.x-k8s.io/kubevirt-machine-name": "w1",
        "capk.cluster.x-k8s.io/kubevirt-machine-namespace": "capi",
    }
    lately = {"evacuation": "node01", "evacuation_since": "2026-09-21T14:11:20Z"}
    for asked, state in ((lately, DrainState.EXTERNAL), (LEAVING, DrainState.BLOCKED)):
        vm = Drained(*guest("a", strategy="External", labels=labels, **asked)).one()
        assert (vm.state, vm.to) == (state, "KubevirtMachine capi/w1")
        assert vm.why.startswith("The VMI has an evacuation request for node01. KubevirtMachine capi/w1 has")
        assert vm.evacuation_since == asked["evacuation_since"]


@pytest.mark.parametrize(
    ("kubevirt", "nodes", "cancels"),
    [
        ({}, ["node01", "node02"], True),
        ({"version": "v1.6.3"}, ["node01", "node02"], False),
        ({}, ["node01"], False),  # cancelling answers 500 when the node is gone
    ],
)
def test_a_stale_request_is_cancelled_with_its_own_node_where_that_is_served(
    kubevirt: Row, nodes: list[str], cancels: bool
) -> None:
    view = Drained(*guest("a", evacuation="node02"), kubevirt=kubevirt, nodes=[node(name) for name in nodes])
    commands = "".join(view.one().commands)
    assert "vmiName: a" in commands
    assert ("evacuate/cancel" in commands) == cancels


TAINTED = "kubevirt.io/drain:NoSchedule"


@pytest.mark.parametrize(
    ("more", "kubevirt", "nodes", "cancels", "migrates"),
    [
        ({}, {}, [node("node01"), node("node02")], True, True),
        ({"migratable": False}, {}, [node("node01"), node("node02")], True, False),
        ({"migratable": False}, {"version": "v1.6.3"}, [node("node01"), node("node02")], False, True),
        ({"migratable": False}, {}, [node("node01")], False, True),
        # Cancelling answers 400, and no node takes it, which NoMigrationTarget says: no command migrates it before.
        ({}, {}, [node("node01"), node("node02", taints=[TAINTED])], False, False),
        ({"strategy": "External", "migratable": False}, {}, [node("node01"), node("node02")], True, False),
    ],
)
def test_a_stale_request_is_ended_only_by_what_can_end_it(
    more: Row, kubevirt: Row, nodes: list[Row], cancels: bool, migrates: bool
) -> None:
    vm = Drained(*guest("a", evacuation="node02", **more), kubevirt=kubevirt, nodes=nodes).one()
    commands = "".join(vm.commands)
    assert vm.reason == "StaleEvacuationRequest"
    assert ("evacuate/cancel" in commands, "vmiName: a" in commands) == (cancels, migrates)
    if more and migrates:
        assert vm.next.startswith("Fix what prevents the migration, then migrate the VMI")


@pytest.mark.parametrize(
    ("rows", "nodes"),
    [
        ([guest("a", **LEAVING)[0], migration("m", "a", "Pending", 1)], [node("node01")]),
        ([guest("a", **LEAVING)[0], *FAILED], [node("node01")]),
        (guest("a", **NONE, **LEAVING), [node("node01", cordoned=True)]),
    ],
)
def test_a_request_is_not_cancelled_where_kubevirt_does_not_serve_that(rows: list[Row], nodes: list[Row]) -> None:
    before, since = (Drained(*rows, kubevirt={"version": each}, nodes=nodes).one() for each in ("v1.6.3", "v1.7.0"))
    assert "evacuate/cancel" not in "".join(before.commands)
    assert "cancel the evacuation" not in before.next
    assert "evacuate/cancel" in "".join(since.commands)


def test_what_waits_while_nothing_runs_does_not_wait_for_its_turn() -> None:
    waiting = [*guest("a", **LEAVING), migration("m", "a", "Pending", 1)]
    vm = Drained(*waiting).one()
    assert (vm.reason, vm.why) == ("MigrationQueued", "The VMI's migration waits, although no other migration runs.")
    assert "virt-controller runs" in vm.next
    busy = [*guest("b", namespace="far", node="node02"), migration("o", "b", "Running", namespace="far")]
    vm = Drained(*waiting, *busy).one()
    assert (vm.reason, vm.why) == ("MigrationQueued", "The VMI's migration is queued.")
    assert vm.next.startswith("Wait")


def test_kubevirts_own_taint_moves_all_that_can_be_moved() -> None:
    tainted = [node("node01", taints=["kubevirt.io/drain:NoSchedule"]), node("node02")]
    stale = Drained(*guest("a", evacuation="node02"), migration("m", "a", "Pending"), nodes=tainted)
    assert stale.reported() == ("waiting", "MigrationQueued")
    assert Drained(*guest("a"), nodes=tainted, kubevirt={"version": "v1.9.0"}).reported() == ("blocked", "NotStarted")
    assert Drained(*guest("a"), nodes=tainted).reported() == ("blocked", "NotStarted")
    busy = [migration("m", "b", "Running"), *guest("b", namespace="far", node="node02")]
    one = {"migrations": {"parallelMigrationsPerCluster": 1}}
    assert Drained(*guest("a"), *busy, nodes=tainted, kubevirt=one).reported() == ("waiting", "MigrationQueued")
    unended = guest("a", migration=UNENDED)  # by the taint KubeVirt migrates what its status says to be migrating
    assert "has created no migration" in Drained(*unended, nodes=tainted).one().why
    assert Drained(*guest("a", **NONE), nodes=tainted).reported() == ("blocked", "LegacyTaintIgnored")


def test_before_1_9_no_migration_is_made_beyond_the_limits() -> None:
    busy = [*guest("a", **LEAVING), *guest("b", **LEAVING), migration("m", "b", "Running", 1)]
    one = {"migrations": {"parallelOutboundMigrationsPerNode": 1}}
    outcomes = {m.vm.name: m.state for m in Drained(*busy, kubevirt={"version": "v1.8.2"} | one).node().vms}
    assert outcomes == {"a": DrainState.WAITING, "b": DrainState.MIGRATING}
    later = Drained(*busy, kubevirt={"version": "v1.9.0"} | one).node().vms
    assert later[0].reason == "NotStarted"


def test_virt_api_without_an_endpoint_is_said_once() -> None:
    rows = [*guest("a"), *guest("b")]
    down = Drained(*rows, slices(False, False)).take()
    assert "virt-api has no ready endpoint" in down.webhook
    assert [m.state for m in down.nodes[0].vms] == [DrainState.WAITING, DrainState.WAITING]
    assert drain.exit_code(down) == 1
    for fine in (Drained(*rows, slices(False, True)), Drained(*rows)):
        assert (fine.take().webhook, drain.exit_code(fine.take())) == ("", 0)
    assert Drained(*rows, slices(False), kubevirt={"version": "v1.4.0"}).take().webhook == ""


def test_the_summary_of_a_node() -> None:
    rows = [
        *guest("a"),
        *guest("b", **NONE),
        *guest("c", migratable=False),
        *guest("d", **LEAVING),
        migration("run", "d", "Running", 1),
        *guest("e", node="node02"),
        migration("gone", "e", "Succeeded", 2),
        migration("old", "f", "Succeeded", 0, created="2026-01-01T00:00:00Z"),
        {"kind": "Pod", "name": "web"},
        {"kind": "Pod", "name": "agent", "by": "DaemonSet"},
    ]
    taints = ["medik8s.io/drain:NoSchedule"]
    view = Drained(*rows, nodes=[node("node01", cordoned=REQUESTED, taints=taints), node("node02")])
    report = view.node()

    assert (report.cordoned, report.since, report.taints) == (True, REQUESTED, ("medik8s.io/drain",))
    assert [m.vm.name for m in report.vms] == ["c", "b", "d", "a"]
    assert report.counts == {"blocked": 1, "shuts_down": 1, "migrating": 1, "waiting": 1}
    assert (report.evacuated, report.running, report.others) == (1, 1, 1)
    limits = view.take().limits
    assert limits is not None
    assert (limits.per_cluster, limits.per_node, limits.running) == (5, 2, 1)
    assert drain.draining(view.engine.cluster) == ["node01"]


def test_what_would_leave_a_node_that_is_not_ready_stays() -> None:
    nodes = [node("node01", ready=False), node("node02")]
    assert Drained(*guest("a"), nodes=nodes).reported() == ("blocked", "NodeLost")
    assert Drained(*guest("a", **NONE), nodes=nodes).reported() == ("blocked", "NodeLost")
    view = Drained(nodes=nodes).take()
    assert (view.nodes[0].ready, drain.exit_code(view)) == (False, 0)


def test_every_vm_of_a_fleet_is_reported_once() -> None:
    view = Drained(nodes=[])
    for thing in sample_fleet(datetime.now(UTC)).objects:
        if thing["kind"] in view.kinds:
            view.seen(thing)
    vmis = [vmi for vmi in view.engine.cluster.all(VirtualMachineInstance) if vmi.node and not vmi.final]
    nodes = sorted(each.name for each in view.engine.cluster.all(Node))
    reports = view.take(*nodes).nodes
    reported = [(each.node, m.vm) for each in reports for m in each.vms if m.state != DrainState.ARRIVING]
    assert sorted((where, ref.path) for where, ref in reported if ref.kind == "VirtualMachineInstance") == sorted(
        (vmi.node, vmi.ref.path) for vmi in vmis
    )
    assert {m.state for each in reports for m in each.vms} >= {"blocked", "external", "migrating"}
    stays = [m for each in reports for m in each.vms if m.state in drain.STAYS]
    assert all(m.why and (m.next or m.state == DrainState.UNKNOWN) for m in stays)


def test_findings_of_evictions_stand_beside() -> None:
    view = Drained(*guest("a"), *guest("b"))
    subject = Ref("VirtualMachineInstance", "ns", "a", "u-a")
    of_a = Finding(
        check="evictions", reason="NotStarted", severity=Severity.WARNING, subject=subject, message="no move"
    )
    of_node = msgspec.structs.replace(of_a, reason="NodeDrainResidual", subject=Ref("Node", "", "node01"))
    other = msgspec.structs.replace(of_a, check="ipam_vms")
    (report,) = at_once(drain.steps(view.engine.cluster, ["node01"], [of_a, of_node, other], 0)).nodes
    assert [(m.vm.name, [each.reason for each in m.findings]) for m in report.vms] == [("a", ["NotStarted"]), ("b", [])]
    assert [each.reason for each in report.findings] == ["NodeDrainResidual"]


def test_an_empty_node_is_free_to_go() -> None:
    empty = Drained().take()
    assert (empty.nodes[0].vms, empty.nodes[0].counts, drain.exit_code(empty)) == ((), {}, 0)


def test_several_nodes_are_each_reported_and_a_node_that_is_not_there_is_not() -> None:
    drained = Drained(*guest("a"), *guest("b", node="node02")).take("node02", "node01", "nowhere", "node02")
    assert [(n.node, [m.vm.name for m in n.vms]) for n in drained.nodes] == [("node02", ["b"]), ("node01", ["a"])]


# -- what can't be seen


@pytest.mark.parametrize(
    ("unseen", "rows", "reported"),
    [
        ("PodDisruptionBudget", guest("a", **NONE), ("unknown", "")),
        ("PodDisruptionBudget", guest("a"), ("waiting", "")),
        ("VirtualMachineInstanceMigration", guest("a"), ("unknown", "")),
        ("VirtualMachineInstanceMigration", guest("a", migratable=False), ("blocked", "NotMigratable")),
        ("KubeVirt", guest("a", strategy=None), ("unknown", "")),
        ("KubeVirt", guest("a", **NONE), ("shuts_down", "WillShutDown")),
        ("EndpointSlice", guest("a"), ("waiting", "")),
    ],
)
def test_a_kind_that_can_not_be_seen_is_named_and_never_fine(
    unseen: str, rows: list[Row], reported: tuple[str, str]
) -> None:
    view = Drained(*rows)
    view.sync_state(unseen, SyncState.FORBIDDEN)
    assert view.reported() == reported
    assert [(each.kind, each.why != "") for each in view.take().unseen] == [(unseen, True)]
    assert drain.exit_code(view.take()) == 2


@pytest.mark.parametrize("unseen", ["Node", "Pod", "VirtualMachineInstance"])
def test_without_the_kinds_that_all_stands_on_nothing_is_said(unseen: str) -> None:
    view = Drained(*guest("a"))
    view.sync_state(unseen, SyncState.STALE)
    assert [each.kind for each in view.take().unseen] == [unseen]
    assert (view.take().nodes, drain.exit_code(view.take())) == ((), 2)


def test_an_object_that_can_not_be_read_may_be_on_the_node() -> None:
    undecodable: dict[str, Any] = {"kind": "Pod", "name": "odd", "namespace": "far", "undecodable": True}
    assert drain.exit_code(Drained(*guest("a"), undecodable).take()) == 2
    elsewhere = pdb("b", "a", namespace="far", undecodable=True)
    assert drain.exit_code(Drained(*guest("a"), elsewhere).take()) == 0
    near = Drained(*guest("a"), elsewhere | {"namespace": "ns"}).take()
    assert (drain.exit_code(near), [ref.name for ref in near.unread]) == (2, ["b"])


# -- which nodes


def test_nodes_by_name_by_label_and_those_that_are_cordoned() -> None:
    nodes = [node("a1", labels={"zone": "a"}), node("a2", labels={"zone": "a", "gpu": ""}), node("b1", cordoned=True)]
    cluster = Drained(nodes=nodes).engine.cluster
    assert drain.chosen_nodes(cluster, ["b1", "b1"]) == ["b1"]
    assert drain.chosen_nodes(cluster, [], selector_in("zone=a")) == ["a1", "a2"]
    assert drain.chosen_nodes(cluster, ["b1"], selector_in("zone=a,!gpu")) == ["b1", "a1"]
    assert drain.chosen_nodes(cluster, [], selector_in("zone!=a")) == ["b1"]
    assert drain.chosen_nodes(cluster, [], cordoned=True) == ["b1"]
    with pytest.raises(NotThereError, match="no node is called 'a3'; did you mean a"):
        drain.chosen_nodes(cluster, ["a3"])
    with pytest.raises(NotThereError, match="no node has the labels zone=c"):
        drain.chosen_nodes(cluster, [], selector_in("zone=c"))


@pytest.mark.parametrize("text", ["", "zone in a", "zone in (a, b", "!zone=a", "=a"])
def test_a_selector_that_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="is not a selector"):
        selector_in(text)


def test_commands_are_safe_to_paste() -> None:
    vm = Drained(*guest("a; reboot", migratable=False)).one()
    assert "virtctl restart -n ns NAME" in vm.commands
    assert "reboot" not in "".join(vm.commands)


def test_the_view_is_json() -> None:
    loaded = json.loads(msgspec.json.encode(Drained(*guest("a", migratable=False)).take()))
    assert set(loaded) == {"generation", "unseen", "unread", "webhook", "limits", "nodes", "notConsidered"}
    assert loaded["nodes"][0]["vms"][0]["vm"]["name"] == "a"
    assert loaded["limits"] == {"perCluster": 5, "perNode": 2, "running": 0}
    assert loaded["notConsidered"] == list(NOT_CONSIDERED)


def test_a_change_shows_at_once() -> None:
    view = Drained(*guest("a"))
    assert view.reported() == ("waiting", "")
    view.seen(full(guest("a", migratable=False)[0]))
    assert view.reported() == ("blocked", "NotMigratable")
    view.gone("VirtualMachineInstance", "ns", "a")
    assert view.reported() == ("blocked", "OrphanLauncherPod")
    view.gone("Pod", "ns", "virt-launcher-a")
    assert view.node().vms == ()


DISK = {"spec": {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "data"}}]}}


def hosts(*names: str) -> list[Row]:
    return [node(each, cordoned=each == "node01", labels={"kubernetes.io/hostname": each}) for each in names]


def test_a_volume_that_no_other_node_reaches_keeps_a_vm_on_its_node() -> None:
    drained = Drained(*guest("a", **DISK), volume("data", "node01"), nodes=hosts("node01", "node02", "node03"))
    one = drained.one()
    assert (str(one.state), one.reason) == ("blocked", "NoTarget")
    assert one.room == "2 nodes: 2 without access to its volumes"
    assert one.next.startswith("Check which nodes can use the VM's volumes")
    assert drain.exit_code(drained.take()) == 1

    healthy = Drained(*guest("a", **DISK), volume("data", "node03"), nodes=hosts("node01", "node02", "node03"))
    assert (str(healthy.one().state), healthy.one().target) == ("waiting", "node03")
    assert drain.exit_code(healthy.take()) == 0


def test_where_volumes_can_not_be_seen_a_vm_with_one_may_migrate() -> None:
    drained = Drained(*guest("a", **DISK), *guest("b"), nodes=hosts("node01", "node02"))
    drained.sync_state("PersistentVolume", SyncState.FORBIDDEN)
    states = {each.vm.name: (str(each.state), each.why) for each in drained.node().vms}
    assert states["a"][0] == "may_migrate"
    assert "if the node affinity of its volumes let it, which is not evaluated here" in states["a"][1]
    assert states["b"][0] == "waiting"
    assert [each.kind for each in drained.take().unseen] == ["PersistentVolume"]
    assert drain.exit_code(drained.take()) == 2


def test_a_volume_that_can_not_be_read_may_be_any() -> None:
    drained = Drained(*guest("a", **DISK), volume("data") | {"spec": 7}, nodes=hosts("node01", "node02"))
    assert str(drained.one().state) == "may_migrate"


def test_where_no_kubevirt_counts_nobody_is_said_to_migrate_for_certain() -> None:
    for kubevirt in ({"deleting": True}, {"over": {"status": {"phase": ""}}}):
        seen = Drained(*guest("a"), kubevirt=kubevirt).take()
        assert [(each.kind, "no KubeVirt object is deployed" in each.why) for each in seen.unseen] == [
            ("KubeVirt", True)
        ]
        assert drain.exit_code(seen) == 2
    second = {"kind": "KubeVirt", "name": "other", "namespace": "other"}
    assert drain.exit_code(Drained(*guest("a"), second).take()) == 2
    assert drain.exit_code(Drained(*guest("a")).take()) == 0
