"""What a change would do: the same as making it, and what can't be said is said."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime

import msgspec
import pytest

from demo.fleet.sample import sample_fleet
from exporter.checks import all_checks
from exporter.engine.engine import Engine
from exporter.engine.evaluate import at_once
from exporter.facts.record import Ref
from exporter.questions.impact import Impact, ProposedChange, deletion, exit_code, steps, without
from exporter.questions.question import NotThereError
from exporter.store.kind import ApiKind
from exporter.store.kinds import network_attachment_definition, virtual_machine, virtual_machine_instance
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.overlay import Edit
from exporter.store.source import SyncState, Undecodable

from ....amounts import drawn, rounds
from ....evaluation import NOW, Evaluation
from ....impacts import ROLES, differences, evaluation_of, make, open_in, sized, taken
from ....rows import full

NAD = network_attachment_definition.KIND
KINDS = {kind.record: None for check in all_checks() for kind in check.reads if isinstance(kind, ApiKind)}
# Of an impact no grace is awaited.
AT_ONCE = [
    replace(check, reasons={name: replace(reason, grace=0.0) for name, reason in check.reasons.items()})
    for check in all_checks()
]


def sample() -> Evaluation:
    evaluation = Evaluation(AT_ONCE)
    for thing in sample_fleet(datetime.fromtimestamp(NOW, UTC)).objects:
        if thing["kind"] in evaluation.kinds:
            evaluation.seen(thing)
    evaluation.evaluate()
    return evaluation


def impact_of(engine: Engine, *edits: Edit) -> Impact:
    return taken(engine, ProposedChange(("a change",), edits))


def said(impact: Impact) -> list[tuple[str, str, str, str, str]]:
    """Of the addresses of VMs."""
    return [
        (each.change, each.finding.reason, each.finding.subject.path, each.severity_before, each.finding.severity)
        for each in impact.findings
        if each.finding.check.startswith("ipam")
    ]


# -- as if it were made


def does_what_making_it_does(evaluation: Evaluation, edits: list[Edit]) -> Impact:
    engine = evaluation.engine
    before, version = open_in(engine), engine.cluster.version
    impact = impact_of(engine, *edits)
    assert (open_in(engine), engine.cluster.version) == (before, version)

    for edit in edits:
        make(engine, edit)
    evaluation.evaluate()
    after = open_in(engine)
    assert differences(impact) == (
        {key: severity for key, severity in before.items() if after.get(key) != severity},
        {key: severity for key, severity in after.items() if before.get(key) != severity},
    )
    return impact


def removed(evaluation: Evaluation, refs: Iterable[Ref]) -> list[Edit]:
    return [Edit(evaluation.kinds[each.kind].record, each.namespace, each.name) for each in refs]


@drawn
@pytest.mark.parametrize("seed", range(rounds(2, 8)))
def test_the_impact_is_what_making_the_change_does(seed: int) -> None:
    evaluation = sample()
    cluster = evaluation.engine.cluster
    every = [record.ref for kind in KINDS for record in cluster.all(kind)]
    edits = removed(evaluation, random.Random(seed).sample(sorted(every), 8))
    if seed % 2:
        edits += [Edit.put(msgspec.structs.replace(each, version="v1.5.0")) for each in cluster.all(KubeVirt)]
    does_what_making_it_does(evaluation, edits)


@drawn
@pytest.mark.parametrize("seed", range(rounds(3, 12)))
def test_the_impact_of_deleting_instancetypes_and_preferences_is_what_deleting_them_does(seed: int) -> None:
    dice = random.Random(seed)
    evaluation = evaluation_of(*sized(dice))
    cluster = evaluation.engine.cluster
    kinds = [evaluation.kinds[kind].record for pair in ROLES.values() for kind in pair]
    every = sorted(record.ref for kind in kinds for record in cluster.all(kind))
    impact = does_what_making_it_does(evaluation, removed(evaluation, dice.sample(every, 3)))
    assert impact.counts["breaks"] + impact.counts["safe"] > 0
    (kubevirt,) = cluster.all(KubeVirt)
    # Which features are allowed depends on the version.
    assert {each.check for each in impact.unknown} <= ({"feature_mismatch"} if not kubevirt.version else set())


CLAIM = {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.5/16"]}
WITH_CLAIM = (
    {"kind": "NetworkAttachmentDefinition", "name": "blue"},
    {"kind": "VirtualMachine", "name": "db", "uid": "u1", "networks": {"blue": "blue"}},
    {"kind": "IPAMClaim", "name": "db.blue", "vm": "db", "owner": "u1", "ips": ["10.0.0.5/16"]},
    {"kind": "VirtualMachine", "name": "web", "uid": "u2", "networks": {"pod": "pod"}},
    {"kind": "KubeVirt", "name": "kubevirt", "version": "v1.7.1"},
)


def without_vm(evaluation: Evaluation) -> ProposedChange:
    return deletion(evaluation.engine.cluster, [(virtual_machine.KIND, "ns", "db")])


def test_what_appears_is_a_finding_like_any_other_and_counted_by_namespace() -> None:
    evaluation = evaluation_of(*WITH_CLAIM)
    impact = taken(evaluation.engine, without_vm(evaluation))
    assert impact.changes == ("VirtualMachine ns/db is deleted",)
    assert said(impact) == [("appears", "OrphanClaim", "ns/db.blue", "", "warning")]
    affected = impact.findings[0]
    assert affected.finding.next
    assert affected.finding.commands
    assert affected.finding.runbook
    # Its firmware UUID identifies nobody any more.
    assert (affected.outcome, impact.counts) == ("worse", {"breaks": 0, "worse": 1, "safe": 0, "other": 1})
    assert [(each.namespace, each.worse, each.other) for each in impact.namespaces] == [("ns", 1, 1)]
    assert exit_code(impact) == 1


def test_what_goes_makes_nothing_worse() -> None:
    running = {"kind": "VirtualMachineInstance", "name": "db", "vm": "u1", "networks": {"blue": "blue"}}
    evaluation = evaluation_of(*WITH_CLAIM[:2], running)
    assert "MissingClaim" in {reason for _, _, reason, _ in evaluation.found()}
    kinds = virtual_machine.KIND, virtual_machine_instance.KIND
    gone = [(kind, "ns", "db") for kind in kinds]
    impact = taken(evaluation.engine, deletion(evaluation.engine.cluster, gone))
    assert ("goes", "MissingClaim", "ns/db", "warning", "warning") in said(impact)
    assert {change for change, *_ in said(impact)} == {"goes"}
    assert exit_code(impact) == 0


def test_of_many_findings_the_worst_are_named_and_all_are_counted() -> None:
    claims = [CLAIM | {"name": f"db.n{at}"} for at in range(7)]
    evaluation = evaluation_of(*WITH_CLAIM, *claims)
    impact = taken(evaluation.engine, without_vm(evaluation), 3)
    assert [each.outcome for each in impact.findings] == ["worse"] * 3
    assert (impact.counts["worse"], impact.left_out) == (8, sum(impact.counts.values()) - 3)


# -- what can't be said


def test_while_a_kind_can_not_be_seen_nothing_is_said_of_it_and_that_is_said() -> None:
    evaluation = evaluation_of(*WITH_CLAIM)
    evaluation.sync_state("IPAMClaim", SyncState.FORBIDDEN)
    impact = taken(evaluation.engine, without_vm(evaluation))
    assert [(each.check, each.partition) for each in impact.unknown if each.check == "ipam_claims"] == [
        ("ipam_claims", "")
    ]
    assert (said(impact), exit_code(impact)) == ([], 2)


def test_what_is_to_be_deleted_and_can_not_be_seen_is_unknown_and_not_missing() -> None:
    evaluation = evaluation_of()
    evaluation.sync_state("VirtualMachine", SyncState.FORBIDDEN)
    impact = taken(evaluation.engine, without_vm(evaluation))
    assert {"ipam_claims", "ipam_vms"} <= {each.check for each in impact.unknown}
    assert exit_code(impact) == 2


def test_an_undecodable_object_may_be_concerned_too() -> None:
    evaluation = evaluation_of(*WITH_CLAIM, CLAIM | {"name": "x", "namespace": "other", "undecodable": True})
    impact = taken(evaluation.engine, without_vm(evaluation))
    assert [each.why for each in impact.unknown if each.check == "ipam_claims"] == [
        next(evaluation.engine.cluster.all(Undecodable)).sentence
    ]
    assert {each.partition for each in impact.unknown} == {"other"}
    assert exit_code(impact) == 2


def test_an_undecodable_object_of_another_namespace_does_not_count_where_only_one_does() -> None:
    evaluation = evaluation_of(*WITH_CLAIM, CLAIM | {"name": "x", "namespace": "other", "undecodable": True})
    proposal = deletion(evaluation.engine.cluster, [(virtual_machine.KIND, "ns", "db")], local=True)
    impact = taken(evaluation.engine, proposal)
    assert impact.unknown == ()
    assert exit_code(impact) == 1


def test_a_disabled_check_says_nothing_and_is_named() -> None:
    evaluation = evaluation_of(*WITH_CLAIM, lacking="ipam_claims")
    impact = taken(evaluation.engine, without_vm(evaluation))
    assert [(each.check, each.why) for each in impact.unknown] == [("ipam_claims", "the check is disabled")]
    assert exit_code(impact) == 2


def test_what_changes_meanwhile_counts_as_it_is_then() -> None:
    claims = [CLAIM | {"name": f"db.n{at}"} for at in range(90)]
    evaluation = evaluation_of(*WITH_CLAIM, *claims)
    work = steps(evaluation.engine, without_vm(evaluation))
    next(work)
    evaluation.gone("VirtualMachine", "ns", "web")
    for at in range(90):
        evaluation.gone("IPAMClaim", "ns", f"db.n{at}")
    assert [row[2] for row in said(at_once(work))] == ["ns/db.blue"]


def test_a_cluster_that_never_stands_still_gets_an_answer_all_the_same() -> None:
    vms = [{"kind": "VirtualMachine", "name": f"vm{at:03}", "instancetype": {"name": "a"}} for at in range(450)]
    evaluation = evaluation_of({"kind": "VirtualMachineClusterInstancetype", "name": "a"}, *vms)
    work = steps(evaluation.engine, without(evaluation.engine.cluster, ["a"]))
    for at in range(8):  # in the midst of finding who is concerned, and of evaluating
        next(work)
        evaluation.gone("VirtualMachine", "ns", f"vm{449 - at}")
    impact = at_once(work)
    breaks = {each.finding.subject.name for each in impact.findings if each.outcome == "breaks"}
    assert breaks == {f"vm{at:03}" for at in range(442)}


def test_a_change_of_everything_while_objects_come_and_go() -> None:
    vms = [{"kind": "VirtualMachine", "name": f"vm{at:03}"} for at in range(450)]
    evaluation = evaluation_of({"kind": "KubeVirt", "name": "kubevirt", "version": "v1.7.1"}, *vms)
    (kubevirt,) = evaluation.engine.cluster.all(KubeVirt)
    edit = Edit.put(msgspec.structs.replace(kubevirt, version="v1.5.0"))
    work = steps(evaluation.engine, ProposedChange(("KubeVirt is another version",), (edit,)))
    for at in range(8):
        next(work)
        for more in range(300 if at < 3 else 1):
            evaluation.seen(full({"kind": "VirtualMachine", "name": f"new{at}-{more}"}))
        evaluation.gone("VirtualMachine", "ns", f"vm{449 - at}")
    impact = at_once(work)
    assert not {f"vm{449 - at}" for at in range(8)} & {each.finding.subject.name for each in impact.findings}
    assert impact.unknown == ()


# -- what is not there


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("web2", "there is no VirtualMachine 'ns/web2'; did you mean ns/web?"),
        ("x" * 300, f"there is no VirtualMachine 'ns/{'x' * 253}'; there are ns/db, ns/web"),
    ],
)
def test_what_is_not_there_is_one_sentence_with_the_nearest_name(name: str, sentence: str) -> None:
    evaluation = evaluation_of(*WITH_CLAIM)
    with pytest.raises(NotThereError) as raised:
        deletion(evaluation.engine.cluster, [(virtual_machine.KIND, "ns", name)])
    assert str(raised.value) == sentence


def test_what_can_not_be_read_is_not_called_missing() -> None:
    evaluation = evaluation_of(WITH_CLAIM[0] | {"undecodable": True})
    with pytest.raises(NotThereError, match="NetworkAttachmentDefinition ns/blue could not be read: "):
        deletion(evaluation.engine.cluster, [(NAD, "ns", "blue")])


def test_a_kind_that_is_not_served_has_no_object() -> None:
    evaluation = evaluation_of()
    evaluation.sync_state("NetworkAttachmentDefinition", SyncState.ABSENT)
    with pytest.raises(NotThereError, match="the cluster does not serve network-attachment-definitions"):
        deletion(evaluation.engine.cluster, [(NAD, "ns", "blue")])


# -- snapshots


@pytest.mark.parametrize(
    ("vm", "severity"),
    [
        ([], "warning"),
        (
            [
                {
                    "kind": "VirtualMachine",
                    "name": "db",
                    "uid": "u1",
                    "instancetype": {"name": "small"},
                    "instancetypeRef": {
                        "name": "small",
                        "kind": "VirtualMachineClusterInstancetype",
                        "controllerRevisionRef": {"name": "rev"},
                    },
                },
                {
                    "kind": "ControllerRevision",
                    "name": "rev",
                    "vm": "db",
                    "owner": "u1",
                    "of": {
                        "apiVersion": "instancetype.kubevirt.io/v1beta1",
                        "kind": "VirtualMachineClusterInstancetype",
                        "metadata": {"name": "small", "uid": "t1", "generation": 1},
                        "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
                    },
                },
            ],
            "info",
        ),
    ],
)
def test_a_snapshot_without_a_copy_needs_the_instancetype(vm: list[dict[str, object]], severity: str) -> None:
    evaluation = evaluation_of(
        {"kind": "KubeVirt", "name": "kubevirt", "version": "v1.7.0"},
        {"kind": "VirtualMachineClusterInstancetype", "name": "small", "uid": "t1", "generation": 1},
        {
            "kind": "VirtualMachineSnapshotContent",
            "name": "c",
            "snapshot": "s",
            "source": "db",
            "instancetype": {"name": "small"},
        },
        *vm,
    )
    impact = taken(evaluation.engine, without(evaluation.engine.cluster, ["small"]))
    (found,) = (each for each in impact.findings if each.finding.subject.name == "c")
    assert (found.finding.reason, found.finding.severity) == ("SnapshotObjectMissing", severity)
    assert (found.outcome, found.when) == ("breaks", "when a VM is restored from it")
