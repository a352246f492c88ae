"""What a KubeVirt object allows: its settings over the defaults of its version, and when nobody knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from exporter.domain.features.configuration import OBSOLETE_CPU_MODELS, Effective, effective, forecast
from exporter.store.decode import ObjectDecoder
from exporter.store.kinds.kube_virt import EVEN_PARITY, KubeVirt, assuming, changed
from tests.rows import full

_DECODER = ObjectDecoder(KubeVirt.KIND)


def kubevirt(version: str = "v1.9.0", *gates: str, **row: Any) -> KubeVirt:
    configuration = {"developerConfiguration": {"featureGates": list(gates)}, **row.pop("configuration", {})}
    defaults = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": version}
    made = _DECODER.object(json.dumps(full({**defaults, "configuration": configuration, **row})).encode())
    assert isinstance(made.record, KubeVirt), made.why
    return made.record


def known(version: str = "v1.9.0", *gates: str, **row: Any) -> Effective:
    found = effective([kubevirt(version, *gates, **row)])
    assert isinstance(found, Effective), found
    return found


def unknown(*kubevirts: KubeVirt) -> str:
    found = effective(kubevirts)
    assert isinstance(found, str)
    return found


def test_defaults() -> None:
    found = known()

    assert (found.permitted_devices, found.bindings, found.bridge_on_pod_network) == (None, frozenset(), True)
    assert (found.default_interface, found.cpu_model, found.state_storage_class) == ("bridge", "", "")
    assert found.obsolete_cpu_models == OBSOLETE_CPU_MODELS
    assert [found.emulated_machines(arch) for arch in ("amd64", "arm64", "s390x", "")] == [
        ("q35*", "pc-q35*"),
        ("virt*",),
        ("s390-ccw-virtio*",),
        ("q35*", "pc-q35*"),
    ]
    assert [found.machine_type(arch) for arch in ("amd64", "arm64", "s390x")] == ["q35", "virt", "s390-ccw-virtio"]
    assert found.on("CommonInstancetypesDeploymentGate")
    assert found.hypervisors == ("kvm",)


def test_what_is_written_is_in_effect() -> None:
    found = known(
        configuration={
            "permittedHostDevices": {
                "pciHostDevices": [{"resourceName": "nvidia.com/T4", "pciVendorSelector": "10DE:1EB8"}, None],
                "mediatedDevices": [
                    {"resourceName": "nvidia.com/vGPU", "mdevNameSelector": "GRID"},
                    {"resourceName": "vendor/vGPU", "externalResourceProvider": True},
                ],
                "usb": [{"resourceName": "kubevirt.io/key"}],
            },
            "network": {
                "binding": {"l2bridge": {}, "passt": {"sidecarImage": "x"}},
                "defaultNetworkInterface": "masquerade",
                "permitBridgeInterfaceOnPodNetwork": False,
            },
            "emulatedMachines": [],
            "architectureConfiguration": {
                "amd64": {"emulatedMachines": ["pc-q35-rhel9*"], "machineType": "pc-q35-rhel9.4"}
            },
            "obsoleteCPUModels": {"Haswell": False},
            "cpuModel": "Skylake-Server",
            "vmStateStorageClass": "fast",
        }
    )

    assert set(found.permitted_devices or ()) == {"nvidia.com/T4", "nvidia.com/vGPU", "vendor/vGPU", "kubevirt.io/key"}
    assert (set(found.mediated_devices), set(found.external_devices)) == ({"nvidia.com/vGPU"}, {"vendor/vGPU"})
    assert found.pci_vendors == {"nvidia.com/T4": {"10de:1eb8"}}
    assert found.bindings == {"l2bridge", "passt"}
    assert (found.default_interface, found.bridge_on_pod_network) == ("masquerade", False)
    assert found.emulated_machines("amd64") == ("pc-q35-rhel9*",)
    assert found.machine_type("amd64") == "pc-q35-rhel9.4"
    assert found.emulated_machines("arm64") == ("virt*",)
    assert (set(found.obsolete_cpu_models), found.cpu_model) == ({"Haswell"}, "Skylake-Server")
    assert found.state_storage_class == "fast"


def test_the_legacy_list_of_machines_counts_for_all_architectures() -> None:
    found = known(
        configuration={
            "emulatedMachines": ["virt-8*"],
            "architectureConfiguration": {"arm64": {"emulatedMachines": ["x"]}},
        }
    )

    assert found.emulated_machines("arm64") == found.emulated_machines("amd64") == ("virt-8*",)


def test_nothing_is_permitted_by_an_empty_section() -> None:
    assert known(configuration={"permittedHostDevices": {}}).permitted_devices == frozenset()
    assert known(configuration={"permittedHostDevices": {"usb": []}}).permitted_devices == frozenset()
    assert known(configuration={"permittedHostDevices": None}).permitted_devices is None


@pytest.mark.parametrize(
    ("gate", "version", "gates", "row", "on"),
    [
        ("PersistentReservation", "v1.9.0", (), {}, False),
        ("PersistentReservation", "v1.9.0", ("PersistentReservation",), {}, True),
        ("PersistentReservation", "v1.8.4", ("PersistentReservation",), {}, True),
        ("PersistentReservation", "v1.9.0-beta.0", ("PersistentReservation",), {}, True),
        ("PersistentReservation", "v1.9.0", (), {"persistentReservationConfiguration": {"enabled": True}}, True),
        ("PersistentReservation", "v1.8.4", (), {"persistentReservationConfiguration": {"enabled": True}}, False),
        (
            "PersistentReservation",
            "v1.9.0",
            ("PersistentReservation",),
            {"persistentReservationConfiguration": {"enabled": False}},
            False,
        ),
        ("DisableMDEVConfiguration", "v1.8.4", ("DisableMDEVConfiguration",), {}, True),
        (
            "DisableMDEVConfiguration",
            "v1.8.4",
            ("DisableMDEVConfiguration",),
            {"mediatedDevicesConfiguration": {"enabled": True}},
            False,
        ),
        ("DisableMDEVConfiguration", "v1.8.4", (), {"mediatedDevicesConfiguration": {"enabled": False}}, True),
        ("DisableMDEVConfiguration", "v1.7.4", (), {"mediatedDevicesConfiguration": {"enabled": False}}, False),
        ("DeclarativeHotplugVolumes", "v1.9.0", (), {}, True),
        ("DeclarativeHotplugVolumes", "v1.9.0", ("HotplugVolumes",), {}, False),
        ("Template", "v1.9.0", (), {"virtTemplateDeployment": {"enabled": False}}, False),
        ("Template", "v1.9.0", (), {"virtTemplateDeployment": {}}, True),
        ("Template", "v1.8.4", (), {"virtTemplateDeployment": {"enabled": True}}, False),
        (
            "CommonInstancetypesDeploymentGate",
            "v1.4.0",
            (),
            {"commonInstancetypesDeployment": {"enabled": False}},
            False,
        ),
        ("CommonInstancetypesDeploymentGate", "v1.3.0", (), {}, False),
        ("EnableVirtioFsStorageVolumes", "v1.7.4", ("ExperimentalVirtiofsSupport",), {}, True),
        ("EnableVirtioFsConfigVolumes", "v1.4.0", ("ExperimentalVirtiofsSupport",), {}, True),
        ("EnableVirtioFsStorageVolumes", "v1.8.4", ("ExperimentalVirtiofsSupport",), {}, False),
        ("ClusterProfiler", "v1.9.0", ("ClusterProfiler",), {}, False),
        ("ClusterProfiler", "v1.7.0", ("ClusterProfiler",), {}, True),
        ("AlignCPUs", "v1.9.0", ("AlignCPUs",), {}, False),
    ],
)
def test_settings_that_decide_in_the_place_of_a_gate(
    gate: str, version: str, gates: tuple[str, ...], row: dict[str, Any], on: bool
) -> None:
    found = known(version, *gates, configuration={"developerConfiguration": {"featureGates": list(gates)}, **row})

    assert found.on(gate) == on
    assert (found.source(gate) in ("always", "listed", "default")) == on


def test_cpus_are_aligned_with_the_annotation_alone() -> None:
    assert known("v1.9.0", "AlignCPUs", annotations={EVEN_PARITY: ""}).on("AlignCPUs")
    assert not known("v1.9.0", annotations={EVEN_PARITY: ""}).on("AlignCPUs")


def test_nobody_knows_what_counts_without_one_deployed_kubevirt() -> None:
    assert unknown() == "no KubeVirt object is deployed"
    assert unknown(kubevirt(phase="")) == "no KubeVirt object is deployed"
    assert unknown(kubevirt(deleting=True)) == "no KubeVirt object is deployed"
    assert isinstance(effective([kubevirt(), kubevirt(name="old", deleting=True)]), Effective)
    assert "kubevirt/kubevirt and kubevirt/other" in unknown(kubevirt(), kubevirt(name="other"))


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"version": ""}, "has no version in its status yet"),
        ({"version": "v4.19.1-rhel9"}, 'is of version "v4.19.1-rhel9", which is not an upstream release'),
        ({"version": "v1.9.0-beta.0.1264+d923fdb8150000"}, "v1.9.0-beta.0 and 1264 commits"),
        ({"version": "v0.41.0"}, "older than v0.59.0"),
        (
            {"configuration": {"cpuModel": ["Haswell"]}},
            "undecodable: spec.configuration: cpuModel is a list where text is expected",
        ),
        ({"configuration": {"network": {"binding": "passt"}}}, "undecodable"),
        ({"configuration": {"network": {"defaultNetworkInterface": "passt"}}}, "network.defaultNetworkInterface"),
        ({"configuration": {"imagePullPolicy": "Sometimes"}}, "imagePullPolicy"),
        ({"configuration": {"developerConfiguration": {"memoryOvercommit": -1}}}, "memoryOvercommit: -1 is below 0"),
        ({"configuration": {"developerConfiguration": {"pvcTolerateLessSpaceUpToPercent": 101}}}, "not from 0 to 100"),
    ],
)
def test_nobody_knows_what_an_unclear_object_allows(row: dict[str, Any], why: str) -> None:
    assert why in unknown(kubevirt(**row))


def test_a_ratio_of_0_is_the_default() -> None:
    zeros = {"memoryOvercommit": 0, "cpuAllocationRatio": 0, "pvcTolerateLessSpaceUpToPercent": 0}

    assert known(configuration={"developerConfiguration": zeros}).default_interface == "bridge"


def test_a_version_is_taken_for_the_one_to_assume() -> None:
    downstream = assuming(kubevirt("v4.19.1-rhel9"), "v1.5.0")

    found = effective([downstream])
    assert isinstance(found, Effective)
    assert (found.version.tag, downstream.release, downstream.version) == ("v1.5.0", (1, 5), "v4.19.1-rhel9")
    assert assuming(downstream, "") == kubevirt("v4.19.1-rhel9")


def test_the_configuration_is_shared_by_all_who_ask() -> None:
    assert known(configuration={"cpuModel": "Haswell"}) is known(configuration={"cpuModel": "Haswell"})


def test_an_upgrade_under_way_has_a_forecast() -> None:
    coming = forecast(kubevirt("v1.8.4", target="v1.9.0"))

    assert coming is not None
    assert (coming.on("Snapshot"), known("v1.8.4", target="v1.9.0").on("Snapshot")) == (True, False)
    assert forecast(kubevirt("v1.9.0", target="v1.9.0")) is None
    assert forecast(kubevirt("v1.8.4", target="v4.20-rhel9")) is None


def test_a_changed_record_is_as_if_it_had_been_read_so() -> None:
    one = kubevirt(
        "v1.4.0", configuration={"evictionStrategy": "LiveMigrate", "instancetype": {"referencePolicy": "expand"}}
    )
    other = {
        "developerConfiguration": {"featureGates": ["InstancetypeReferencePolicy"]},
        "instancetype": {"referencePolicy": "expand"},
        "migrations": {"nodeDrainTaintKey": "down", "parallelMigrationsPerCluster": 9},
    }

    by_configuration = changed(one, configuration=json.dumps(other))
    by_version = changed(one, version="v1.6.0")

    assert by_configuration == kubevirt("v1.4.0", configuration=other)
    assert (one.reference_policy, by_configuration.reference_policy, by_version.reference_policy) == (
        "reference",
        "expand",
        "expand",
    )
    assert (by_version.version, by_version.target, by_version.upgrading) == ("v1.6.0", "v1.6.0", False)
    with pytest.raises(ValueError, match="evictionStrategy"):
        changed(one, configuration='{"evictionStrategy": 1}')
    with pytest.raises(ValueError, match="malformed"):
        changed(one, configuration="{]")


def test_order_and_empty_fields_make_no_other_configuration() -> None:
    one = kubevirt(configuration={"cpuModel": "Haswell", "machineType": None, "emulatedMachines": []})
    other = kubevirt(configuration={"emulatedMachines": None, "cpuModel": "Haswell"})

    assert one.same_facts(other)


def test_nesting_without_end_is_cut() -> None:
    row = {"kind": "KubeVirt", "name": "kubevirt", "namespace": "kubevirt", "version": "v1.9.0"}
    raw = json.dumps(full({**row, "configuration": {"smbios": "DEEP"}}))
    made = _DECODER.object(raw.replace('"DEEP"', "[" * 9_000 + "]" * 9_000).encode())

    assert isinstance(made.record, KubeVirt), made.why
    assert isinstance(effective([made.record]), Effective)
