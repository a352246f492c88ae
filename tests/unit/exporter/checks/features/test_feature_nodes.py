"""What nodes have to offer: after any changes the findings and the indexes are those from scratch, whatever changed."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from exporter.checks.features import feature_mismatch, feature_nodes, feature_storage
from exporter.domain.features import configuration
from exporter.domain.features.configuration import like
from exporter.domain.features.indexes import LETS, NEEDED, OFFERED, STATE, TAKES
from exporter.domain.features.settings import Device
from exporter.facts.rules import RULES
from exporter.store.index import Index
from tests.amounts import drawn, rounds
from tests.evaluation import Evaluation
from tests.rows import full

Row = dict[str, Any]

CHECKS = (feature_nodes.CHECK, feature_storage.CHECK)
INDEXES = (LETS, NEEDED, OFFERED, STATE, TAKES)
GATES = ["VSOCK", "CPUManager", "WorkloadEncryptionSEV"]
CLUSTER, OWN = "VirtualMachineClusterInstancetype", "VirtualMachineInstancetype"
PREFERS = ("VirtualMachineClusterPreference", "VirtualMachinePreference")
SIZES: tuple[Row, ...] = (
    {"cpu": {"guest": 2}},
    {"cpu": {"guest": 2, "dedicatedCPUPlacement": True}},
    {"cpu": {"guest": 2}, "nodeSelector": {"kubernetes.io/hostname": "node-b"}},
    {"cpu": {"guest": 2}, "gpus": [{"name": "g", "deviceName": "nvidia.com/T4"}]},
)
PLACES: tuple[Row, ...] = (
    {},
    {"nodeSelector": {"kubernetes.io/hostname": "node-a"}, "tolerations": [{"operator": "Exists"}]},
    {"nodeSelector": {"kubevirt.io/sev": "true", "machine-type.node.kubevirt.io/q35": "true"}},
)
TASTES: tuple[Row, ...] = (
    {},
    {"cpu": {"preferredCPUFeatures": [{"name": "vmx"}]}},
    {"devices": {"preferredTPM": {"persistent": True}}},
    {"machine": {"preferredMachineType": "q35"}},
)
DOMAINS: tuple[Row, ...] = (
    {},
    {"machine": {"type": "pc-q35-9.2"}},
    {"devices": {"autoattachVSOCK": True}},
    {"launchSecurity": {"sev": {}}},
    {"devices": {"tpm": {"persistent": True}, "gpus": [{"name": "g", "deviceName": "nvidia.com/T4"}]}},
)
LABELS: tuple[dict[str, str], ...] = (
    {},
    {"kubevirt.io/cpumanager": "true", "kubevirt.io/sev": "true"},
    {"machine-type.node.kubevirt.io/q35": "true"},
    {"machine-type.node.kubevirt.io/pc-q35-9.2": "true", "kubevirt.io/cpumanager": "true"},
)
ALLOCATABLE: tuple[dict[str, str], ...] = (
    {"cpu": "16"},
    {"cpu": "15"},
    {"devices.kubevirt.io/vhost-vsock": "1k", "devices.kubevirt.io/sev": "15"},
    {"devices.kubevirt.io/vhost-vsock": "0", "nvidia.com/T4": "2"},
)


def a_change(dice: random.Random) -> Row:
    name, made = dice.choice("abc"), dice.randrange(12)
    if made == 0:
        version = dice.choice(("v1.5.0", *5 * ("v1.8.4",), "unknown"))
        configuration: Row = dice.choice(
            ({}, {}, {}, {}, {"vmStateStorageClass": "fast"}, {"imagePullPolicy": "Perhaps"})
        )
        gates = [gate for gate in GATES if dice.random() < 0.8]
        return {"kind": "KubeVirt", "name": "kubevirt", "version": version, "gates": gates} | {
            "configuration": configuration
        }
    if made == 1:
        return {"kind": dice.choice((CLUSTER, OWN)), "name": name, "spec": dice.choice(SIZES)}
    if made == 2:
        return {"kind": dice.choice(PREFERS), "name": name, "spec": dice.choice(TASTES)}
    if made == 3:
        of = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": CLUSTER, "spec": dice.choice(SIZES)}
        return {
            "kind": "ControllerRevision",
            "name": f"r-{name}",
            "owner": "u",
            "of": of | {"metadata": {"name": name}},
        }
    if made == 4:
        return {"kind": "StorageClass", "name": dice.choice(("fast", "slow")), "default": dice.random() < 0.5}
    if made <= 7:
        return {
            "kind": "Node",
            "name": f"node-{name}",
            "labels": {"kubevirt.io/schedulable": dice.choice(("true", "true", "false"))} | dice.choice(LABELS),
            "allocatable": dice.choice(ALLOCATABLE),
            "cordoned": dice.random() < 0.2,
            "ready": dice.random() < 0.9,
            "taints": dice.choice((["gpu:NoSchedule"], [], [])),
        }
    if made <= 9:
        row: Row = {"kind": "VirtualMachineInstance", "name": name, "domain": dice.choice(DOMAINS)}
        row |= {"node": dice.choice(("node-a", "node-b")), "phase": dice.choice(("Running", "Pending", "Failed"))}
        row |= {"migratable": dice.choice((True, False)), "spec": dice.choice(PLACES)}
        if dice.random() < 0.3:
            row |= {"over": {"status": {"machine": {"type": "pc-q35-9.2"}}}}
        return row | dice.choice(({"vm": f"u{name}"}, {"vm": f"u{name}"}, {}))
    row = {"kind": "VirtualMachine", "name": name, "uid": f"u{name}", "domain": dice.choice(DOMAINS)}
    row |= {"runStrategy": dice.choice(("Always", "Halted")), "deleting": dice.random() < 0.1}
    row |= {"template": dice.choice(PLACES)}
    if dice.random() < 0.6:
        matcher = {"name": dice.choice("abc"), "kind": dice.choice((CLUSTER, OWN))}
        row |= {"instancetype": matcher | dice.choice(({}, {"revisionName": f"r-{dice.choice('abc')}"}))}
    if dice.random() < 0.6:
        row |= {"preference": {"name": dice.choice("abc"), "kind": dice.choice(PREFERS)}}
    return row


def known(evaluation: Evaluation) -> Any:
    cluster = evaluation.engine.cluster

    def under(index: Index) -> Any:
        found = ((key, sorted(each.ref for each in cluster.sharing(index, key))) for key in cluster.keys(index))
        return sorted(found)

    evaluation.evaluate()
    findings = sorted(
        (f.check, f.reason, f.severity, f.subject, f.message, f.related, f.next, str(f.evidence))
        for f in evaluation.engine.findings()
    )
    unknowns = sorted((each.check, each.partition, each.why) for each in evaluation.engine.unknowns())
    return findings, unknowns, [under(index) for index in INDEXES]


@drawn
@pytest.mark.parametrize("seed", range(rounds(2, 10)))
def test_after_any_changes_all_is_as_from_scratch(seed: int) -> None:
    dice = random.Random(seed)
    kept, objects, most = Evaluation(CHECKS, indexes=INDEXES), dict[tuple[str, str], Row](), 0
    for turn in range(240):
        thing = full(a_change(dice))
        namespace, name = thing["metadata"].get("namespace", ""), thing["metadata"]["name"]
        if dice.random() < 0.15:
            kept.gone(thing["kind"], namespace, name)
            objects.pop((thing["kind"], name), None)
        else:
            kept.seen(thing)
            objects[thing["kind"], name] = thing
        if dice.random() < 0.5:  # else several are noted at once
            kept.evaluate()
        if turn % 8 == 0:
            made = Evaluation(CHECKS, indexes=INDEXES)
            for each in sorted(objects.values(), key=lambda _: dice.random()):
                made.seen(each)
            findings, unknowns, indexed = known(kept)
            there, hidden, wanted = known(made)
            assert (unknowns, indexed) == (hidden, wanted), turn
            if not unknowns:  # of what is unknown the earlier findings stay
                assert findings == there, turn
                most = max(most, len(findings))
    assert most > 1


def test_a_node_that_has_other_counts_than_before_concerns_nobody() -> None:
    evaluation = Evaluation([feature_nodes.CHECK])
    vsock = {"devices": {"autoattachVSOCK": True}}
    node: Row = {"kind": "Node", "name": "node01", "labels": {"kubevirt.io/schedulable": "true", "example.org/a": "1"}}
    evaluation.seen(full({"kind": "KubeVirt", "name": "kubevirt", "version": "v1.8.4", "gates": GATES}))
    evaluation.seen(full({"kind": "VirtualMachine", "name": "db", "uid": "u1", "domain": vsock}))
    evaluation.seen(full(node | {"allocatable": {"devices.kubevirt.io/vhost-vsock": "1k", "cpu": "16"}}))
    evaluation.evaluate()
    done = evaluations(evaluation)
    counts = {"allocatable": {"devices.kubevirt.io/vhost-vsock": "999", "cpu": "15"}}
    evaluation.seen(full(node | counts))
    evaluation.evaluate()
    assert evaluations(evaluation) == done
    other = node | {"labels": node["labels"] | {"example.org/a": "2"}}
    evaluation.seen(full(other | counts))
    evaluation.evaluate()
    assert evaluations(evaluation) == done + 1  # what is asked all in all, and not what one feature needs
    evaluation.seen(full(other | {"allocatable": {"devices.kubevirt.io/vhost-vsock": "0"}}))
    evaluation.evaluate()
    assert evaluations(evaluation) == done + 3


def evaluations(evaluation: Evaluation) -> int:
    return evaluation.engine.evaluated["feature_nodes"].partitions


def test_all_that_rules_have_nodes_offer_is_offered() -> None:
    """A node that has each label and resource that a rule may name offers each of them."""
    parameters = {"sev": ("sev", "sev-es", "snp"), "hyperv_strict": ("vpindex", "evmcs"), "emulated_machines": ("q35",)}
    wanted = {
        thing
        for rule in RULES
        for parameter in parameters.get(rule.id, ("example.org/x",))
        for thing in rule.nodes(parameter)
    }
    labels = dict(each.split(" ", 1)[1].split("=", 1) for each in wanted if each.startswith("label "))
    resources = {each.split(" ", 1)[1]: "1" for each in wanted if each.startswith("resource ")}
    evaluation = Evaluation([feature_nodes.CHECK])
    row = {"kind": "Node", "name": "node01", "labels": {"kubevirt.io/schedulable": "true"} | labels}
    evaluation.seen(full(row | {"allocatable": resources | {"cpu": "1", "attachable.volumes.kubernetes.io/x": "1"}}))
    assert set(evaluation.engine.cluster.keys(OFFERED)) == wanted
    assert len(wanted) > 12


@pytest.mark.parametrize(
    ("node", "why"),
    [
        ({"taints": ["dedicated:NoSchedule"]}, "with taint dedicated:NoSchedule"),
        ({"labels": {"kubevirt.io/schedulable": "true", "zone": "b"}}, "without label zone=a"),
    ],
)
def test_what_the_only_node_does_not_meet_is_said_in_words_of_the_node(node: dict[str, Any], why: str) -> None:
    evaluation = Evaluation([feature_nodes.CHECK])
    labels = {"kubevirt.io/schedulable": "true", "zone": "a"}
    for row in (
        {"kind": "KubeVirt", "name": "kubevirt", "version": "v1.8.4"},
        {"kind": "Node", "name": "n", "labels": labels} | node,
        {"kind": "VirtualMachine", "name": "db", "template": {"nodeSelector": {"zone": "a"}}},
    ):
        evaluation.seen(full(row))
    evaluation.evaluate()
    (found,) = evaluation.engine.findings()
    assert found.message == f"No node meets the requirements of the VM ({why}). The VM can't start."
    assert "kubectl get nodes -L kubevirt.io/schedulable" in found.commands
    assert any("{.spec.taints}" in each for each in found.commands)


def test_a_vm_with_thousands_of_devices_costs_no_more_than_one_with_a_hundred(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []

    def noted(device: str, permitted: Iterable[Device]) -> tuple[str, ...]:
        compared.append(device)
        return like(device, permitted)

    monkeypatch.setattr(configuration, "like", noted)
    gpus = [{"name": f"g{at}", "deviceName": f"a.b/c{at:05}"} for at in range(10_000)]
    listed = {
        "permittedHostDevices": {"pciHostDevices": [{"resourceName": each["deviceName"]} for each in gpus[:5_000]]}
    }
    evaluation = Evaluation([feature_nodes.CHECK, feature_mismatch.CHECK])
    for row in (
        {"kind": "KubeVirt", "name": "kubevirt", "version": "v1.8.4", "gates": ["GPU"], "configuration": listed},
        {"kind": "Node", "name": "n", "labels": {"kubevirt.io/schedulable": "true"}},
        {"kind": "VirtualMachine", "name": "few", "domain": {"devices": {"gpus": gpus[:100]}}},
        {"kind": "VirtualMachine", "name": "many", "domain": {"devices": {"gpus": gpus}}},
        {"kind": "VirtualMachine", "name": "none", "domain": {"devices": {"gpus": gpus[5_000:]}}},
    ):
        evaluation.seen(full(row))
    evaluation.evaluate()
    said = {each.subject.name: each for each in evaluation.engine.findings() if "device" in each.feature}
    assert {name: each.reason for name, each in said.items()} == {
        "few": "NoNodeForStart",
        "many": "NoNodeForStart",
        "none": "StoppedRequestsDisabled",
    }
    assert 0 < len(compared) == len(set(compared)), "each name is looked for once among those that are permitted"
    assert said["many"].message == said["few"].message
    assert "a.b/c05002 is not in permittedHostDevices and 97 more. " in said["none"].message
