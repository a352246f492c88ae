"""Features as a view: what is allowed and why not, who asks, and which gates are on, now and after the upgrade."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest

from exporter.checks.features import feature_mismatch
from exporter.counts import features as state
from exporter.counts.base import Aggregates
from exporter.counts.features import PHASES, FeatureUsage
from exporter.engine.evaluate import at_once
from exporter.facts.rule import Rule
from exporter.facts.rules import RULES
from exporter.questions.features import READER, FeatureReport, Features, GateReport, selected, steps
from exporter.questions.findings import take
from exporter.questions.question import NotThereError
from exporter.store.source import SyncState

from ....amounts import drawn, rounds
from ....check_cases import CHECKS, cases_of, evaluated
from ....evaluation import Evaluation
from ....feature_rows import GPU, KUBEVIRT, METRICS, VM, VMI, VSOCK, a_change, gpu_size, vm, vmi
from ....rows import full

Row = dict[str, Any]


class Viewed(Evaluation):
    """With what the app puts beside the engine."""

    def __init__(self, *rows: Row) -> None:
        super().__init__([feature_mismatch.CHECK], indexes=READER.indexes)
        aggregates = Aggregates(self.engine.cluster, [state.STATE])
        self.engine.observe(aggregates.changed)
        self.usage = aggregates.of(FeatureUsage)
        self.put(rows)

    def put(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self.seen(full(row))

    def take(self) -> Features:
        self.evaluate()
        list(self.usage.settle())
        return at_once(steps(self.engine.cluster, self.usage, self.engine.findings(), self.engine.generation))

    def one(self, feature: str) -> FeatureReport:
        return next(each for each in self.take().features if each.feature == feature)

    def gate(self, name: str) -> GateReport:
        return next(each for each in self.take().gates if each.gate == name)


# -- what is allowed


def test_a_feature_whose_gate_is_off() -> None:
    report = Viewed(KUBEVIRT, vm("a", domain=METRICS), vm("b", domain=METRICS), vmi("b", domain=METRICS)).one(
        "downward_metrics"
    )
    assert (report.state, report.why) == ("refused", ("feature gate DownwardMetrics is off",))
    assert (report.gate, report.gate_stage, report.gate_source) == ("DownwardMetrics", "Alpha", "off")
    assert (report.bites, report.migration, report.next_state) == ("admission", "yes", "")
    assert report.requests is not None
    assert report.requests[VM] == {"running": 1, "stopped": 1}
    assert report.requests[VMI] == dict.fromkeys(PHASES[VMI], 0) | {"Running": 1}
    assert (report.vms, report.vmis) == (2, 1)
    assert [ref.path for ref in report.first] == ["ns/a", "ns/b"]
    assert report.findings == {"NotEditable": 1, "StoppedRequestsDisabled": 1}
    assert [(ref.kind, ref.path) for ref in report.first_found] == [(VM, "ns/a"), (VM, "ns/b")]
    assert report.unallowed
    assert report.answer == "DownwardMetrics feature gate is not enabled"


def test_a_feature_whose_gate_is_on() -> None:
    viewed = Viewed(KUBEVIRT | {"gates": ["DownwardMetrics"]}, vm(domain=METRICS))
    report = viewed.one("downward_metrics")
    assert (report.state, report.why, report.gate_source) == ("allowed", (), "listed")
    assert (report.vms, report.findings, report.unallowed) == (1, {}, False)
    viewed.put([KUBEVIRT])
    assert viewed.one("downward_metrics").state == "refused"


@pytest.mark.parametrize(
    ("version", "feature", "state"),
    [
        ("v1.8.4", "multi_arch", "unchecked"),  # 1.7 was the last that looked
        ("v1.8.4", "numa", "allowed"),  # it is GA
        ("v1.2.0", "numa", "refused"),
        ("v1.8.4", "port_ranges", "unchecked"),  # it comes with 1.9
        ("v1.9.0", "gpu_dra", "allowed"),  # Beta is on
        ("v1.8.4", "gpu_dra", "refused"),
        ("v1.8.4", "hyperv_strict", "allowed"),
        ("v1.8.4", "permitted_host_devices", "by_value"),
        ("v1.8.4", "slirp", "refused"),
    ],
)
def test_what_nobody_asks_for(version: str, feature: str, state: str) -> None:
    report = Viewed(KUBEVIRT | {"version": version}).one(feature)
    assert (report.state, report.asked, report.unallowed) == (state, False, False)


def test_a_feature_that_is_allowed_for_some() -> None:
    permitted = {"permittedHostDevices": {"pciHostDevices": [{"pciVendorSelector": "10", "resourceName": "nic"}]}}
    viewed = Viewed(
        KUBEVIRT | {"gates": ["HostDevices"], "configuration": permitted},
        vm("a", domain=GPU),
        vm("b", domain={"devices": {"hostDevices": [{"name": "n", "deviceName": "nic"}]}}),
        vmi("b", domain={"devices": {"hostDevices": [{"name": "n", "deviceName": "nic"}]}}),
    )
    report = viewed.one("permitted_host_devices")
    assert report.state == "partly"
    assert [(each.value, each.why, each.vms, each.vmis) for each in report.values] == [
        ("nvidia.com/A100", "nvidia.com/A100 is not in permittedHostDevices", 1, 0),
        ("nic", "", 1, 1),
    ]
    assert report.why == ("nvidia.com/A100 is not in permittedHostDevices",)
    assert (report.gate, report.decided_by) == ("", ("permittedHostDevices",))
    viewed.gone(VM, "ns", "b")
    viewed.gone(VMI, "ns", "b")
    assert viewed.one("permitted_host_devices").state == "refused"


def test_what_is_not_allowed_comes_first_then_what_is_asked_for() -> None:
    viewed = Viewed(KUBEVIRT | {"gates": ["VSOCK"]}, vm("a", domain=METRICS), vm("b", domain=VSOCK))
    names = [each.feature for each in viewed.take().features]
    assert names[0] == "downward_metrics"
    asked = [each.feature for each in viewed.take().features if each.asked]
    assert names[: len(asked)] == asked
    assert "vsock" in asked
    assert sorted(names) == [rule.id for rule in RULES]


def test_a_vmi_is_named_where_no_vm_of_its_asks() -> None:
    viewed = Viewed(KUBEVIRT, vm("a"), vmi("a", domain=METRICS), vm("b", domain=METRICS), vmi("b", domain=METRICS))
    report = viewed.one("downward_metrics")
    assert [(ref.kind, ref.path) for ref in report.first] == [(VM, "ns/b"), (VMI, "ns/a")]
    assert report.findings == {"HealsAtRestart": 1, "NotEditable": 1}


def test_the_first_names_are_those_of_all_namespaces_in_order() -> None:
    rows = [vm(f"vm-{each:02}", namespace=f"ns-{each % 3}", domain=METRICS) for each in range(40)]
    random.Random(1).shuffle(rows)
    report = Viewed(KUBEVIRT, *rows).one("downward_metrics")
    assert [ref.path for ref in report.first] == [f"ns-0/vm-{each:02}" for each in range(0, 30, 3)]
    assert len(report.first_found) == 10
    assert report.findings == {"StoppedRequestsDisabled": 40}


def test_a_storage_class_decides_where_a_rule_looks_at_them() -> None:
    tpm = {"devices": {"tpm": {"persistent": True}}}
    viewed = Viewed(KUBEVIRT, vm(domain=tpm))
    assert viewed.one("vm_state_storage_class").why == ("no StorageClass is the default",)
    viewed.put([{"kind": "StorageClass", "name": "fast", "default": True}])
    assert viewed.one("vm_state_storage_class").state == "allowed"
    viewed.sync_state("StorageClass", SyncState.FORBIDDEN)
    report = viewed.one("vm_state_storage_class")
    assert (report.state, report.why, report.vms) == ("unknown", ("StorageClass can't be listed",), 1)
    assert viewed.one("downward_metrics").state == "refused"


# -- gates, and the version that is being installed


def test_the_gates_of_a_version() -> None:
    viewed = Viewed(KUBEVIRT | {"gates": ["DownwardMetrics", "NoSuchGate"]})
    gate = viewed.gate("DownwardMetrics")
    assert (gate.stage, gate.on, gate.source, gate.features) == ("Alpha", True, "listed", ("downward_metrics",))
    assert (gate.next_on, gate.changes) == (None, False)
    unknown = viewed.gate("NoSuchGate")
    assert (unknown.stage, unknown.on) == ("", False)
    assert viewed.gate("VSOCK").features == ("vsock",)


def test_what_the_next_version_changes() -> None:
    upgraded = KUBEVIRT | {"target": "v1.9.0", "gates": ["DownwardMetrics"]}
    viewed = Viewed(upgraded, vm(domain=GPU | {"machine": {"type": "q35"}}))
    found = viewed.take()
    assert (found.version, found.target) == ("v1.8.4", "v1.9.0")
    beta = viewed.gate("GPUsWithDRA")
    assert (beta.stage, beta.on, beta.next_stage, beta.next_on, beta.changes) == ("Alpha", False, "Beta", True, True)
    same = viewed.gate("DownwardMetrics")
    assert (same.on, same.next_on, same.changes) == (True, True, False)
    new = viewed.gate("GraceIOVirtualization")
    assert (new.stage, new.next_stage, new.next_on) == ("", "Alpha", False)
    report = viewed.one("gpu_dra")
    assert (report.state, report.next_state, report.next_why) == ("refused", "allowed", ())
    assert viewed.one("port_ranges").next_state == "refused"


# -- what is not known


def test_a_build_of_a_distributor_counts_as_its_release_and_that_is_said() -> None:
    found = Viewed(KUBEVIRT | {"version": "1.7.0-150700.3.16.2"}, vm(domain=METRICS)).take()
    assert (found.unknown, found.version, found.taken_as) == ("", "1.7.0-150700.3.16.2", "v1.7.0")
    assert found.gates == Viewed(KUBEVIRT | {"version": "v1.7.0"}, vm(domain=METRICS)).take().gates
    assert Viewed(KUBEVIRT | {"version": "v1.7.0"}, vm(domain=METRICS)).take().taken_as == ""


@pytest.mark.parametrize(
    ("row", "taken"),
    [
        ({"version": "v1.3.1-78-gb3a54913fd"}, "v1.3.1"),
        ({"version": "v4.18.13"}, "v1.4"),  # the patch is not known
        ({"version": "v4.18.13", "built": "v1.4.1-75-gb3a54913fd"}, "v1.4.1"),
        ({"version": "latest", "built": "v1.6.6"}, "v1.6.6"),
        ({"version": "1.8.4"}, ""),
    ],
)
def test_as_which_release_other_builds_count(row: Row, taken: str) -> None:
    found = Viewed(KUBEVIRT | {"labels": {"app.kubernetes.io/managed-by": "hco-operator"}} | row).take()
    assert (found.unknown, found.taken_as) == ("", taken)


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"version": "v1.9.0-beta.0-12-gb3a54913fd"}, "before it, set assumeUpstreamVersion: v1.9.0-beta.0"),
        ({"version": "latest", "built": "v1.6.6", "imageTag": "latest"}, "to the release that it is built of"),
        ({"version": "v1.2.0-h3", "built": "v1.6.6"}, "virt-operator was built of v1.6.6; if all of it was, set"),
        ({"version": "v1.12.0"}, "nothing newer than 1.10 are known; assumeUpstreamVersion: v1.10.0 has it"),
        ({"version": "latest", "built": "v1.6.6", "target": "v1.7.0-h1"}, "to the release that it is built of"),
    ],
)
def test_of_other_builds_the_line_to_set_is_said(row: Row, why: str) -> None:
    assert why in Viewed(KUBEVIRT | row).take().unknown


def test_an_upgrade_from_one_openshift_to_the_next() -> None:
    upgraded = {"version": "v4.22.1", "target": "v4.22.2", "built": "v1.8.4-3-gb3a54913fd"}
    viewed = Viewed(KUBEVIRT | {"name": "kubevirt-kubevirt-hyperconverged"} | upgraded)
    assert viewed.take().taken_as == "v1.8"  # the operator is of the target already
    gate = viewed.gate("GPUsWithDRA")
    assert (gate.stage, gate.next_stage) == ("Alpha", "Alpha")


def test_what_may_be_the_build_of_a_release_says_the_line_to_set() -> None:
    found = Viewed(KUBEVIRT | {"version": "v1.6.2-rhel9.3"}, vm(domain=METRICS)).take()
    assert "if it is built of v1.6.2, set assumeUpstreamVersion: v1.6.2" in found.unknown
    old = Viewed(KUBEVIRT | {"version": "0.54.0-150400.3.26.1"}, vm(domain=METRICS)).take()
    assert "is older than v0.59.0" in old.unknown
    other = Viewed(KUBEVIRT | {"version": "v0.58.1-h2"}).take().unknown
    assert "it may be built of v0.58.1, which is older than v0.59.0" in other
    assert "set" not in other
    assert "set" not in old.unknown.split("older than")[1]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([], "no KubeVirt object is deployed"),
        ([KUBEVIRT, KUBEVIRT | {"name": "second"}], "2 KubeVirt objects are deployed"),
        ([KUBEVIRT | {"version": "2024.1-enterprise"}], "which is not an upstream release"),
        ([KUBEVIRT | {"configuration": {"network": {"defaultNetworkInterface": "token-ring"}}}], "ignored as a whole"),
        ([KUBEVIRT | {"undecodable": True}], "could not be read"),
    ],
)
def test_why_nobody_knows_the_configuration(rows: list[Row], why: str) -> None:
    viewed = Viewed(*rows, vm(domain=METRICS))
    found = viewed.take()
    assert why in found.unknown
    assert found.gates == ()
    report = viewed.one("downward_metrics")
    assert (report.state, report.why, report.bites, report.gate_source) == ("unknown", (found.unknown,), "", "")
    assert (report.vms, report.unallowed) == (1, True)
    assert {each.state for each in found.features} == {"unknown"}


@pytest.mark.parametrize("kind", [VM, VMI, "ControllerRevision", "VirtualMachineClusterInstancetype"])
def test_nothing_is_counted_while_a_kind_is_not_seen(kind: str) -> None:
    viewed = Viewed(KUBEVIRT, vm(domain=METRICS))
    viewed.sync_state(kind, SyncState.FORBIDDEN)
    found = viewed.take()
    assert (found.unseen, found.unknown, found.complete) == ((kind,), "", False)
    report = viewed.one("downward_metrics")
    assert (report.state, report.requests, report.vms, report.first) == ("refused", None, None, ())
    assert viewed.gate("DownwardMetrics").source == "off"


def test_a_kubevirt_that_is_not_seen_is_not_absent() -> None:
    viewed = Viewed(KUBEVIRT, vm(domain=METRICS))
    viewed.sync_state("KubeVirt", SyncState.FORBIDDEN)
    assert viewed.take().unknown == "KubeVirt can't be listed"


@pytest.mark.parametrize(
    ("row", "complete"),
    [(vm("x"), False), (vmi("x"), False), (gpu_size(), False), ({"kind": "Pod", "name": "x"}, True)],
)
def test_counts_are_incomplete_while_an_object_is_undecodable_that_may_ask(row: Row, complete: bool) -> None:
    assert Viewed(KUBEVIRT, row | {"undecodable": True}).take().complete is complete


def test_not_applicable_without_vms() -> None:
    viewed = Viewed(KUBEVIRT)
    viewed.sync_state(VM, SyncState.ABSENT)
    found = viewed.take()
    assert found.not_applicable == "the cluster does not serve virtualmachines.kubevirt.io"
    assert (found.features, found.gates) == ((), ())


def test_every_rule_that_decides_for_itself_says_by_what() -> None:
    usual = Rule("any", "any").refused
    assert {rule.id for rule in RULES if rule.refused is not usual and not rule.decides} == {
        "interface_binding",  # the release alone decides
        "macvtap",
        "passt_legacy",
        "slirp",  # they are gone for good
    }


# -- a part of it


def test_a_feature_or_a_gate_by_its_name() -> None:
    found = Viewed(KUBEVIRT, vm(domain=METRICS)).take()
    one = selected(found, ["downward_metrics"])
    assert [each.feature for each in one.features] == ["downward_metrics"]
    assert [each.gate for each in one.gates] == ["DownwardMetrics"]
    gate = selected(found, ["VSOCK", "Root"])
    assert {each.feature for each in gate.features} == {"vsock", "root"}
    assert {each.gate for each in gate.gates} == {"VSOCK", "Root"}
    unallowed = selected(found, unallowed=True)
    assert [each.feature for each in unallowed.features] == ["downward_metrics"]
    assert unallowed.gates == ()
    with pytest.raises(NotThereError, match="did you mean downward_metrics"):
        selected(found, ["downwardmetrics"])


# -- any sequence of changes, and many


def without_findings(report: FeatureReport) -> FeatureReport:
    return msgspec.structs.replace(report, findings={}, first_found=())


def by_name(report: FeatureReport) -> str:
    return report.feature


@drawn
@pytest.mark.parametrize("seed", range(rounds(2, 8)))
def test_after_any_changes_the_view_is_that_of_a_fresh_look(seed: int) -> None:
    dice, viewed = random.Random(seed), Viewed()
    objects: dict[tuple[str, str], Row] = {}
    for turn in range(150):
        row = a_change(dice)
        key = row["kind"], row["name"]
        if dice.random() < 0.25 and key in objects:
            made = full(objects.pop(key))
            viewed.gone(row["kind"], made["metadata"].get("namespace", ""), row["name"])
        else:
            objects[key] = row
            viewed.put([row])
        if turn % 15 == 0:
            fresh = Viewed(*objects.values())
            found, expected = viewed.take(), fresh.take()
            if found.unknown:  # then the last findings are kept, which a fresh look does not have
                found = msgspec.structs.replace(found, features=tuple(map(without_findings, found.features)))
            assert sorted(found.features, key=by_name) == sorted(expected.features, key=by_name), turn
            assert (found.gates, found.unknown) == (expected.gates, expected.unknown)


def test_others_get_their_turn_while_many_are_looked_at() -> None:
    viewed = Viewed(*(vm(f"vm-{each}", domain={"machine": {"type": f"q35-{each}"}}) for each in range(3000)))
    list(viewed.usage.settle())
    report = viewed.one("emulated_machines")
    assert (report.vms, len(report.values), report.values_in_all) == (3000, 20, 3000)
    cluster = viewed.engine.cluster
    assert sum(1 for _ in steps(cluster, viewed.usage, [], 1)) > 3000 // 500 * 2 + len(RULES)


def test_where_a_check_has_no_answer_is_a_place_that_users_know() -> None:
    (check,) = (each for each in CHECKS if each.id == "feature_nodes")
    engines = [evaluated(check, case).engine for case in cases_of(check).values() if case["finds"] == "unknown"]
    places = {each.partition for engine in engines for each in take(engine).unknown}
    assert any(" for VMs of part " in each.partition for engine in engines for each in engine.unknowns())
    assert "all that some VMs ask of their node" in places
    assert not [each for each in places if " for VMs of part " in each or each.startswith("place ")]
