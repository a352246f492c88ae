"""What a change of KubeVirt would do: as making it, which gates it switches, who uses them, and when it bites."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as some

from exporter.engine.evaluate import at_once
from exporter.questions.asked import ImpactQuery
from exporter.questions.impact import Impact, ProposedChange, exit_code, proposed, steps
from exporter.questions.question import NotThereError
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.virtual_machine_instance import VirtualMachineInstance
from exporter.store.overlay import Edit
from exporter.store.source import SyncState

from ....amounts import examples
from ....evaluation import Evaluation
from ....impacts import HOST_DISK, REBOOT, VSOCK, Row, differences, evaluation_of, kubevirt, make, open_in, taken, vm


def impact_of(evaluation: Evaluation, **asked: Any) -> Impact:
    return taken(evaluation.engine, proposal_of(evaluation, **asked))


def proposal_of(evaluation: Evaluation, **asked: Any) -> ProposedChange:
    words = {name: (value,) if isinstance(value, str) else tuple(value) for name, value in asked.items()}
    return proposed(evaluation.engine.cluster, ImpactQuery(**words))


def configuration_of(proposal: ProposedChange) -> Any:
    (edit,) = proposal.edits
    assert isinstance(edit.after, KubeVirt)
    return json.loads(edit.after.configuration)


def switched(impact: Impact) -> dict[str, str]:
    return {each.name: f"{each.before} {each.after}" for each in impact.gates}


def bites(impact: Impact) -> set[tuple[str, str, str, str, str]]:
    """Outcome, path, feature, reason, when."""
    return {
        (e.outcome, e.finding.subject.path, e.finding.feature, e.finding.reason, e.when)
        for e in impact.findings
        if e.finding.check == "feature_mismatch"
    }


# -- an upgrade

# Of KubeVirt 1.9 over 1.8 with both lists empty, as pkg/virt-config/featuregate has it.
SWITCHED_BY_1_9 = {
    "DeclarativeHotplugVolumes",
    "ExpandDisks",
    "ExternalNetResourceInjection",
    "GPUsWithDRA",
    "HostDevicesWithDRA",
    "ImageVolume",
    "KubevirtSeccompProfile",
    "LibvirtHooksServerAndClient",
    "LiveUpdateNADRef",
    "MigrationPriorityQueue",
    "NodeRestriction",
    "OptOutRoleAggregation",
    "PanicDevices",
    "PasstBinding",
    "PodSecondaryInterfaceNamingUpgrade",
    "RebootPolicy",
    "SecureExecution",
    "Snapshot",
    "Template",
    "VMExport",
    "VideoConfig",
    "VmiMemoryOverheadReport",
    "WorkloadEncryptionSEV",
}


def test_an_upgrade_from_1_8_to_1_9_switches_on_exactly_what_became_beta_or_ga() -> None:
    impact = impact_of(evaluation_of(kubevirt()), upgrade_to="1.9")
    assert impact.changes == ("KubeVirt is upgraded from v1.8.4 to v1.9.0",)
    assert switched(impact) == dict.fromkeys(SWITCHED_BY_1_9, "off on")


def test_gates_that_are_listed_stay_as_they_are_by_an_upgrade() -> None:
    cluster = kubevirt(gates=("Snapshot", "VideoConfig", "HostDisk"), disabled=("ImageVolume", "PanicDevices"))
    impact = impact_of(evaluation_of(cluster), upgrade_to="v1.9.0")
    # PanicDevices is GA then, which no list switches off.
    assert set(switched(impact)) == SWITCHED_BY_1_9 - {"Snapshot", "VideoConfig", "ImageVolume"}


def test_an_upgrade_names_who_uses_the_gates_and_what_it_heals() -> None:
    vms = [
        *vm("halted", REBOOT),
        *vm("waits", REBOOT, runStrategy="Always"),
        *vm("calm"),
        *vm("far", REBOOT, namespace="far"),
    ]
    impact = impact_of(evaluation_of(kubevirt(), *vms), upgrade_to="1.9")
    (gate,) = [each for each in impact.gates if each.name == "RebootPolicy"]
    assert (gate.stage, gate.vms, gate.vmis) == ("Beta", 3, 0)
    assert [each.path for each in gate.some] == ["far/far", "ns/halted", "ns/waits"]
    assert [(each.namespace, each.vms) for each in gate.namespaces] == [("ns", 2), ("far", 1)]
    assert {each.vms for each in impact.gates if each.name != "RebootPolicy" and each.ruled} == {0}
    assert bites(impact) == {
        ("other", "ns/halted", "reboot_policy", "StoppedRequestsDisabled", ""),
        ("other", "far/far", "reboot_policy", "StoppedRequestsDisabled", ""),
        ("other", "ns/waits", "reboot_policy", "StartBlocked", "now: it starts by itself"),
    }
    assert (exit_code(impact), impact.beforehand) == (0, ())


def test_an_upgrade_names_interfaces_that_have_not_exactly_one_binding() -> None:
    vms = [
        *vm("unbound", interfaces({})),
        *vm("twice", interfaces({"bridge": {}, "masquerade": {}}), running=True),
        *vm("once", interfaces({"masquerade": {}}), running=True),
    ]
    impact = impact_of(evaluation_of(kubevirt(), *vms), upgrade_to="1.9.0")
    assert bites(impact) == {
        ("breaks", "ns/twice", "interface_binding", "NotEditable", "at the next edit"),
        ("breaks", "ns/unbound", "interface_binding", "StoppedRequestsDisabled", "at the next edit"),
    }
    assert {each.answer for each in impact.findings} == {"must have exactly one binding method or binding plugin"}
    assert exit_code(impact) == 1


def interfaces(binding: Row) -> Row:
    pod = {"networks": [{"name": "default", "pod": {}}]}
    return {"domain": {"devices": {"interfaces": [{"name": "default", **binding}]}}, "template": pod}


@pytest.mark.parametrize(("version", "to", "tag"), [("v1.9.0", "1.8", "v1.8.0"), ("v1.9.2", "v1.9.1", "v1.9.1")])
def test_a_downgrade_is_refused(version: str, to: str, tag: str) -> None:
    evaluation = evaluation_of(kubevirt(version), *vm("db", REBOOT, running=True))
    with pytest.raises(ValueError, match=f"^KubeVirt {version} is running, and KubeVirt can't be downgraded to {tag}$"):
        proposal_of(evaluation, upgrade_to=to)


def test_an_upgrade_to_the_release_that_runs_is_no_downgrade_of_its_patch() -> None:
    impact = impact_of(evaluation_of(kubevirt("v1.9.2")), upgrade_to="1.9")
    assert impact.changes == ("KubeVirt stays at v1.9.2",)
    assert (impact.gates, impact.findings, exit_code(impact)) == ((), (), 0)


# -- gates


def test_who_stops_runs_or_waits_meets_a_gate_that_is_switched_off_at_another_time() -> None:
    rows = [
        *vm("halted", HOST_DISK),
        *vm("waits", HOST_DISK, runStrategy="Always"),
        *vm("runs", HOST_DISK, running=True),
        *vm("pends", HOST_DISK, running=True, phase="Scheduling"),
        *vm("vsock", VSOCK, running=True, migratable=True),
        *vm("calm", running=True),
    ]
    impact = impact_of(evaluation_of(kubevirt(gates=("HostDisk", "VSOCK")), *rows), disable=("HostDisk", "VSOCK"))
    assert switched(impact) == {"HostDisk": "on off", "VSOCK": "on off"}
    assert bites(impact) == {
        ("breaks", "ns/halted", "host_disk", "StoppedRequestsDisabled", "at the next edit"),
        ("breaks", "ns/waits", "host_disk", "StartBlocked", "now"),
        ("breaks", "ns/runs", "host_disk", "NotEditable", "at the next edit"),
        ("breaks", "ns/pends", "host_disk", "PendingStartedBefore", "at its next start"),
        ("breaks", "ns/vsock", "vsock", "NotEditable", "at the next edit"),
    }
    assert [(each.feature, each.breaks) for each in impact.features] == [("host_disk", 4), ("vsock", 1)]
    assert {each.name: (each.vms, each.vmis) for each in impact.gates} == {"HostDisk": (4, 2), "VSOCK": (1, 1)}


def test_what_is_only_ignored_or_heals_breaks_nobody() -> None:
    hotplugged = {"status": {"volumeStatus": [{"name": "v", "target": "", "hotplugVolume": {}}]}}
    heals = vm("heals", HOST_DISK, running=True)
    rows = [*vm("ignored", running=True, over=hotplugged), *vm("heals"), heals[1]]
    impact = impact_of(
        evaluation_of(kubevirt(gates=("HotplugVolumes", "HostDisk")), *rows), disable=("HotplugVolumes", "HostDisk")
    )
    assert bites(impact) == {
        ("other", "ns/heals", "host_disk", "HealsAtRestart", ""),
        ("other", "ns/ignored", "hotplug_volumes", "RunningStartedBefore", "now"),
    }
    assert exit_code(impact) == 0


def test_what_instancetypes_and_preferences_add_counts_too() -> None:
    named = {"name": "gpu"}
    rows = [
        {"kind": "VirtualMachineClusterInstancetype", "name": "gpu", "uid": "t1"}
        | {"spec": {"gpus": [{"name": "g", "claimName": "c", "requestName": "r"}]}},
        vm("sized")[0] | {"instancetype": named},
    ]
    impact = impact_of(evaluation_of(kubevirt("v1.9.0"), *rows), disable="GPUsWithDRA")
    assert [(each.name, each.vms) for each in impact.gates] == [("GPUsWithDRA", 1)]
    assert ("breaks", "ns/sized", "gpu_dra", "StoppedRequestsDisabled", "at the next edit") in bites(impact)


@pytest.mark.parametrize(
    ("version", "lists", "gate", "developer", "says"),
    [
        ("v1.7.4", {"gates": ("HostDisk",)}, "HostDisk", {}, "removed from featureGates"),
        ("v1.7.4", {}, "HostDisk", {}, "unchanged, which changes nothing: it is off already"),
        (
            "v1.8.4",
            {"gates": ("HostDisk", "Sidecar")},
            "HostDisk",
            {"featureGates": ["Sidecar"]},
            "removed from featureGates",
        ),
        ("v1.8.4", {}, "Snapshot", {}, "unchanged, which changes nothing: it is off already"),
        ("v1.9.0", {}, "Snapshot", {"disabledFeatureGates": ["Snapshot"]}, "added to disabledFeatureGates"),
        (
            "v1.9.0",
            {},
            "VideoConfig",
            {"disabledFeatureGates": ["VideoConfig"]},
            "added to disabledFeatureGates, which has no effect: it is GA in v1.9.0, and nothing switches it off",
        ),
        (
            "v1.7.4",
            {"gates": ("ExperimentalVirtiofsSupport",)},
            "EnableVirtioFsStorageVolumes",
            {"featureGates": ["ExperimentalVirtiofsSupport"]},
            "unchanged, but ExperimentalVirtiofsSupport keeps it on",
        ),
    ],
)
def test_a_gate_is_switched_off_as_it_takes_in_its_release(
    version: str, lists: Row, gate: str, developer: Row, says: str
) -> None:
    proposal = proposal_of(evaluation_of(kubevirt(version, **lists)), disable=gate)
    assert proposal.changes == (f"feature gate {gate} is {says}",)
    assert configuration_of(proposal).get("developerConfiguration", {}) == developer


@pytest.mark.parametrize(
    ("version", "lists", "gate", "configuration", "says"),
    [
        (
            "v1.9.0",
            {"disabled": ("Snapshot",)},
            "Snapshot",
            {"developerConfiguration": {"featureGates": ["Snapshot"]}},
            "removed from disabledFeatureGates and added to featureGates",
        ),
        (
            "v1.9.0",
            {},
            "PersistentReservation",
            {"persistentReservationConfiguration": {"enabled": True}},
            "switched on by persistentReservationConfiguration.enabled: true",
        ),
        (
            "v1.8.0",
            {},
            "PersistentReservation",
            {"developerConfiguration": {"featureGates": ["PersistentReservation"]}},
            "added to featureGates",
        ),
        (
            "v1.9.0",
            {},
            "DisableMDEVConfiguration",
            {"mediatedDevicesConfiguration": {"enabled": False}},
            "switched on by mediatedDevicesConfiguration.enabled: false",
        ),
        (
            "v1.9.0",
            {},
            "AlignCPUs",
            {"developerConfiguration": {"featureGates": ["AlignCPUs"]}},
            (
                "added to featureGates, but without the annotation "
                "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity of "
                "the KubeVirt object it stays off"
            ),
        ),
        (
            "v1.9.0",
            {"gates": ("HotplugVolumes",)},
            "DeclarativeHotplugVolumes",
            {"developerConfiguration": {"featureGates": ["HotplugVolumes", "DeclarativeHotplugVolumes"]}},
            "added to featureGates, but while HotplugVolumes is on it stays off",
        ),
    ],
)
def test_a_gate_is_switched_on_by_what_counts(
    version: str, lists: Row, gate: str, configuration: Row, says: str
) -> None:
    proposal = proposal_of(evaluation_of(kubevirt(version, **lists)), enable=gate)
    assert proposal.changes == (f"feature gate {gate} is {says}",)
    found = {name: section for name, section in configuration_of(proposal).items() if section}
    assert found == configuration


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (
            {"disable": "hostdisk"},
            "KubeVirt v1.8.4 knows no feature gate 'hostdisk'; names are case-sensitive; did you mean HostDisk?",
        ),
        (
            {"enable": "IOMMUFDs", "upgrade_to": "1.9"},
            (
                "KubeVirt v1.8.4 and v1.9.0 knows no feature gate 'IOMMUFDs'; names are case-sensitive; "
                "did you mean IOMMUFD?"
            ),
        ),
        ({"disable": "qqq"}, "KubeVirt v1.8.4 knows no feature gate 'qqq'; names are case-sensitive"),
        ({"disable": "VSOCK", "enable": "VSOCK"}, "feature gate 'VSOCK' can't be enabled and disabled at once"),
        ({"upgrade_to": ("",)}, "'' is no version of an upstream release; write it as 1.9 or v1.9.0"),
        ({"upgrade_to": "newest"}, "'newest' is no version of an upstream release; write it as 1.9 or v1.9.0"),
        (
            {"upgrade_to": "v1.9.0-beta.0.123+84c76d1142ea4d"},
            "'v1.9.0-beta.0.123+84c76d1142ea4d' is no version of an upstream release; write it as 1.9 or v1.9.0",
        ),
        ({"upgrade_to": "0.30"}, "the feature gates of v0.30.0 are not known; those of 0.59 to 1.10 are"),
        ({"upgrade_to": ("1.8", "1.9")}, "upgrade-to is given 2 times; give it once"),
        ({"set": "cpuModel"}, "'cpuModel' sets nothing; write it as PATH=VALUE, such as cpuModel=Haswell"),
        (
            {"set": "spec.configuration=1"},
            (
                "'spec.configuration=1' names no setting; write its path below spec.configuration, such as "
                "cpuModel=Haswell"
            ),
        ),
        (
            {"set": "network..binding=1"},
            "'network..binding=1' names no setting; write its path below spec.configuration, such as cpuModel=Haswell",
        ),
        (
            {"set": "evictionStrategy.of=1"},
            "spec.configuration.evictionStrategy is a text, and has nothing below it named 'of'",
        ),
        (
            {"set": "developerConfiguration.featureGates.1=HostDisk"},
            (
                "spec.configuration.developerConfiguration.featureGates has 1 entry, counted from 0, and "
                "none 1; to add one, "
                "set the whole list"
            ),
        ),
        (
            {"set": "developerConfiguration.featureGates.first=HostDisk"},
            (
                "spec.configuration.developerConfiguration.featureGates is a list; name one of its entries "
                "by a number from 0, "
                "and not 'first'"
            ),
        ),
        (
            {"set": "network.defaultNetworkInterface=passt"},
            (
                'spec.configuration.network.defaultNetworkInterface: "passt" is not one of bridge, slirp, '
                "masquerade; KubeVirt "
                "ignores such a configuration as a whole, and goes on with the last valid one"
            ),
        ),
        (
            {"set": "cpuModel=7"},
            (
                "spec.configuration.cpuModel can't be 7: KubeVirt kubevirt/kubevirt is undecodable: "
                "spec.configuration: "
                "cpuModel is a whole number where text is expected"
            ),
        ),
        (
            {"set": "evictionStrategy=shutdown"},
            (
                'spec.configuration.evictionStrategy can\'t be "shutdown"; it is one of External, LiveMigrate, '
                "LiveMigrateIfPossible, None"
            ),
        ),
        (
            {"set": "evictionStrategy=livemigrate"},
            'spec.configuration.evictionStrategy can\'t be "livemigrate"; did you mean LiveMigrate?',
        ),
        (
            {"set": 'instancetype={"referencePolicy": "none"}'},
            (
                'spec.configuration.instancetype.referencePolicy can\'t be "none"; it is one of reference, expand, '
                "expandAll"
            ),
        ),
        (
            {"set": "instancetype.referencePolicy=expandall"},
            'spec.configuration.instancetype.referencePolicy can\'t be "expandall"; did you mean expandAll?',
        ),
        (
            {"set": "migrations=7"},
            "the API server would refuse spec.configuration: migrations is a whole number where an object is expected",
        ),
    ],
)
def test_what_can_not_be_done_is_refused_in_a_sentence(asked: Row, sentence: str) -> None:
    evaluation = evaluation_of(kubevirt(gates=("VSOCK",), strategy="LiveMigrate"))
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        proposal_of(evaluation, **asked)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], "no KubeVirt object is deployed, so the effect of the change can't be evaluated"),
        (
            [kubevirt(), kubevirt() | {"name": "other"}],
            (
                "2 KubeVirt objects are deployed, kubevirt/kubevirt and kubevirt/other among them, so "
                "the effect of the change can't be evaluated"
            ),
        ),
        (
            [kubevirt("v4.17.3-9.el9")],
            (
                'KubeVirt kubevirt/kubevirt is of version "v4.17.3-9.el9", which is not an upstream release; set '
                "assumeUpstreamVersion to the release that it is built of, such as v1.8.4"
            ),
        ),
    ],
)
def test_without_the_one_known_installation_nothing_is_previewed(rows: list[Row], sentence: str) -> None:
    with pytest.raises(NotThereError) as raised:
        proposal_of(evaluation_of(*rows), disable="HostDisk")
    assert str(raised.value) == sentence


def test_an_installation_that_can_not_be_seen_or_read_is_not_called_missing() -> None:
    evaluation = evaluation_of(kubevirt())
    evaluation.sync_state("KubeVirt", SyncState.FORBIDDEN)
    with pytest.raises(NotThereError, match="the KubeVirt object can't be seen, so the effect of the change"):
        proposal_of(evaluation, disable="HostDisk")
    evaluation = evaluation_of(kubevirt() | {"undecodable": True})
    with pytest.raises(NotThereError, match="KubeVirt kubevirt/kubevirt could not be read: "):
        proposal_of(evaluation, disable="HostDisk")


# -- settings


@pytest.mark.parametrize("root", ["", "configuration.", "spec.configuration."])
def test_a_setting_is_set_removed_and_says_who_breaks(root: str) -> None:
    gpu = {"domain": {"devices": {"gpus": [{"name": "g", "deviceName": "vendor/gpu"}]}}}
    evaluation = evaluation_of(kubevirt(), *vm("trainer", gpu, runStrategy="Always"))
    nothing = impact_of(evaluation, set=f'{root}permittedHostDevices={{"pciHostDevices":[]}}')
    assert bites(nothing) == {("breaks", "ns/trainer", "permitted_host_devices", "StartBlocked", "now")}
    assert nothing.gates == ()
    allowed = impact_of(evaluation, set=f'{root}permittedHostDevices.pciHostDevices=[{{"resourceName":"vendor/gpu"}}]')
    assert bites(allowed) == set()
    removed = impact_of(evaluation, set=(f"{root}permittedHostDevices={{}}", f"{root}permittedHostDevices=null"))
    assert bites(removed) == set()
    assert removed.changes[1] == "spec.configuration.permittedHostDevices is removed"


def test_a_binding_that_is_taken_away_is_met_at_the_next_migration_or_start() -> None:
    bound = {
        "domain": {"devices": {"interfaces": [{"name": "p", "binding": {"name": "passt"}}]}},
        "template": {"networks": [{"name": "p", "pod": {}}]},
    }
    rows = [*vm("moves", bound, running=True, migratable=True), *vm("stays", bound, running=True, migratable=False)]
    plugins: Row = {"network": {"binding": {"passt": {}}}}
    evaluation = evaluation_of(kubevirt(configuration=plugins), *rows, *vm("halted", bound))
    assert bites(impact_of(evaluation, set="network.binding.passt=null")) == {
        ("breaks", "ns/moves", "network_binding", "MigrationBlocked", "at its next migration"),
        ("breaks", "ns/stays", "network_binding", "RunningStartedBefore", "at its next restart"),
        ("breaks", "ns/halted", "network_binding", "StoppedRequestsDisabled", "at its next start"),
    }


def test_a_setting_of_a_list_and_of_a_key_with_a_dot() -> None:
    evaluation = evaluation_of(kubevirt(gates=("HostDisk", "VSOCK")))
    proposal = proposal_of(
        evaluation,
        set=("developerConfiguration.featureGates.0=Sidecar", r"developerConfiguration.nodeSelectors.a\.b/c=d"),
    )
    developer = configuration_of(proposal)["developerConfiguration"]
    assert developer == {"featureGates": ["Sidecar", "VSOCK"], "nodeSelectors": {"a.b/c": "d"}}
    assert switched(taken(evaluation.engine, proposal)) == {"HostDisk": "on off", "Sidecar": "off on"}


def test_a_value_that_is_nested_endlessly_is_refused() -> None:
    evaluation = evaluation_of(kubevirt())
    for depth in (31, 400, 9000):
        with pytest.raises(ValueError, match=r"is nested deeper than 30 times$"):
            proposal_of(evaluation, set=f"cpuModel={'[' * depth}{']' * depth}")


PATHS = some.sampled_from(
    ("cpuModel", "network.binding", "developerConfiguration.featureGates.0", "a..b", "", ".", "\\", "x\\.y", "spec")
)


ONE_GATE = evaluation_of(kubevirt(gates=("HostDisk",)))


@given(
    some.lists(
        some.tuples(
            PATHS | some.text(max_size=8),
            some.text(max_size=8)
            | some.sampled_from(("1e999", "9" * 30, "null", "{}", "[null]", '"\\ud800"', "\ud800", "-0.0")),
        ),
        max_size=3,
    )
)
def test_whatever_is_set_is_refused_in_a_sentence_or_previewed(pairs: list[tuple[str, str]]) -> None:
    asked = [f"{path}={value}" for path, value in pairs] or ["cpuModel=x"]
    refusal = ""
    changes: tuple[str, ...] = ()
    try:
        changes = proposal_of(ONE_GATE, set=asked).changes
    except ValueError as error:
        refusal = str(error)
    assert len(changes) == (0 if refusal else len(asked))
    assert "\n" not in refusal


def test_a_setting_that_no_check_reads_leaves_the_answer_open() -> None:
    impact = impact_of(evaluation_of(kubevirt()), set="migrations.bandwidthPerMigration=64Mi")
    assert [each.why for each in impact.unknown] == [
        (
            "no check reads spec.configuration.migrations.bandwidthPerMigration, so that nothing can "
            "be said of what it does"
        )
    ]
    assert exit_code(impact) == 2
    same = impact_of(evaluation_of(kubevirt()), set="cpuModel=null")
    assert same.changes == ("spec.configuration.cpuModel is removed, which changes nothing",)
    assert exit_code(same) == 0


def test_where_hyperconverged_owns_the_object_its_own_field_is_named() -> None:
    owned = kubevirt("v1.9.0", gates=("DownwardMetrics",), labels={"app.kubernetes.io/managed-by": "hco-operator"})
    proposal = proposal_of(evaluation_of(owned), disable="DownwardMetrics", set="permittedHostDevices={}")
    setting, gate = proposal.changes
    assert '"downwardMetrics" of spec.featureGates decides it: state Disabled' in gate
    assert "spec.virtualization.permittedHostDevices decides it" in setting
    assert all("HCO reverts a direct edit of KubeVirt" in each for each in proposal.changes)


# -- what can't be said


def test_users_that_can_not_be_seen_are_not_counted_as_none() -> None:
    evaluation = evaluation_of(kubevirt(gates=("HostDisk",)), *vm("db", HOST_DISK))
    evaluation.sync_state("VirtualMachineInstance", SyncState.FORBIDDEN)
    impact = impact_of(evaluation, disable="HostDisk")
    assert [(each.vms, each.vmis) for each in impact.gates] == [(None, None)]
    assert exit_code(impact) == 2


def test_an_invalid_configuration_is_no_ground_for_a_preview_of_its_repair() -> None:
    broken = kubevirt(configuration={"network": {"defaultNetworkInterface": "foo"}})
    impact = impact_of(evaluation_of(broken, *vm("db", HOST_DISK)), set="network.defaultNetworkInterface=bridge")
    assert (impact.gates, exit_code(impact)) == ((), 2)
    assert any("is ignored as a whole" in each.why for each in impact.unknown)
    alone = impact_of(evaluation_of(broken), set="network.defaultNetworkInterface=bridge")
    assert ["is ignored as a whole" in each.why for each in alone.unknown] == [True]


def test_who_ended_or_is_being_deleted_uses_no_gate() -> None:
    rows = [vm("deleted", HOST_DISK)[0] | {"deleting": True}, *vm("ended", HOST_DISK, running=True, phase="Failed")]
    impact = impact_of(evaluation_of(kubevirt(gates=("HostDisk",)), *rows), disable="HostDisk")
    assert [(each.vms, each.vmis) for each in impact.gates] == [(1, 0)]


def test_what_becomes_less_severe_breaks_nobody() -> None:
    evaluation = evaluation_of(kubevirt(), *vm("db", VSOCK, running=True, migratable=True))
    (vmi,) = evaluation.engine.cluster.all(VirtualMachineInstance)
    edit = Edit.put(msgspec.structs.replace(vmi, migratable="False"))
    impact = taken(evaluation.engine, ProposedChange(("it can't migrate",), (edit,)))
    (less,) = [each for each in impact.findings if each.finding.reason == "NotEditable"]
    assert (less.change, less.outcome, less.severity_before) == ("changes", "other", "critical")


def test_users_are_counted_in_slices() -> None:
    vms = [row for at in range(1200) for row in vm(f"vm{at:04}", HOST_DISK)]
    evaluation = evaluation_of(kubevirt(gates=("HostDisk",)), *vms)
    work = steps(evaluation.engine, proposal_of(evaluation, disable="HostDisk"))
    next(work)
    evaluation.gone("VirtualMachine", "ns", "vm1199")
    impact = at_once(work)
    assert impact.counts["breaks"] == 1199


# -- as if it were made

GATES = (
    "HostDisk",
    "Sidecar",
    "VSOCK",
    "RebootPolicy",
    "PasstBinding",
    "GPUsWithDRA",
    "HostDevices",
    "PersistentReservation",
)
FEATURES: tuple[Row, ...] = (
    HOST_DISK,
    REBOOT,
    VSOCK,
    {"templateAnnotations": {"hooks.kubevirt.io/hookSidecars": "[]"}},
    {"domain": {"devices": {"gpus": [{"name": "g", "deviceName": "vendor/gpu"}]}}},
    {"domain": {"devices": {"gpus": [{"name": "g", "claimName": "c", "requestName": "r"}]}}},
    {"domain": {"devices": {"hostDevices": [{"name": "h", "deviceName": "vendor/nic"}]}}},
    {"domain": {"devices": {"disks": [{"name": "l", "lun": {"reservation": True}}]}}},
    {
        "domain": {"devices": {"interfaces": [{"name": "p", "binding": {"name": "passt"}}]}},
        "template": {"networks": [{"name": "p", "pod": {}}]},
    },
)
SETTINGS = (
    "network.permitBridgeInterfaceOnPodNetwork=false",
    "network.binding.passt={}",
    "network.binding=null",
    "permittedHostDevices={}",
    "permittedHostDevices=null",
    'permittedHostDevices.pciHostDevices=[{"resourceName":"vendor/gpu"}]',
    "persistentReservationConfiguration.enabled=true",
    "evictionStrategy=LiveMigrate",
)
VERSIONS = ("v1.7.4", "v1.8.4", "v1.9.0")
SINCE_1_8 = {"RebootPolicy", "PasstBinding"}


@some.composite
def fleets(draw: some.DrawFn) -> list[Row]:
    listed = draw(some.lists(some.sampled_from(GATES), unique=True))
    disabled = draw(some.lists(some.sampled_from([each for each in GATES if each not in listed] or [""]), unique=True))
    rows = [kubevirt(draw(some.sampled_from(VERSIONS)), tuple(listed), tuple(disabled))]
    for at in range(draw(some.integers(1, 5))):
        features = draw(some.lists(some.sampled_from(FEATURES), max_size=2))
        made = vm(
            f"vm{at}",
            *features,
            running=draw(some.booleans()),
            namespace=draw(some.sampled_from(("ns", "far"))),
            phase=draw(some.sampled_from(("Running", "Scheduling", "Succeeded"))),
            migratable=draw(some.booleans()),
        )
        if len(made) == 2 and draw(some.booleans()):  # it was changed since it started
            made[1] = vm(f"vm{at}", *draw(some.lists(some.sampled_from(FEATURES), max_size=1)), running=True)[1] | {
                "namespace": made[1].get("namespace", "ns")
            }
        rows += made
    return rows


@some.composite
def wishes(draw: some.DrawFn) -> ImpactQuery:
    disable = draw(some.lists(some.sampled_from(GATES), unique=True, max_size=3))
    enable = draw(some.lists(some.sampled_from(GATES), unique=True, max_size=3))
    asked = ImpactQuery(
        disable=tuple(disable),
        enable=tuple(each for each in enable if each not in disable),
        upgrade_to=draw(some.sampled_from(((), *((version,) for version in VERSIONS)))),
        set=tuple(draw(some.lists(some.sampled_from(SETTINGS), max_size=2))),
    )
    return asked if any(asked) else ImpactQuery(disable=("HostDisk",))


def proposal_for(evaluation: Evaluation, rows: list[Row], asked: ImpactQuery) -> ProposedChange:
    # A gate that no version has is refused.
    assume(not asked.upgrade_to or asked.upgrade_to[0] >= rows[0]["version"])  # a downgrade is refused
    assume(not ({rows[0]["version"], *asked.upgrade_to} == {"v1.7.4"} and SINCE_1_8 & {*asked.disable, *asked.enable}))
    return proposed(evaluation.engine.cluster, asked)


@examples(0.3)
@given(fleets(), wishes())
def test_the_impact_is_the_difference_of_two_full_checks(rows: list[Row], asked: ImpactQuery) -> None:
    present = evaluation_of(*rows)
    proposal = proposal_for(present, rows, asked)
    (edit,) = proposal.edits
    assert isinstance(edit.after, KubeVirt)
    # Not by the record that was made: by an object with that configuration, read as any other.
    read = {key: value for key, value in rows[0].items() if key not in ("gates", "disabledGates")}
    changed = evaluation_of(
        read | {"version": edit.after.version, "configuration": json.loads(edit.after.configuration)}, *rows[1:]
    )
    impact = taken(present.engine, proposal)
    before, after = open_in(present.engine), open_in(changed.engine)
    assert differences(impact) == (
        {key: severity for key, severity in before.items() if after.get(key) != severity},
        {key: severity for key, severity in after.items() if before.get(key) != severity},
    )
    assert impact.unknown == ()


@examples(0.2)
@given(fleets(), wishes())
def test_a_change_and_its_inverse_cancel(rows: list[Row], asked: ImpactQuery) -> None:
    evaluation = evaluation_of(*rows)
    (was,) = evaluation.engine.cluster.all(KubeVirt)
    proposal = proposal_for(evaluation, rows, asked)
    there = taken(evaluation.engine, proposal)
    for edit in proposal.edits:
        make(evaluation.engine, edit)
    evaluation.evaluate()
    back = taken(evaluation.engine, ProposedChange(("as it was",), (Edit.put(was),)))
    gone, come = differences(there)
    assert differences(back) == (come, gone)
    assert {each.name: (each.after, each.before) for each in back.gates} == {
        each.name: (each.before, each.after) for each in there.gates
    }


# -- what nobody should ask


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"set": "cpuModel=\udcff"}, "is no valid UTF-8"),
        ({"upgrade_to": "1.99"}, "the feature gates of v1.99.0 are not known; those of 0.59 to 1.10 are"),
        ({"upgrade_to": "0.1"}, "the feature gates of v0.1.0 are not known; those of 0.59 to 1.10 are"),
        ({"set": tuple(f"a{at}=1" for at in range(101))}, "101 changes of KubeVirt are asked for; there may be 100 at"),
        ({"set": f"cpuModel.{'x' * 9000}=1"}, "is a text, and has nothing below it named 'x{60}…'"),
    ],
)
def test_what_cannot_be_taken_is_refused_in_one_short_sentence(asked: Row, why: str) -> None:
    evaluation = evaluation_of(kubevirt(configuration={"cpuModel": "Haswell"}))
    with pytest.raises(ValueError, match=why) as refused:
        proposal_of(evaluation, **asked)
    assert type(refused.value) is ValueError
    assert len(str(refused.value)) < 300


def test_a_change_leaves_the_configuration_alone_that_it_is_made_of() -> None:
    evaluation = evaluation_of(kubevirt(configuration={"network": {"binding": {"a": {"x": "1"}}}}))
    proposal = proposal_of(
        evaluation, set=("network.binding.a.x=2", "network.binding.b={}", "network.binding.a.x=null")
    )
    assert configuration_of(proposal)["network"] == {"binding": {"a": {}, "b": {}}}
    assert configuration_of(proposal_of(evaluation, set="cpuModel=x"))["network"] == {"binding": {"a": {"x": "1"}}}


def test_who_uses_a_gate_is_not_counted_while_instancetypes_cannot_be_seen() -> None:
    evaluation = evaluation_of(kubevirt(gates=("VSOCK",)), *vm("db", VSOCK))
    assert [(each.vms, each.vmis) for each in impact_of(evaluation, disable="VSOCK").gates] == [(1, 0)]
    evaluation.sync_state("VirtualMachineClusterInstancetype", SyncState.FORBIDDEN)
    impact = impact_of(evaluation, disable="VSOCK")
    assert [(each.vms, each.vmis) for each in impact.gates] == [(None, None)]
    assert exit_code(impact) == 2
