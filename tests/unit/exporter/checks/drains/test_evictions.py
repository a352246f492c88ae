"""What findings on drains carry beside their reason, and a drain that makes progress throughout."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from functools import cache
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.domain.drains.departure import REMEDIES
from exporter.findings.advice import next_step
from exporter.findings.finding import Finding
from exporter.findings.severity import Severity
from tests.all_of import all_of, named, whole
from tests.check_cases import CASES_OF, evaluated, outcome
from tests.evaluation import NOW, Evaluation
from tests.rows import full
from tests.rules import plain
from tests.shared import REPO

CHECK = next(check for check in all_checks() if check.id == "evictions")
CASES = CASES_OF[CHECK]
DRAIN = ["medik8s.io/drain:NoSchedule"]
DRAINED = {"kind": "Node", "name": "node01", "cordoned": True, "taints": DRAIN}
REQUESTED = {
    "strategy": "LiveMigrate",
    "migratable": True,
    "evacuation": "node01",
    "evacuation_since": "2026-09-21T13:00:00Z",
}
EVACUATION = {"kind": "VirtualMachineInstanceMigration", "vmi": "db", "evacuates": "node01"}
BEGAN = "2026-09-21T13:10:00Z"


def one(reason: str, *rows: dict[str, Any]) -> Finding:
    found = evaluated(CHECK, {"given": list(rows)}).engine.findings()
    (finding,) = [each for each in found if each.reason == reason]
    return finding


def vmi(**more: Any) -> dict[str, Any]:
    return {"kind": "VirtualMachineInstance", "name": "db", "uid": "i1", **more}


def pod(name: str = "virt-launcher-db", **more: Any) -> dict[str, Any]:
    return {"kind": "Pod", "name": name, "domain": "db", "vmi": "i1", **more}


@pytest.mark.parametrize(
    ("cause", "rows"),
    [
        ("Quota", [{"name": "m", "phase": "Pending", "rejected": "migrationRejectedByResourceQuota"}]),
        ("Backup", [{"name": "m", "phase": "Pending", "rejected": "migrationBlockedByBackup"}]),
        ("UtilityVolumes", [{"name": "m", "phase": "Pending", "rejected": "migrationBlockedByUtilityVolumes"}]),
        ("MultiplePods", [{"name": "m", "phase": "Pending"}, pod("virt-launcher-db-left", node="node02")]),
        ("Backoff", [{"name": "m0", "phase": "Failed"}, {"name": "m", "phase": "Pending", "created": BEGAN}]),
        ("Unhandled", [{"name": "m"}]),
    ],
)
def test_a_migration_that_is_held_up_says_by_what(cause: str, rows: list[dict[str, Any]]) -> None:
    made = [row if "kind" in row else {**EVACUATION, "created": "2026-09-21T13:05:00Z", **row} for row in rows]
    finding = one("MigrationPending", DRAINED, vmi(**REQUESTED), pod(), *made)

    assert finding.evidence["cause"] == cause
    assert finding.evidence["migration"] == "m"
    assert finding.next
    assert finding.commands


PREPARES = "virt-handler on node02 to prepare the target"
DEAD = {"kind": "Node", "name": "node02", "ready": False}
HANDLER = {"kind": "Pod", "namespace": "kubevirt", "by": "DaemonSet", "labels": {"kubevirt.io": "virt-handler"}}


@pytest.mark.parametrize(
    ("phase", "cause", "waits", "rows"),
    [
        ("PreparingTarget", "TargetHandler", f"{PREPARES} (pod h2 is not Ready)", [{"node": "node02", "ready": False}]),
        ("PreparingTarget", "TargetHandler", f"{PREPARES} (pod h2 is Ready)", [{"node": "node02"}]),
        ("PreparingTarget", "TargetHandler", f"{PREPARES} (no pod of it is seen there)", []),
        ("PreparingTarget", "TargetNode", f"{PREPARES} (node node02 is not Ready)", [{"node": "node02"}, DEAD]),
        (
            "TargetReady",
            "SourceHandler",
            "virt-handler on node01 to start it (pod h1 is not Ready)",
            [{"ready": False}],
        ),
        ("Scheduled", "Unhandled", "virt-controller to hand it over to the target", []),
        ("Scheduling", "Containers", "the containers of target pod b on node02 to start", []),
        ("Pending", "Volumes", "the pods of the hotplugged volumes on node02", [{"kind": "Pod", "hotplug": "a"}]),
    ],
)
def test_a_migration_that_hangs_says_for_whom_it_waits(
    phase: str, cause: str, waits: str, rows: list[dict[str, Any]]
) -> None:
    state = {"migrationUid": "m", "sourceNode": "node01", "targetNode": "node02"}
    own = EVACUATION | {"name": "m", "uid": "m", "phase": phase, "created": BEGAN, "phaseSince": BEGAN}
    there = [pod("a"), pod("b", node="node02", migration="m"), {"kind": "Node", "name": "node02"}, *rows]
    named = [{"name": f"h{row.get('node', 'node01')[-1]}"} | (row if "kind" in row else HANDLER | row) for row in there]
    finding = one("MigrationHanging", DRAINED, vmi(**REQUESTED, migration=state), own, *named)

    assert finding.message == f"Migration m is in phase {phase} and waits for {waits}."
    assert (finding.since, finding.since_source) == (1789996200.0, "phaseTransition")
    assert (finding.evidence["cause"], finding.evidence["phase"]) == (cause, phase)
    assert (finding.evidence["targetPod"], finding.evidence["targetNode"]) == ("b", "node02")
    assert {each.kind for each in finding.related} == {"VirtualMachineInstanceMigration", "Pod"}
    ready = [row.get("ready", True) for row in rows if "node" in row or "ready" in row]
    handled = cause == "SourceHandler" or phase == "PreparingTarget"
    assert finding.evidence.get("virtHandlerReady") == (ready[0] if handled and ready else None)


@pytest.mark.parametrize(
    ("phase", "rows", "does"),
    [
        (
            "PreparingTarget",
            [HANDLER | {"node": "node02"}],
            "virt-handler on node node02 back, or delete its pod to restart it",
        ),
        ("PreparingTarget", [DEAD], "switch the host off first, then delete the node"),
        ("PreparingTarget", [], "kube-controller-manager, which deletes pods of a deleted node"),
        ("TargetReady", [], "virt-handler on node node01 back, or delete its pod to restart it"),
        ("TargetReady", [DRAINED | {"ready": False}], "Bring node node01 back"),
        ("Scheduling", [{"kind": "Node", "name": "node02"}], "the containers of target pod b"),
    ],
)
def test_the_next_step_of_what_hangs_suits_its_node(phase: str, rows: list[dict[str, Any]], does: str) -> None:
    """Guests may still run on a host that is lost: its node is deleted once that is off."""
    state = {"migrationUid": "m", "sourceNode": "node01", "targetNode": "node02"}
    own = EVACUATION | {"name": "m", "uid": "m", "phase": phase, "created": BEGAN, "phaseSince": BEGAN}
    there = [{"name": "h"} | row for row in rows]
    if phase == "PreparingTarget" and rows and rows[0]["kind"] == "Pod":
        there.append({"kind": "Node", "name": "node02"})
    pods = (pod("a"), pod("b", node="node02", migration="m"))
    finding = one("MigrationHanging", DRAINED, vmi(**REQUESTED, migration=state), own, *pods, *there)

    assert does in finding.next


@pytest.mark.parametrize(
    ("phase", "deleted"),
    [
        ("Scheduling", "The migration was deleted, but virt-controller has not ended it"),
        ("Scheduled", "The migration was deleted, but virt-controller has not ended it"),
        ("PreparingTarget", "The migration was deleted, which takes effect once it runs"),
        ("TargetReady", "The migration was deleted, which takes effect once it runs"),
        ("Running", "The migration was deleted, but has not been aborted"),
    ],
)
def test_what_hangs_and_was_deleted_says_what_that_comes_to(phase: str, deleted: str) -> None:
    """virt-controller ends what it has not handed over at once."""
    state = {"migrationUid": "m", "sourceNode": "node01", "targetNode": "node02"}
    own = EVACUATION | {
        "name": "m",
        "uid": "m",
        "phase": phase,
        "created": BEGAN,
        "phaseSince": BEGAN,
        "deleting": True,
    }
    handler = HANDLER | {"name": "h", "node": "node01", "ready": False}
    pods = (pod("a"), pod("b", node="node02", migration="m"), {"kind": "Node", "name": "node02"})
    finding = one("MigrationHanging", DRAINED, vmi(**REQUESTED, migration=state), own, *pods, handler)

    assert finding.message.endswith(f". {deleted}.")


def test_what_hangs_is_looked_at_again_when_virt_handler_or_the_node_of_the_target_changes() -> None:
    state = {"migrationUid": "m", "sourceNode": "node01", "targetNode": "node02"}
    own = EVACUATION | {"name": "m", "uid": "m", "phase": "PreparingTarget", "phaseSince": BEGAN}
    handler = HANDLER | {"name": "h", "node": "node02"}
    evaluation = watched(DRAINED, vmi(**REQUESTED, migration=state), own, handler, {"kind": "Node", "name": "node02"})

    def waits() -> str:
        evaluation.evaluate()
        (found,) = [each for each in evaluation.engine.findings() if each.reason == "MigrationHanging"]
        return found.message.partition("(")[2].removesuffix(".")

    assert waits() == "pod h is Ready)"
    evaluation.seen(full(handler | {"ready": False}))
    assert waits() == "pod h is not Ready)"
    evaluation.gone("Pod", "kubevirt", "h")
    assert waits() == "no pod of it is seen there)"
    evaluation.gone("Node", "", "node02")
    assert waits() == "node node02 does not exist)"


@pytest.mark.parametrize(
    ("cause", "pdb"),
    [
        ("SyncFailed", {"maxUnavailable": 1, "refused": "SyncFailed"}),
        ("MinAvailableTooHigh", {"minAvailable": 1, "healthy": 1, "desired": 1, "expected": 1}),
        ("InsufficientPods", {"minAvailable": 1, "healthy": 1, "desired": 1, "expected": 2}),
        ("Behind", {"minAvailable": 1, "allowed": 1, "generation": 2}),
    ],
)
def test_a_pdb_that_refuses_says_why(cause: str, pdb: dict[str, Any]) -> None:
    row = {"kind": "PodDisruptionBudget", "name": "keep", "selector": {}, **pdb}
    finding = one("UserPDB", DRAINED, vmi(strategy="None"), pod(), row)

    assert (finding.evidence["cause"], finding.evidence["pdb"]) == (cause, "keep")


@pytest.mark.parametrize(
    ("own", "default", "source", "strategy"),
    [
        ("LiveMigrate", "None", "vmi", "LiveMigrate"),
        (None, "LiveMigrate", "kubevirt", "LiveMigrate"),
        (None, None, "builtin", "None"),
    ],
)
def test_it_says_where_the_strategy_comes_from(
    own: str | None, default: str | None, source: str, strategy: str
) -> None:
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "strategy": default}
    requested = {**REQUESTED, "strategy": own, "migratable": False}
    reason = "NotMigratableAfterRequest" if strategy == "LiveMigrate" else "RequestWithUnmanagedStrategy"
    evidence = one(reason, kubevirt, vmi(**requested)).evidence

    assert (evidence["strategySource"], evidence["strategy"]) == (source, strategy)


def test_hotplug_pods_and_the_request_are_reported_with_the_vm() -> None:
    plugged = {"kind": "Pod", "name": "hp-volume-x", "hotplug": "virt-launcher-db"}
    finding = one("NotMigratableAfterRequest", vmi(**REQUESTED | {"migratable": False}), pod(), plugged)

    assert finding.evidence["hotplugPods"] == ["hp-volume-x"]
    assert finding.evidence["requestedSince"] == "2026-09-21T13:00:00Z"
    assert finding.evidence["requestedSinceSource"] == "condition"


def test_a_controller_may_say_how_long_it_waits() -> None:
    (finding,) = evaluated(CHECK, CASES["external_whose_controller_has_a_deadline"]).engine.findings()
    assert finding.evidence["handler"] == "capi/worker-1"
    assert finding.evidence["deadline"] == "2026-09-21T14:03:20Z"
    assert "deadline 2026-09-21T14:03:20Z" in finding.message


def test_before_1_7_the_oldest_attempt_gives_the_start_of_the_request() -> None:
    requested = {key: value for key, value in REQUESTED.items() if key != "evacuation_since"}
    tried = [{**EVACUATION, "name": f"m{n}", "phase": "Failed", "created": f"2026-09-21T13:0{n}:00Z"} for n in (1, 5)]
    finding = one("MigrationFailing", DRAINED, vmi(**requested), *tried)

    assert finding.since == datetime(2026, 9, 21, 13, 1, tzinfo=UTC).timestamp()
    assert finding.since_source == "creationTimestamp"


@pytest.mark.parametrize(
    ("case", "words"),
    [
        ("drain_was_given_up_and_its_migrations_fail", "If the drain was given up, cancel the evacuation request"),
        ("requested_by_the_descheduler_and_its_migrations_fail", "Check the message of the last failed migration"),
        ("requested_for_a_node_that_it_is_not_on", "Cancel the evacuation request for node node01"),
        ("requested_for_a_node_that_is_gone", "Migrate the VMI once more"),
        ("two_in_a_row_failed_and_the_next_waits", "Give each node a system UUID of its own"),
    ],
)
def test_the_next_step_is_the_one_that_works(case: str, words: str) -> None:
    found = [each for each in evaluated(CHECK, CASES[case]).engine.findings() if each.severity is Severity.WARNING]
    assert found
    assert all(each.next.startswith(words) for each in found)


@cache
def code(runbook: str) -> list[str]:
    text = (REPO / f"rules/runbooks/{runbook}.md").read_text(encoding="utf-8")
    return [plain(block) for block in re.findall(r"^```sh.*?\n(.*?)^```", text, flags=re.S | re.M)]


@all_of(named(REMEDIES, str), whole)
def test_every_remedy_says_what_to_do_in_the_words_of_the_runbook(key: str) -> None:
    remedy, reason = REMEDIES[key], CHECK.reasons.get(key.partition("/")[0])
    assert next_step(remedy, {}).endswith(".")
    assert remedy.commands
    runbooks = [reason.alert] if reason and reason.alert else []
    for command in remedy.commands:
        assert "--disable-eviction" not in command
        assert all(any(plain(command) in block for block in code(each)) for each in runbooks), command


@all_of(named(CHECK.reasons, str), whole)
def test_every_reason_has_a_next_step_its_commands_and_a_runbook_unless_it_only_informs(name: str) -> None:
    reason = CHECK.reasons[name]
    assert reason.next
    assert reason.commands
    assert bool(reason.alert) == (reason.severities[0] is not Severity.INFO)
    for command in reason.commands if reason.alert else ():
        assert any(plain(command) in block for block in code(reason.alert)), command


@all_of(named(CASES, str), whole)
def test_no_command_of_a_finding_has_a_word_left_to_fill_in(name: str) -> None:
    for finding in outcome(CHECK, name).findings:
        assert finding.next
        assert finding.commands
        for text in (finding.next, *finding.commands):
            assert not re.search(
                r"\b(NAMESPACE|NAME|VMNAME|NODE|TARGETNODE|TARGETPOD|UID|PDB|EVACUATIONNODENAME)\b", text
            ), finding
        assert "next" not in finding.evidence


def opened(evaluation: Evaluation) -> set[str]:
    evaluation.evaluate()
    return {each.reason for each in evaluation.engine.findings()}


def watched(*rows: dict[str, Any], initial: bool = False) -> Evaluation:
    evaluation = Evaluation([CHECK], initial=initial)
    for row in rows:
        evaluation.seen(full(row))
    return evaluation


STUCK = vmi(strategy="LiveMigrate", migratable=False)


@pytest.mark.parametrize("initial", [False, True])
def test_a_drain_has_stalled_after_half_an_hour_whether_that_was_watched_or_not(initial: bool) -> None:
    node = {"kind": "Node", "name": "node01", "cordoned": "2026-09-21T13:53:20Z", "taints": DRAIN}
    evaluation = watched(node, STUCK, pod(), initial=initial)
    assert "NodeDrainStalled" not in opened(evaluation)  # after twenty minutes
    evaluation.now += 599
    assert "NodeDrainStalled" not in opened(evaluation)
    evaluation.now += 2
    assert "NodeDrainStalled" in opened(evaluation)
    (stalled,) = [each for each in evaluation.engine.findings() if each.reason == "NodeDrainStalled"]
    assert stalled.since == datetime(2026, 9, 21, 13, 53, 20, tzinfo=UTC).timestamp()
    assert stalled.since_source == "timeAdded"


@pytest.mark.parametrize("initial", [False, True])
def test_a_drain_of_which_nothing_tells_the_time_has_stalled_once_that_was_watched(initial: bool) -> None:
    evaluation = watched(DRAINED, STUCK, pod(), initial=initial)
    assert "NodeDrainStalled" not in opened(evaluation)
    evaluation.now += 1799
    assert "NodeDrainStalled" not in opened(evaluation)
    evaluation.now += 2
    assert "NodeDrainStalled" in opened(evaluation)


@pytest.mark.parametrize("initial", [False, True])
@pytest.mark.parametrize("cordoned", [True, "2026-09-21T14:13:20Z"])
def test_a_cordon_becomes_a_warning_after_an_hour_and_never_a_drain(cordoned: bool | str, initial: bool) -> None:
    node = {"kind": "Node", "name": "node01", "cordoned": cordoned}
    evaluation = watched(node, STUCK, pod(), {"kind": "Pod", "name": "ds", "by": "DaemonSet"}, initial=initial)
    assert opened(evaluation) == {"NotMigratableIfDrained"}
    evaluation.now += 3599
    assert opened(evaluation) == {"NotMigratableIfDrained"}
    evaluation.now += 2
    assert opened(evaluation) == {"NotMigratableIfDrained", "NotMigratableWhileCordoned"}
    (warning,) = [each for each in evaluation.engine.findings() if each.severity is Severity.WARNING]
    assert "would reject its evictions" in warning.message
    assert warning.remediation == "stop_blocked_vmi"  # which only proposes, since nothing proves a drain


def test_before_1_9_the_turn_of_a_vm_may_have_come_lately_but_not_before_it_was_asked() -> None:
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "version": "v1.8.2"}
    lately = vmi(**REQUESTED | {"evacuation_since": "2026-09-21T14:12:20Z"})
    first = watched(DRAINED, kubevirt, lately, initial=True)
    assert "NotStarted" not in opened(first)  # asked a minute ago
    first.now += 59
    assert "NotStarted" not in opened(first)
    first.now += 62
    assert {"NotStarted", "NodeDrainResidual"} == opened(first)
    (waits,) = [each for each in first.engine.findings() if each.reason == "NotStarted"]
    assert (waits.since, waits.since_source) == (NOW, "firstSeen")

    long_ago = watched(DRAINED, kubevirt)
    opened(long_ago)
    long_ago.seen(full(vmi(**REQUESTED)))
    assert "NotStarted" not in opened(long_ago)  # it may have been another one's turn until now
    long_ago.now += 121
    assert "NotStarted" in opened(long_ago)
    assert "NodeDrainStalled" not in opened(long_ago)
    long_ago.now += 1800
    assert "NodeDrainStalled" in opened(long_ago)


def test_a_drain_has_stalled_since_the_last_of_its_vms_was_blocked() -> None:
    node = {"kind": "Node", "name": "node01", "cordoned": "2026-09-21T12:00:00Z"}
    web = {"kind": "VirtualMachineInstance", "name": "web", "uid": "i2", **REQUESTED}
    finding = one("NodeDrainStalled", node, STUCK, pod(), web)
    assert finding.since == datetime(2026, 9, 21, 13, tzinfo=UTC).timestamp()
    assert finding.since_source == "condition"


def test_nobody_says_at_the_first_look_that_a_migration_waits_for_an_hour() -> None:
    tainted = {"kind": "Node", "name": "node01", "taints": ["kubevirt.io/drain:NoSchedule"]}
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.0"}
    limits = {"migrations": {"parallelOutboundMigrationsPerNode": 1}}
    runs = {**EVACUATION, "name": "m", "vmi": "web", "phase": "Running"}
    web = {"kind": "VirtualMachineInstance", "name": "web", "uid": "i2"}
    able = {"strategy": "LiveMigrate", "migratable": True}
    evaluation = watched(kubevirt | limits, tainted, vmi(**able), pod(), web | able, runs, initial=True)
    assert opened(evaluation) == {"MigrationQueued", "NodeDrainResidual"}
    evaluation.now += 3601
    assert opened(evaluation) == {"MigrationQueued", "MigrationOverdue", "NodeDrainResidual"}


def test_before_1_9_its_turn_begins_when_another_migration_has_ended() -> None:
    """It was asked long ago: only how long there was room for it says that nobody migrates it."""
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.8.0"}
    limits = {"migrations": {"parallelMigrationsPerCluster": 1}}
    runs = {"kind": "VirtualMachineInstanceMigration", "name": "m", "vmi": "web", "phase": "Running"}
    web = {"kind": "VirtualMachineInstance", "name": "web", "uid": "i2", "node": "node02"}
    evaluation = watched(kubevirt | limits, DRAINED, vmi(**REQUESTED), pod(), web, runs)
    assert "MigrationQueued" in opened(evaluation)
    evaluation.seen(full(runs | {"phase": "Succeeded"}))
    assert "NotStarted" not in opened(evaluation)
    evaluation.now += 121
    assert "NotStarted" in opened(evaluation)


def test_before_1_7_the_writer_of_the_request_gives_its_start() -> None:
    """Rather than the oldest attempt: KubeVirt keeps five."""
    requested = {key: value for key, value in REQUESTED.items() if key != "evacuation_since"}
    tried = [{**EVACUATION, "name": f"m{n}", "phase": "Failed", "created": f"2026-09-21T13:0{n}:00Z"} for n in (1, 5)]
    written = {"evacuation_written": "2026-09-21T12:30:00Z"}
    finding = one("MigrationFailing", DRAINED, vmi(**requested, **written), *tried)

    assert finding.since == datetime(2026, 9, 21, 12, 30, tzinfo=UTC).timestamp()
    assert finding.since_source == "managedFields"
    assert finding.evidence["requestedSinceSource"] == "managedFields"


@pytest.mark.parametrize(
    ("cause", "rows"),
    [
        ("NotRetried", [{**EVACUATION, "name": "m", "phase": "Failed", "created": BEGAN}]),
        ("MultiplePods", [pod("virt-launcher-db-left", node="node02")]),
        ("", []),
    ],
)
def test_what_keeps_a_migration_from_being_made_is_said(cause: str, rows: list[dict[str, Any]]) -> None:
    kubevirt = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.9.0"}
    finding = one("NotStarted", kubevirt, DRAINED, vmi(**REQUESTED), pod(), *rows)
    assert finding.evidence.get("cause", "") == cause
    assert finding.since == datetime(2026, 9, 21, 13, 10 if cause == "NotRetried" else 0, tzinfo=UTC).timestamp()


def test_a_migration_that_never_ended_is_said_with_what_replaces_it() -> None:
    state = {"migrationUid": "m", "startTimestamp": "2026-09-21T13:20:00Z"}
    finding = one("NotStarted", DRAINED, vmi(**REQUESTED, migration=state), pod())
    assert finding.evidence["cause"] == "NotEnded"
    assert "according to its status it has been migrating since 2026-09-21T13:20:00Z" in finding.message
    assert finding.since == datetime(2026, 9, 21, 13, 20, tzinfo=UTC).timestamp()
    assert any("vmiName: db" in each for each in finding.commands)


class Drain:
    """A drain of a node with VMs, as KubeVirt does it, on a clock of its own."""

    def __init__(self, vms: int) -> None:
        self.evaluation = Evaluation([CHECK], initial=False)
        self.names = [f"vm-{number}" for number in range(vms)]
        self.put({"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.9.0"})
        for node in ("node01", "node02"):
            self.put(
                {"kind": "Node", "name": node}, {"kind": "Pod", "name": f"ds-{node}", "node": node, "by": "DaemonSet"}
            )
        for name in self.names:
            self.put(self.vm(name), {**pod(f"virt-launcher-{name}-a"), "domain": name, "vmi": f"uid-{name}"})

    def vm(self, name: str, **more: Any) -> dict[str, Any]:
        base = {"kind": "VirtualMachineInstance", "name": name, "uid": f"uid-{name}", "strategy": "LiveMigrate"}
        return {**base, "migratable": True, **more}

    def put(self, *rows: dict[str, Any], wait: float = 0) -> None:
        for row in rows:
            self.evaluation.seen(full(row))
        self.evaluation.now += wait
        self.evaluation.evaluate()
        worse = [each for each in self.evaluation.engine.findings() if each.severity is not Severity.INFO]
        assert not worse, worse

    def stamp(self) -> str:
        return datetime.fromtimestamp(self.evaluation.now, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def migrate(self, name: str, requested: str) -> None:
        own = {"kind": "VirtualMachineInstanceMigration", "name": f"m-{name}", "vmi": name, "evacuates": "node01"}
        target = {**pod(f"virt-launcher-{name}-b"), "domain": name, "vmi": f"uid-{name}", "node": "node02"}
        going = {
            "evacuation": "node01",
            "evacuation_since": requested,
            "migration": {"migrationUid": "m", "startTimestamp": self.stamp()},
        }
        self.put({**own, "phase": "Scheduling", "created": requested}, wait=5)
        self.put({**target, "phase": "Pending"}, wait=20)
        self.put({**own, "phase": "Running", "created": requested}, target, self.vm(name, **going), wait=60)
        self.put(self.vm(name, **going, node="node02"), wait=5)
        self.put(self.vm(name, node="node02"), {**own, "phase": "Succeeded", "created": requested}, wait=5)
        self.evaluation.gone("Pod", "ns", f"virt-launcher-{name}-a")
        self.put()


def test_a_drain_that_makes_progress_has_nothing_above_info() -> None:
    drain = Drain(vms=12)
    drain.put(DRAINED, wait=2)
    requested = drain.stamp()
    for name in drain.names:
        own = {"kind": "VirtualMachineInstanceMigration", "name": f"m-{name}", "vmi": name, "evacuates": "node01"}
        drain.put(drain.vm(name, evacuation="node01", evacuation_since=requested), wait=1)
        drain.put({**own, "created": requested}, wait=1)
        drain.put({**own, "phase": "Pending", "created": requested})
    for name in drain.names:
        drain.migrate(name, requested)

    assert drain.evaluation.now - NOW > 1000
    assert not list(drain.evaluation.engine.findings())
