"""Whom a change of KubeVirt hits: of each gate of 1.8 to 1.10 a rule says it, or it is said not to be known."""

from __future__ import annotations

from typing import Any

import pytest

from exporter.cli.commands.features import listed_features
from exporter.cli.commands.impact import impacted
from exporter.counts.features import FeatureUsage
from exporter.domain.features.configuration import Effective, effective
from exporter.engine.evaluate import at_once
from exporter.questions import features
from exporter.questions.asked import ImpactQuery
from exporter.questions.impact import Impact, exit_code, proposed
from exporter.questions.impact.gates import concerned_by
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.source import SyncState

from ....evaluation import Evaluation
from ....impacts import HOST_DISK, VSOCK, Row, evaluation_of, kubevirt, taken, vm

VERSIONS = ("v1.8.4", "v1.9.0", "v1.10.0")
# Nothing in a VM, a VMI or a NAD says whom a switch of any other gate hits.
WITH_A_RULE = {
    *("AlignCPUs", "CPUManager", "ConfigurableHypervisor", "ContainerPathVolumes", "CrossArchitectureVirtualization"),
    *("DecentralizedLiveMigration", "DeclarativeHotplugVolumes", "DisableMDEVConfiguration", "DownwardMetrics"),
    *("EnableVirtioFsConfigVolumes", "EnableVirtioFsStorageVolumes", "ExperimentalIgnitionSupport"),
    *("ExternalNetResourceInjection", "GPU", "GPUsWithDRA", "GraceIOVirtualization", "HostDevices"),
    *("HostDevicesWithDRA", "HostDisk", "HotplugVolumes", "HypervStrictCheck", "IOMMUFD", "ImageVolume"),
    *("IncrementalBackup", "KubevirtSeccompProfile", "NUMA", "NetworkBindingPlugins", "NetworkDevicesWithDRA"),
    *("PCINUMAAwareTopology", "PanicDevices", "PasstBinding", "PersistentReservation", "PortRangesSpec"),
    *("RebootPolicy", "ReservedOverheadMemlock", "Root", "SecureExecution", "Sidecar", "UtilityVolumes"),
    *("VGPULiveMigration", "VMPersistentState", "VSOCK", "VideoConfig", "VolumeMigration", "VolumesUpdateStrategy"),
    *("WorkloadEncryptionSEV", "WorkloadEncryptionTDX"),
}
UNKNOWN, NOT_ASKED = "It is not known who is hit by: ", "No VM and no VMI asks for: "

DISK: Row = {"template": {"volumes": [{"name": "d", "containerDisk": {"image": "fedora"}}]}}
GPU: Row = {"domain": {"devices": {"gpus": [{"name": "g", "deviceName": "vendor/gpu"}]}}}
NAD: Row = {"kind": "NetworkAttachmentDefinition", "name": "red"}
DEVICE: Row = NAD | {"over": {"metadata": {"annotations": {"k8s.v1.cni.cncf.io/resourceName": "intel.com/sriov_net"}}}}
INJECTOR: Row = {"kind": "MutatingWebhookConfiguration", "name": "network-resources-injector-config"} | {
    "webhook": "network-resources-injector-config.k8s.io"
}


def with_a_rule(version: str) -> set[str]:
    """In 1.8 the NUMA topology of PCI devices is for more than NVIDIA Grace, which alone has a rule."""
    return WITH_A_RULE - {"PCINUMAAwareTopology"} if version == "v1.8.4" else WITH_A_RULE


def node(name: str, kubelet: str = "v1.35.0", **offers: str) -> Row:
    labels = {"kubevirt.io/schedulable": "true"}
    allocatable = {"devices.kubevirt.io/kvm": "1k", **{f"vendor/{each}": count for each, count in offers.items()}}
    return {"kind": "Node", "name": name, "kubelet": kubelet, "labels": labels, "allocatable": allocatable}


def impact_of(evaluation: Evaluation, **asked: Any) -> Impact:
    words = {name: (value,) if isinstance(value, str) else tuple(value) for name, value in asked.items()}
    return taken(evaluation.engine, proposed(evaluation.engine.cluster, ImpactQuery(**words)))


def known_of(version: str) -> Effective:
    known = effective(evaluation_of(kubevirt(version)).engine.cluster.all(KubeVirt))
    assert isinstance(known, Effective)
    return known


def said(impact: Impact) -> dict[str, set[str]]:
    """The gates by the paragraph that names them, those of the table under the empty text."""
    found: dict[str, set[str]] = {}
    for line in impacted(impact).partition("Feature gates that change")[2].partition("\n\n")[0].split("\n")[1:]:
        begins = next((each for each in (UNKNOWN, NOT_ASKED) if line.startswith(each)), "")
        names = line.removeprefix(begins).split("), ") if begins else [line]
        found.setdefault(begins, set()).update(each.split()[0] for each in names)
    found.get("", set()).discard("GATE")
    return found


def bites(impact: Impact) -> set[tuple[str, str, str, str]]:
    return {(each.outcome, each.finding.subject.path, each.finding.reason, each.when) for each in impact.findings}


# -- who is hit is known, or said not to be


@pytest.mark.parametrize("version", VERSIONS)
def test_of_each_gate_a_rule_says_who_is_hit_or_nobody_does(version: str) -> None:
    known = known_of(version)
    ruled = {gate for gate in known.gates.names if concerned_by(gate, known, known) is not None}
    assert ruled == with_a_rule(version) & {*known.gates.names}
    assert {*known.gates.names} - ruled  # and of some nobody does


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("how", ["enable", "disable"])
def test_no_text_says_that_nobody_asks_for_a_gate_without_a_rule(version: str, how: str) -> None:
    gates = known_of(version).gates.names
    lists = {"disabled": gates} if how == "enable" else {"gates": gates}
    impact = impact_of(evaluation_of(kubevirt(version, **lists), *vm("db", HOST_DISK, VSOCK)), **{how: gates})
    switched = {each.name for each in impact.gates}
    assert len(switched) > 40 or how == "disable"
    texts = said(impact)
    assert {"HostDisk", "VSOCK"} <= texts[""]
    assert texts[UNKNOWN] == switched - with_a_rule(version) == {each.name for each in impact.gates if not each.ruled}
    assert texts[NOT_ASKED] == (switched & with_a_rule(version)) - texts[""]
    assert {(each.vms, each.vmis) for each in impact.gates if not each.ruled} == {(None, None)}
    assert not {"unused", "nobody"} & set(impacted(impact).lower().split())


def test_an_upgrade_tells_known_from_not_known() -> None:
    impact = impact_of(evaluation_of(kubevirt(), *vm("db", DISK)), upgrade_to="1.9")
    texts = said(impact)
    assert texts[""] == {"ImageVolume"}
    assert {"RebootPolicy", "ExternalNetResourceInjection", "KubevirtSeccompProfile"} <= texts[NOT_ASKED]
    assert {"Snapshot", "Template", "NodeRestriction", "VMExport"} <= texts[UNKNOWN]


def test_a_gate_of_all_vms_and_one_that_a_setting_brings_to_all_of_them() -> None:
    seccomp = {"virtualMachineInstanceProfile": {"customProfile": {"localhostProfile": "kubevirt/kubevirt.json"}}}
    evaluation = evaluation_of(kubevirt(configuration={"seccompConfiguration": seccomp}), *vm("a"), *vm("b"))
    counts = {each.name: each.vms for each in impact_of(evaluation, enable="IOMMUFD", upgrade_to="1.9").gates}
    assert (counts["IOMMUFD"], counts["KubevirtSeccompProfile"], counts["VideoConfig"]) == (2, 2, 0)


def test_a_gate_that_decides_with_others_hits_only_where_it_makes_a_difference() -> None:
    permitted = {"pciHostDevices": [{"resourceName": "vendor/gpu", "pciVendorSelector": "10de:1eb8"}]}
    grace = {"pciHostDevices": [{"resourceName": "vendor/gpu", "pciVendorSelector": "10DE:2342"}]}
    for devices, hit in ((permitted, 0), (grace, 1)):
        evaluation = evaluation_of(kubevirt("v1.9.0", configuration={"permittedHostDevices": devices}), *vm("db", GPU))
        assert [each.vms for each in impact_of(evaluation, enable="GraceIOVirtualization").gates] == [hit]


# -- container disks


def test_image_volumes_name_the_vms_with_a_container_disk_and_count_them() -> None:
    rows = [*vm("a", DISK), *vm("b", DISK, running=True), *vm("far", DISK, namespace="far"), *vm("calm")]
    evaluation = evaluation_of(kubevirt(), node("node01", "v1.30.9"), *rows)
    impact = impact_of(evaluation, upgrade_to="1.9")
    (gate,) = [each for each in impact.gates if each.name == "ImageVolume"]
    assert (gate.vms, gate.vmis) == (3, 1)
    (found,) = [each for each in impact.findings if each.finding.reason == "ImageVolumeUnsupported"]
    assert (found.outcome, found.when, found.vms_in_all) == ("breaks", "at the next start or migration of a VM", 3)
    assert [f"{each}" for each in found.vms] == [f"VirtualMachine {name}" for name in ("far/far", "ns/a", "ns/b")]
    assert (impact.counts["breaks"], exit_code(impact)) == (3, 1)
    assert [(each.namespace, each.breaks) for each in impact.namespaces] == [("far", 1), ("ns", 2)]
    assert [(each.feature, each.breaks) for each in impact.features] == [("image_volume", 3)]
    text = impacted(impact)
    assert "Breaks (3):" in text
    assert "hits 3 VMs: far/far, ns/a, ns/b" in text


def test_image_volumes_say_nothing_to_a_cluster_without_container_disks() -> None:
    impact = impact_of(evaluation_of(kubevirt(), node("node01", "v1.30.9"), *vm("calm")), upgrade_to="1.9")
    assert (impact.findings, impact.counts["breaks"], exit_code(impact)) == ((), 0, 0)
    assert "ImageVolume" in said(impact)[NOT_ASKED]


# -- devices of networks


@pytest.mark.parametrize(("injector", "nad", "breaks"), [([], DEVICE, 2), ([INJECTOR], DEVICE, 0), ([], NAD, 0)])
def test_vms_on_a_nad_with_a_device_need_the_injector_from_1_9_on(injector: list[Row], nad: Row, breaks: int) -> None:
    on_red = [row | {"networks": {"b": "red"}} for row in (*vm("halted"), *vm("runs", running=True, migratable=True))]
    evaluation = evaluation_of(kubevirt(), nad, *injector, *on_red, *vm("calm"))
    impact = impact_of(evaluation, upgrade_to="1.9")
    (gate,) = [each for each in impact.gates if each.name == "ExternalNetResourceInjection"]
    assert (gate.vms, gate.vmis) == ((2, 1) if nad is DEVICE else (0, 0))
    assert impact.counts["breaks"] == breaks
    expected = {
        ("breaks", "ns/halted", "StoppedRequestsDisabled", "at its next start"),
        ("breaks", "ns/runs", "MigrationBlocked", "at its next migration"),
    }
    assert bites(impact) == (expected if breaks else set())
    assert all("Install the network resources injector" in each.finding.next for each in impact.findings)


def test_who_is_hit_is_not_known_while_nads_or_webhooks_are_not_seen() -> None:
    evaluation = evaluation_of(kubevirt(), DEVICE, *vm("db", HOST_DISK))
    evaluation.sync_state("NetworkAttachmentDefinition", SyncState.FORBIDDEN)
    impact = impact_of(evaluation, upgrade_to="1.9")
    counts = {each.name: each.vms for each in impact.gates}
    assert (counts["ExternalNetResourceInjection"], counts["RebootPolicy"]) == (None, 0)
    assert "ExternalNetResourceInjection" in said(impact)[""]
    assert exit_code(impact) == 2
    evaluation = evaluation_of(kubevirt(), DEVICE, *vm("db"))
    evaluation.sync_state("MutatingWebhookConfiguration", SyncState.FORBIDDEN)
    impact = impact_of(evaluation, upgrade_to="1.9")
    assert "feature_networks" in {each.check for each in impact.unknown}
    assert exit_code(impact) == 2


# -- what breaks is counted by VMs


def test_a_vm_that_breaks_in_several_ways_is_one() -> None:
    rows = [*vm("both", HOST_DISK, VSOCK, running=True), *vm("one", VSOCK), *vm("far", HOST_DISK, namespace="far")]
    evaluation = evaluation_of(kubevirt(gates=("HostDisk", "VSOCK")), *rows)
    impact = impact_of(evaluation, disable=("HostDisk", "VSOCK"))
    assert len([each for each in impact.findings if each.outcome == "breaks"]) == 4
    assert impact.counts["breaks"] == 3
    assert {each.namespace: each.breaks for each in impact.namespaces} == {"far": 1, "ns": 2}
    assert {each.feature: each.breaks for each in impact.features} == {"host_disk": 2, "vsock": 2}
    assert "Breaks (3):" in impacted(impact)
    assert "3 broken objects" in impacted(impact)


def test_what_no_node_supports_breaks_all_vms_and_is_no_all_clear_where_there_are_none() -> None:
    for rows, breaks in (([*vm("a"), *vm("b", running=True)], 2), ([], 1)):
        impact = impact_of(evaluation_of(kubevirt("v1.9.0"), node("node01"), *rows), enable="IOMMUFD")
        assert [each.finding.reason for each in impact.findings if each.outcome == "breaks"] == ["GateWithoutNodes"]
        assert (impact.counts["breaks"], exit_code(impact)) == (breaks, 1)
    default = {"domain": {"cpu": {"model": "Haswell"}}}
    impact = impact_of(evaluation_of(kubevirt(), node("node01"), *vm("own", default), *vm("a")), set="cpuModel=Nehalem")
    (found,) = [each for each in impact.findings if each.finding.reason == "NoNodeForDefaultModel"]
    assert ([each.path for each in found.vms], found.vms_in_all) == (["ns/a"], 1)


# -- devices that are no longer permitted


def test_who_loses_its_device_with_the_list_of_permitted_ones() -> None:
    permitted = {
        "pciHostDevices": [
            {"resourceName": "vendor/gpu", "pciVendorSelector": "1:2"},
            {"resourceName": "vendor/nic", "pciVendorSelector": "1:3", "externalResourceProvider": True},
        ]
    }
    nic: Row = {"domain": {"devices": {"hostDevices": [{"name": "h", "deviceName": "vendor/nic"}]}}}
    rows = [*vm("halted", GPU), *vm("runs", GPU, running=True), *vm("other", nic, running=True), *vm("calm")]
    nodes = [node("node01", gpu="2", nic="1"), node("node02", gpu="1", nic="1")]
    evaluation = evaluation_of(
        kubevirt(gates=("HostDevices",), configuration={"permittedHostDevices": permitted}), *nodes, *rows
    )
    impact = impact_of(evaluation, set="permittedHostDevices=null")
    assert bites(impact) == {
        ("breaks", "ns/halted", "NoNodeForStart", "at its next start"),
        ("breaks", "ns/runs", "NoNodeSupports", "at its next restart"),
    }
    assert (impact.counts["breaks"], exit_code(impact)) == (2, 1)
    kept = impact_of(evaluation, set="permittedHostDevices.pciHostDevices.1=null")
    assert {path for _, path, _, _ in bites(kept)} == {"ns/other"}


def test_a_feature_of_networks_is_not_said_to_be_asked_for_by_nobody() -> None:
    """Its view counts what specs say, and no spec names the resource of a NAD."""
    evaluation = evaluation_of(kubevirt("v1.9.0"), DEVICE, *(row | {"networks": {"b": "red"}} for row in vm("db")))
    cluster = evaluation.engine.cluster
    usage = FeatureUsage.over(cluster)
    tuple(usage.settle())
    found = features.selected(at_once(features.steps(cluster, usage, (), 1)), ("ext_net_inject",))
    assert [(each.gate, each.features) for each in found.gates] == [
        ("ExternalNetResourceInjection", ("ext_net_inject",))
    ]
    assert "Nothing is asked for" not in listed_features(found, None, folded=False)
