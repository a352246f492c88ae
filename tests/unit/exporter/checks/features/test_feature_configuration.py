"""KubeVirt's gate lists and settings: what a finding advises, what a toggled gate concerns, and downstream builds."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from exporter.checks import all_checks
from exporter.config.settings import Config
from exporter.domain.features.gates import Gates
from exporter.domain.features.hco import HYPERCONVERGED, way_of_gate, way_of_setting
from exporter.dump import read_dump
from exporter.engine.engine import Engine
from exporter.facts.firmware import legacy
from exporter.facts.versions import parse
from exporter.findings.finding import Finding
from exporter.store.kinds.kube_virt import KubeVirt
from tests.evaluation import NOW, Evaluation
from tests.rows import full

CHECKS = {check.id: check for check in all_checks()}
READ = {check.id: check.used[KubeVirt] - {"uid"} for check in all_checks() if KubeVirt in check.used}
# Those that say what they read of KubeVirt, ask for its version, and for no gate but by what follows from some.
UNCONCERNED = [check for check, names in READ.items() if "counts" in names and "configuration" not in names]
_SWITCHED_ON = (
    "DeclarativeHotplugVolumes GPUsWithDRA HostDevicesWithDRA ExternalNetResourceInjection KubevirtSeccompProfile "
    "LibvirtHooksServerAndClient NodeRestriction OptOutRoleAggregation PasstBinding Snapshot Template RebootPolicy "
    "PodSecondaryInterfaceNamingUpgrade VmiMemoryOverheadReport WorkloadEncryptionSEV ExpandDisks LiveUpdateNADRef "
    "MigrationPriorityQueue PanicDevices SecureExecution VideoConfig VMExport"
)
"""By v1.9.0, of those that v1.8.4 has: Beta, all but ImageVolume, and what becomes GA."""

LEGACY = legacy("db")
OLD = {"outdated": True, "migratable": True}
ROW = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.9.0"}


def found(**row: Any) -> list[Finding]:
    evaluation = Evaluation([CHECKS["feature_configuration"]])
    evaluation.seen(full({**ROW, **row}))
    evaluation.evaluate()
    return sorted(evaluation.engine.findings(), key=lambda each: (each.reason, each.feature))


def one(**row: Any) -> Finding:
    (finding,) = found(**row)
    return finding


@pytest.mark.parametrize("check", UNCONCERNED)
def test_a_toggled_gate_has_no_partition_of_others_evaluated_again(check: str) -> None:
    evaluation = Evaluation([CHECKS[check]])
    vm = {"name": "db", "uid": "u1", "instancetype": "u1.small"}
    for row in (
        {"kind": "VirtualMachine", **vm, "uuid": LEGACY},
        {"kind": "VirtualMachineInstance", "name": "db", "vm": "u1", "node": "node01", "uuid": LEGACY, **OLD},
        {"kind": "PodDisruptionBudget", "name": "db", "owner": "i1"},
        {"kind": "Pod", "name": "virt-launcher-db", "domain": "db", "vmi": "i1"},
        {"kind": "VirtualMachineInstancetype", "name": "u1.small"},
        {"kind": "Node", "name": "node01"},
        ROW,
    ):
        if row["kind"] in evaluation.kinds:
            evaluation.seen(full(row))
    evaluation.evaluate()
    assert evaluation.engine.caught_up

    evaluation.seen(full({**ROW, "gates": ["HostDisk"], "configuration": {"cpuModel": "Haswell"}}))
    assert evaluation.engine.caught_up

    evaluation.seen(full({**ROW, "version": "v1.4.0"}))
    assert not evaluation.engine.caught_up


def test_what_is_large_and_reads_kubevirt_says_which_of_it_it_uses() -> None:
    assert {"evictions", "firmware_duplicates", "firmware_vms", "instancetype_vms"} <= set(UNCONCERNED)


def test_the_nearest_name_is_in_message_and_evidence() -> None:
    finding = one(gates=["downwardMetrics"])

    assert finding.message == (
        'KubeVirt v1.9.0 has no feature gate "downwardMetrics". The name is ignored. Did you mean DownwardMetrics?'
    )
    assert finding.evidence["nearest"] == "DownwardMetrics"
    assert finding.evidence["lists"] == ["featureGates"]


def test_what_is_listed_twice_is_found_once() -> None:
    assert [each.feature for each in found(gates=["GPU", "GPU", "gpu"])] == ["GPU", "gpu"]


def test_an_upgrade_to_1_9_names_all_that_it_switches_on() -> None:
    changes = found(version="v1.8.4", target="v1.9.0", disabledGates=["ImageVolume"])

    assert [each.feature for each in changes if each.reason == "ChangesAtUpgrade"] == sorted(_SWITCHED_ON.split())
    assert {each.reason for each in changes} == {"ChangesAtUpgrade"}
    sev = next(each for each in changes if each.feature == "WorkloadEncryptionSEV")
    assert sev.message == (
        "WorkloadEncryptionSEV is off in v1.8.4 and will be on in v1.9.0: it is Beta there, and on by default."
    )
    assert "To keep WorkloadEncryptionSEV off, add it to disabledFeatureGates" in sev.next


def test_with_hco_the_field_of_hyperconverged_is_named() -> None:
    managed = {"labels": {"app.kubernetes.io/managed-by": "hco-operator"}}

    gate = one(**managed, gates=["DownwardMetrics"], disabledGates=["DownwardMetrics"])
    setting = one(**managed, configuration={"developerConfiguration": {"memoryOvercommit": -1}})

    assert gate.next == (
        "Change downwardMetrics in spec.featureGates of HyperConverged. HCO reverts a direct edit of KubeVirt."
    )
    assert gate.evidence["change"] == (
        'In HyperConverged kubevirt-hyperconverged, entry "downwardMetrics" of spec.featureGates decides it. '
        "HCO reverts a direct edit of KubeVirt."
    )
    assert gate.commands[0] == (
        "kubectl get hyperconvergeds.hco.kubevirt.io -n kubevirt kubevirt-hyperconverged -o yaml"
    )
    assert gate.commands[-1] == "kubectl edit hyperconvergeds.hco.kubevirt.io -n kubevirt kubevirt-hyperconverged"
    assert setting.next.startswith("Do not restart KubeVirt components or begin an upgrade before")
    assert setting.next.endswith("before you correct HyperConverged (evidence `change`).")
    decides = "spec.virtualization.higherWorkloadDensity.memoryOvercommitPercentage decides it"
    assert decides in setting.evidence["change"]
    assert one(name="kubevirt-kubevirt-hyperconverged", gates=["NoGate"]).next.endswith("direct edit of KubeVirt.")
    assert one(**managed, gates=["WithHostModelCPU"]).evidence["change"] == (
        "If the annotation kubevirt.kubevirt.io/jsonpatch of HyperConverged kubevirt-hyperconverged lists it, correct "
        "that; else HCO does so by itself. HCO reverts a direct edit of KubeVirt."
    )
    assert "HyperConverged" not in one(gates=["NoGate"]).next
    assert "change" not in one(gates=["NoGate"]).evidence


def test_ways_in_hyperconverged() -> None:
    assert 'entry "declarativeHotplugVolumes" of spec.featureGates decides it: state Disabled' in way_of_gate(
        "HotplugVolumes"
    ).sentence(True)
    assert "has no way to have it off" in way_of_gate("CPUManager").sentence(False)
    assert "kubevirt.kubevirt.io/jsonpatch decides it: add HostDisk to featureGates" in way_of_gate(
        "HostDisk"
    ).sentence(True)
    assert way_of_setting("network.binding.passt").place == "spec.networking.networkBinding"
    assert "jsonpatch" in way_of_setting("network.defaultNetworkInterface").place
    assert HYPERCONVERGED in way_of_setting("cpuModel").sentence(None)


def test_every_gate_that_hyperconverged_knows_is_one_of_kubevirt() -> None:
    version = parse("v1.9.0")
    assert version is not None
    known = Gates(version).names
    assert {gate for gate in known if way_of_gate(gate).place != way_of_gate("HostDisk").place} >= {
        "AlignCPUs",
        "CPUManager",
        "IOMMUFD",
        "Template",
        "UtilityVolumes",
    }


DOWNSTREAM = {**ROW, "version": "v4.19.1-rhel9", "gates": ["hostdisk"]}


def test_a_downstream_build_is_evaluated_as_the_release_to_assume() -> None:
    evaluation = Evaluation([CHECKS["feature_configuration"]])
    evaluation.seen(full(DOWNSTREAM))
    evaluation.evaluate()
    (unknown,) = evaluation.engine.unknowns()
    assert 'version "v4.19.1-rhel9", which is not an upstream release; set assumeUpstreamVersion' in unknown.why

    evaluation.intake.assume("v1.5.0")
    assert [reason for *_, reason, _ in evaluation.found()] == ["UnknownGate"]
    assert not list(evaluation.engine.unknowns())

    evaluation.seen(full({**DOWNSTREAM, "gates": ["LiveMigration"]}))
    assert [reason for *_, reason, _ in evaluation.found()] == ["RedundantGate"]

    evaluation.intake.assume("")
    evaluation.evaluate()
    assert list(evaluation.engine.unknowns())


def test_a_dump_of_a_downstream_build_is_read_as_the_release_to_assume(tmp_path: Path) -> None:
    (tmp_path / "kubevirt.json").write_text(json.dumps(full(DOWNSTREAM)))

    def read(config: Config) -> Engine:
        reading = read_dump(str(tmp_path), NOW, config, complete=False, progress=lambda _: None)
        return asyncio.run(reading)[0]

    assumed = read(Config.model_validate({"assumeUpstreamVersion": "1.8.4"}))

    assert [each.reason for each in assumed.findings() if each.check == "feature_configuration"] == ["UnknownGate"]
    assert "feature_configuration" in {each.check for each in read(Config()).unknowns()}


@pytest.mark.parametrize("version", ["v1.8.4", "v1.9.0"])
def test_a_list_of_any_length_costs_as_much_as_one_that_somebody_wrote(version: str) -> None:
    """Names that nobody knows are compared with all others, each of them."""
    many = [f"VSOCK{at:05}" for at in range(20_000)] + ["VSOCK "] * 20_000 + ["é" * 70_000, "HostDisk", "HostDisks"]
    reasons = [(each.reason, each.feature) for each in found(version=version, gates=many, disabledGates=many[:300])]
    assert len(reasons) == 100
    assert max(len(feature) for _, feature in reasons) <= 253
    assert ("UnknownGate", "VSOCK00000") in reasons
    # What has an effect does so wherever it stands.
    evaluation = Evaluation([CHECKS["feature_mismatch"]])
    evaluation.seen(full({**ROW, "version": version, "gates": many}))
    for name in ("HostDisk", "VSOCK"):
        disk = [{"name": "d", "hostDisk": {"path": "/d", "type": "Disk"}}] if name == "HostDisk" else []
        vsock = {"devices": {"autoattachVSOCK": not disk}}
        evaluation.seen(full({"kind": "VirtualMachine", "name": name, "template": {"volumes": disk}, "domain": vsock}))
    evaluation.evaluate()
    assert {(each.subject.name, each.feature) for each in evaluation.engine.findings()} == {("VSOCK", "vsock")}
