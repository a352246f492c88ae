"""What findings on features say is to be done: what suits the VM, and where the feature is allowed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.checks.features.feature_mismatch.evaluation import change_of, next_step
from exporter.checks.features.feature_mismatch.states import IGNORED, Pair, message, state_of
from exporter.domain.acts import Act, acts_of
from exporter.domain.features.configuration import Effective
from exporter.facts.rule import Migrates, Rule, Stage
from exporter.facts.rules import RULES
from exporter.findings.pages import NEXT_CHARACTERS, Texts
from tests.evaluation import Evaluation, api_kinds, decoded
from tests.rows import full

Row = dict[str, Any]
HCO = {"app.kubernetes.io/managed-by": "hco-operator"}
METRICS: Row = {"devices": {"downwardMetrics": {}}}
REVERTED = "HCO reverts a direct edit of KubeVirt."


def kubevirt(version: str = "v1.9.0", **more: Any) -> Row:
    return {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": version, **more}


def vm(domain: Row, strategy: str = "Always", **more: Any) -> Row:
    return {"kind": "VirtualMachine", "name": "db", "uid": "u1", "runStrategy": strategy, "domain": domain, **more}


def vmi(domain: Row, **more: Any) -> Row:
    return {"kind": "VirtualMachineInstance", "name": "db", "vm": "u1", "domain": domain, "node": "node01", **more}


def finding(reason: str, *rows: Row, feature: str = "") -> Any:
    evaluation = Evaluation([check for check in all_checks() if check.id.startswith("feature_")])
    for row in rows:
        evaluation.seen(full(row))
    evaluation.evaluate()
    evaluation.now += 3600  # what nodes offer comes and goes for minutes
    evaluation.evaluate()
    there = (each for each in evaluation.engine.findings() if each.reason == reason)
    (found,) = (each for each in there if feature in ("", each.feature))
    return found


BINDING = {"devices": {"interfaces": [{"name": "default", "binding": {"name": "tap"}}]}}
ON_POD = {"networks": [{"name": "default", "pod": {}}]}
KEEPS = {"devices": {"tpm": {"persistent": True}}}
LUN = {"devices": {"disks": [{"name": "d", "lun": {"reservation": True}}]}}
CLAIM = {"volumes": [{"name": "d", "persistentVolumeClaim": {"claimName": "c"}}]}
SLIRP = {"devices": {"interfaces": [{"name": "default", "slirp": {}}]}}
SEV: Row = {"launchSecurity": {"sev": {}}}


# -- each state says what not to do, and what to do


@pytest.mark.parametrize(
    ("reason", "rows", "says"),
    [
        ("StartBlocked", [vm(METRICS)], "If allowed for all VMs: {change} Else, remove all rejected"),
        ("StoppedRequestsDisabled", [vm(METRICS, "Halted")], "Before the VM is needed: {change} Or remove all"),
        ("NotEditable", [vm(METRICS), vmi(METRICS)], "Do not end the guest. {change} "),
        ("WillFailAtRestart", [vm(METRICS), vmi({})], "Do not restart the VM first. {change} Or remove"),
        ("RunningStartedBefore", [vmi(METRICS, vm="")], "Do not end the guest first. {change} Or"),
        (
            "PendingStartedBefore",
            [vm(METRICS), vmi(METRICS, phase="Pending")],
            "Do not restart the VM first. {change} Or remove the feature",
        ),
        (
            "PendingBlocked",
            [vmi(BINDING, spec=ON_POD, phase="Pending")],
            "If allowed for all VMs: {change} Else, remove the feature, stop",
        ),
        ("MigrationBlocked", [vmi(BINDING, spec=ON_POD, migratable=True)], "Do not drain the node. {change} Or"),
    ],
)
def test_a_state_says_what_to_do_and_what_decides(reason: str, rows: list[Row], says: str) -> None:
    found = finding(reason, kubevirt(), *rows)

    assert found.next.startswith(says.format_map(found.evidence))
    assert found.evidence["change"] == (
        "Add DownwardMetrics to featureGates of KubeVirt."
        if found.feature == "downward_metrics"
        else "Register tap in network.binding of KubeVirt."
    )
    opened = "\n".join(each for each in found.commands if each.startswith("kubectl edit"))
    assert "kubevirts.kubevirt.io -n kubevirt kubevirt" in opened
    assert ("virtualmachines.kubevirt.io -n " in opened) is any(each["kind"] == "VirtualMachine" for each in rows)


def test_what_a_restart_settles_needs_no_decision_on_the_cluster() -> None:
    found = finding("HealsAtRestart", kubevirt(), vm({}), vmi(METRICS))

    assert found.next == "Restart the VM at a time that suits the VM owner."


def test_nobody_is_advised_to_restart_what_can_not_be_edited() -> None:
    found = finding("NotEditable", kubevirt(), vm(METRICS), vmi(METRICS))

    text = "\n".join((found.next, *found.commands))
    assert "virtctl" not in text
    assert "kubectl delete" not in text
    assert any("--dry-run=server" in command for command in found.commands)


@pytest.mark.parametrize("check", [check for check in all_checks() if check.id.startswith("feature_")])
def test_no_command_of_an_advice_changes_anything_but_in_an_editor(check: Any) -> None:
    for reason in check.reasons.values():
        for command in reason.commands:
            looks = command.startswith("kubectl get ") or "--dry-run=server" in command
            assert (
                looks or command.startswith("kubectl edit ") or acts_of(command) == [Act.RESTART] == list(reason.does)
            )


# -- where it is allowed


@pytest.mark.parametrize(
    ("given", "domain", "says"),
    [
        ({}, METRICS, "Add DownwardMetrics to featureGates of KubeVirt."),
        (
            {"disabledGates": ["WorkloadEncryptionSEV"]},
            SEV,
            "Remove WorkloadEncryptionSEV from disabledFeatureGates of KubeVirt.",
        ),
        ({"version": "v1.8.4"}, SEV, "Add WorkloadEncryptionSEV to featureGates of KubeVirt."),
        (
            {"labels": HCO},
            METRICS,
            (
                'In HyperConverged kubevirt-hyperconverged, entry "downwardMetrics" of spec.featureGates decides it: '
                "state Enabled (true in v1beta1). "
                f"{REVERTED}"
            ),
        ),
        (
            {"labels": HCO, "version": "v1.8.4"},
            SEV,
            (
                "In HyperConverged kubevirt-hyperconverged, the annotation kubevirt.kubevirt.io/jsonpatch decides it: "
                "add WorkloadEncryptionSEV to featureGates, and remove it from disabledFeatureGates if it is there. "
                f"{REVERTED}"
            ),
        ),
    ],
)
def test_the_object_that_decides_is_named(given: Row, domain: Row, says: str) -> None:
    found = finding("StartBlocked", kubevirt(**given), vm(domain))

    assert found.evidence["change"] == says
    brief = "Enable downwardMetrics in spec.featureGates of HyperConverged." if "downwardMetrics" in says else says
    steps = [
        f"If allowed for all VMs: {brief} Else, remove all rejected fields in one edit.",
        f"{brief} Or remove all rejected fields in one edit.",
        "Remove all rejected fields from the VM in one edit, or allow the feature (evidence `change`).",
    ]
    assert found.next == next(each for each in steps if len(each) <= NEXT_CHARACTERS)
    owned = "labels" in given
    assert (
        "kubectl edit hyperconvergeds.hco.kubevirt.io -n kubevirt kubevirt-hyperconverged" in found.commands
    ) is owned
    assert ("kubectl edit kubevirts.kubevirt.io -n kubevirt kubevirt" in found.commands) is not owned


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({}, "Register tap in network.binding of KubeVirt."),
        ({"labels": HCO}, "spec.networking.networkBinding decides it."),
    ],
)
def test_a_setting_that_decides_is_named(given: Row, place: str) -> None:
    found = finding("PendingBlocked", kubevirt(**given), vmi(BINDING, spec=ON_POD, phase="Pending"))

    assert place in found.evidence["change"]
    assert (REVERTED in found.evidence["change"]) is bool(given)


def test_what_a_release_has_no_way_to_allow_is_not_offered() -> None:
    found = finding("StartBlocked", kubevirt(), vm(SLIRP, template=ON_POD))

    assert found.next == (
        "Remove all rejected fields from the VM in one edit. KubeVirt v1.9.0 can't allow the feature."
    )
    assert "change" not in found.evidence


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("v1.8.4", "Add PersistentReservation to featureGates of KubeVirt."),
        ("v1.9.0", "Set persistentReservationConfiguration.enabled of KubeVirt to true."),
    ],
)
def test_what_restarts_by_it_is_said(version: str, says: str) -> None:
    found = finding("StartBlocked", kubevirt(version), vm(LUN, template=CLAIM))

    assert found.evidence["change"] == f"{says} virt-handler then restarts on every node."


def test_a_volume_of_a_missing_class_has_to_go_first() -> None:
    pending = vmi(KEEPS, phase="Pending")
    missing = finding("PendingBlocked", kubevirt(configuration={"vmStateStorageClass": "missing"}), pending)
    none = finding("PendingBlocked", kubevirt(), pending)

    advice = "Create the StorageClass for VM state, or set vmStateStorageClass of KubeVirt to an existing one."
    assert missing.next == none.next == advice
    assert missing.evidence["volume"] == (
        "If KubeVirt already made a PVC of the missing StorageClass, delete that Pending PVC first. "
        "Never delete a bound PVC."
    )
    assert "volume" not in none.evidence
    assert "kubectl get storageclasses.storage.k8s.io" in missing.commands


def test_what_an_upgrade_breaks_is_allowed_as_in_the_new_release() -> None:
    upgraded = kubevirt("v1.9.0", target="v1.8.4")
    found = finding("BreaksAtUpgrade", upgraded, vm(SEV, "Halted"))

    assert found.evidence["change"] == "Add WorkloadEncryptionSEV to featureGates of KubeVirt."
    assert found.next.startswith(f"Before the upgrade completes: {found.evidence['change']} Or remove ")


def test_a_template_is_changed_or_its_feature_allowed() -> None:
    template = {"kind": "VirtualMachineInstanceReplicaSet", "name": "web", "domain": METRICS}
    found = finding("TemplateRequestsDisabled", kubevirt(labels=HCO), template)

    assert found.next == (
        "Enable downwardMetrics in spec.featureGates of HyperConverged. Or remove the feature from the template."
    )
    assert found.evidence["change"].endswith(REVERTED)
    assert "kubectl edit virtualmachineinstancereplicasets.kubevirt.io -n ns web" in found.commands


def test_what_no_node_is_for_is_switched_off_where_it_is_decided() -> None:
    node = {"kind": "Node", "name": "node01", "labels": {"kubevirt.io/schedulable": "true"}}
    beside = finding("GateWithoutNodes", kubevirt(gates=["IOMMUFD"]), node)
    owned = finding("GateWithoutNodes", kubevirt(gates=["IOMMUFD"], labels=HCO), node)
    setting = finding("NoKVM", kubevirt(labels=HCO), node)

    assert beside.next == "Disable the feature gate until nodes offer the device."
    assert owned.next.startswith("Disable the feature gate in HyperConverged (evidence `change`)")
    assert owned.evidence["change"] == (
        "In HyperConverged kubevirt-hyperconverged, the annotation hco.kubevirt.io/deployAIE decides it: leave it out. "
        f"{REVERTED}"
    )
    assert "annotation kubevirt.kubevirt.io/jsonpatch decides it." in setting.evidence["change"]
    assert setting.evidence["change"].endswith(REVERTED)
    assert "change" not in beside.evidence


@pytest.mark.parametrize(
    ("by", "says"),
    [
        ({}, "Install the network resources injector, or disable feature gate ExternalNetResourceInjection"),
        (HCO, "Have HyperConverged kubevirt-hyperconverged deploy the network resources injector"),
    ],
)
def test_who_requests_a_network_device_is_named(by: Row, says: str) -> None:
    device = {"metadata": {"annotations": {"k8s.v1.cni.cncf.io/resourceName": "a.com/nic"}}}
    nad = {"kind": "NetworkAttachmentDefinition", "name": "red", "over": device}
    gates = ["ExternalNetResourceInjection"]
    found = finding("StartBlocked", kubevirt(labels=by, gates=gates), nad, vm({}, networks={"b": "red"}))

    assert found.next.startswith(says)


def test_the_state_of_a_tpm_or_efi_is_guarded_in_each_state() -> None:
    """Whatever takes the device out of the VM or ends the guest can lose it."""
    old, halted = kubevirt("v1.5.3"), vm(KEEPS, "Halted")
    states: dict[str, list[Row]] = {
        "StartBlocked": [old, vm(KEEPS)],
        "StoppedRequestsDisabled": [old, halted],
        "NotEditable": [old, vm(KEEPS), vmi(KEEPS)],
        "WillFailAtRestart": [old, vm(KEEPS), vmi({})],
        "PendingStartedBefore": [old, vm(KEEPS), vmi(KEEPS, phase="Scheduling")],
        "BreaksAtUpgrade": [kubevirt("v1.6.0", target="v1.5.3"), halted],
    }
    said = [finding(reason, *rows, feature="persistent_state") for reason, rows in states.items()]

    assert not [each.next for each in said if not re.match(r"Do not .*remove (the|its) TPM or EFI", each.next)]
    assert not [each.next for each in said if not each.next.endswith(each.evidence["change"])]


# -- every state has its text, wherever a refusal bites and whatever allows it


def record(row: Row) -> Any:
    return decoded(api_kinds()[row["kind"]], full(row)).record


def bites() -> list[tuple[Rule, Stage]]:
    """Each feature with where its refusal can bite: in some releases elsewhere than in others."""
    return [(each, stage) for each in RULES for stage in Stage if callable(each.stage) or each.stage is stage]


@pytest.mark.parametrize(("rule", "stage"), bites())
def test_every_state_of_every_feature_has_a_message(rule: Rule, stage: Stage) -> None:
    said = 0
    vms = [record(vm({}, strategy)) for strategy in ("Always", "Halted", "Manual")]
    states = [(phase, moves) for phase in ("Pending", "Running") for moves in (True, False)]
    vmis = [record(vmi({}, phase=phase, migratable=moves)) for phase, moves in states]
    for pair in (Pair(a, b, "") for a in (None, *vms) for b in (None, *vmis) if a or b):
        for by_vm, by_vmi in ((True, True), (True, False), (False, True)):
            # What only an edit is refused for is of VMs alone: a VMI has no run strategy and updates no volumes.
            lacking = (by_vm and pair.vm is None) or (by_vmi and (pair.vmi is None or stage is Stage.EDIT))
            state = None if lacking else state_of(rule, stage, pair, by_vm, by_vmi)
            if state is not None:
                said += rule.phrase in message(rule, stage, pair, state, ("gate is off",), "VirtualMachineInstance")
    assert said


@pytest.mark.parametrize("minor", range(10))
@pytest.mark.parametrize("labels", [{}, HCO])
def test_what_fails_a_migration_or_is_ignored_can_be_allowed_in_each_release(minor: int, labels: Row) -> None:
    known = Effective.of(record(kubevirt(f"v1.{minor}.0", labels=labels)))
    assert isinstance(known, Effective)
    fails = [each for each in RULES if each.migrates in (Migrates.UNSCHEDULABLE, Migrates.UNRENDERED)]
    asked = [("MigrationBlocked", each) for each in fails]
    asked += [("RunningStartedBefore", each) for each in RULES if each.bites(known) in IGNORED]
    said = [
        next_step(Texts("feature_mismatch"), reason, each, known, change_of(each, known, bool(labels), ("a",)))
        for reason, each in asked
        if each.counts_in(known)
    ]

    assert said
    assert not [text for text in said if "can't allow" in text]


def test_no_edit_that_takes_a_restart_is_shown_where_a_restart_would_fail() -> None:
    one: Row = {"devices": {"gpus": [{"name": "g", "deviceName": "example.com/a"}]}}
    both: Row = {"devices": {"downwardMetrics": {}, **one["devices"]}}
    for domain, edits in ((one, True), (both, False)):
        rows = (vm(domain), vmi(domain, phase="Pending") | {"node": None})
        config = kubevirt("v1.8.4", configuration={"permittedHostDevices": {}})
        found = finding("PendingBlocked", config, *rows, feature="permitted_host_devices")
        assert any(each.startswith("kubectl edit kubevirts") for each in found.commands)
        assert any(each.startswith("kubectl edit virtualmachines") for each in found.commands) is edits


def test_a_message_names_the_field_as_the_object_has_it() -> None:
    domain: Row = {"devices": {"downwardMetrics": {}}}
    stopped = finding("StoppedRequestsDisabled", kubevirt(), vm(domain, "Halted"), feature="downward_metrics")
    assert "(spec.template.spec.domain.devices.downwardMetrics or spec.template.spec.volumes[]" in stopped.message
    runs = finding("PendingStartedBefore", kubevirt(), vmi(domain, phase="Pending", vm=None) | {"node": None})
    assert "(spec.domain.devices.downwardMetrics or spec.volumes[]" in runs.message
