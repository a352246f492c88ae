"""Specs that are alike have their facts in common, and no two that differ in what facts are made of."""

from __future__ import annotations

import copy
import json
from typing import Any

import msgspec
import pytest

from exporter.facts.demand import demand_of
from exporter.facts.rule import Asking
from exporter.facts.spec_facts import SpecFacts, asks_of, hardware_of, memory_demand, spec_facts
from exporter.facts.vm_spec import WireVMSpec
from tests.all_of import all_of, whole

USUAL: dict[str, Any] = {
    "domain": {
        "firmware": {"uuid": "u1", "serial": "s1", "bootloader": {"efi": {}}},
        "cpu": {"cores": 2, "features": [{"name": "vmx"}]},
        "memory": {"guest": "2Gi"},
        "devices": {
            "tpm": {},
            "disks": [{"name": "root"}, {"name": "tray", "cdrom": {}}],
            "interfaces": [{"name": "default", "masquerade": {}, "macAddress": "02:00:00:00:00:01"}],
        },
    },
    "networks": [{"name": "default", "pod": {}}, {"name": "blue", "multus": {"networkName": "blue"}}],
    "volumes": [{"name": "root", "dataVolume": {"name": "one"}}, {"name": "tray", "containerDisk": {}}],
    "nodeSelector": {"zone": "a"},
}

OTHER: list[tuple[str, Any]] = [
    ("volumes.0", {"name": "root", "persistentVolumeClaim": {"claimName": "c", "hotpluggable": True}}),
    ("volumes.0", {"name": "root", "persistentVolumeClaim": [2, True]}),
    ("volumes.0", {"name": "root", "persistentVolumeClaim": {"hotpluggable": True}}),
    ("volumes.0", {"name": "root", "persistentVolumeClaim": [1, True]}),
    ("architecture", "arm64"),
    ("nodeSelector", {"zone": "b"}),
    ("nodeSelector", {"zone": 1}),
    ("nodeSelector", {"zone": True}),
    ("nodeSelector", {"zone": 1.0}),
    ("affinity", {"nodeAffinity": {}}),
    ("tolerations", [{"operator": "Exists"}]),
    ("utilityVolumes", [{}]),
    ("networks.0", {"name": "default"}),
    ("networks.0", {"name": "default", "resourceClaim": {}}),
    ("domain.machine", {"type": "pc"}),
    ("domain.rebootPolicy", "Terminate"),
    ("domain.features", {"hyperv": {"vpindex": {}}}),
    ("domain.features", {"hyperv": {"vpindex": {"enabled": False}}}),
    ("domain.launchSecurity", {"sev": {}}),
    ("domain.launchSecurity", {"sev": {"policy": {"encryptedState": True}}}),
    ("domain.launchSecurity", {"sev": {"policy": {"encryptedState": 1}}}),
    ("domain.resources", {"requests": {"memory": "1Gi"}}),
    ("domain.firmware.bootloader", {"efi": {"persistent": True}}),
    ("domain.cpu.model", "Skylake"),
    ("domain.cpu.cores", 4),
    ("domain.cpu.features", [{"name": "vmx", "policy": "forbid"}]),
    ("domain.cpu.realtime", {}),
    ("domain.memory.guest", "4Gi"),
    ("domain.memory.guest", 1),
    ("domain.memory.hugepages", {"pageSize": "2Mi"}),
    ("domain.memory.reservedOverhead", {}),
    ("domain.devices.tpm", {"persistent": True}),
    ("domain.devices.gpus", [{"deviceName": "vendor/gpu"}]),
    ("domain.devices.filesystems", [{"name": "root"}]),
    ("domain.devices.disks.1.name", "nothing"),
    ("domain.devices.disks.0.lun", {"reservation": True}),
    ("domain.devices.interfaces.0", {"name": "default", "bridge": {}}),
    ("domain.devices.interfaces.0", {"name": "default", "binding": {"name": "passt"}}),
    ("domain.devices.interfaces.0", {"name": "default"}),
    ("domain.devices.interfaces.0.portRanges", []),
    ("volumes.0.dataVolume", {"name": "one", "hotpluggable": True}),
    ("volumes.0.dataVolume", {"name": "one", "hotpluggable": 1}),
    ("volumes.0.dataVolume", True),
    ("volumes.0", {"name": "root", "persistentVolumeClaim": {}, "dataVolume": {"hotpluggable": True}}),
    ("volumes.0", {"name": "root", "persistentVolumeClaim": {"claimName": "a"}, "dataVolume": {"hotpluggable": True}}),
    ("volumes.0", {"name": "root", "hostDisk": {"path": "/x"}}),
    ("volumes.0", {"name": "root", "downwardMetrics": {}}),
]

OWN: list[tuple[str, Any]] = [
    ("domain.firmware.uuid", "u2"),
    ("domain.firmware.serial", "s2"),
    ("domain.devices.interfaces.0.macAddress", "02:00:00:00:00:02"),
    ("networks.1.multus.networkName", "red"),
    ("volumes.0.dataVolume.name", "two"),
]


def _asking(path: str = "", value: Any = None, **around: Any) -> Asking:
    spec = copy.deepcopy(USUAL)
    *before, last = path.split(".")
    place: Any = spec
    for each in before:
        place = place[int(each) if each.isdecimal() else each]
    if last:
        place[int(last) if last.isdecimal() else last] = value
    return Asking(msgspec.json.decode(json.dumps(spec), type=WireVMSpec), **around)


def _anew(asking: Asking) -> SpecFacts:
    domain = asking.domain
    return SpecFacts(asks_of(asking), demand_of(asking.spec), hardware_of(domain), memory_demand(domain))


@all_of([pytest.param(*each, id=f"{each}") for each in OTHER], whole)
def test_what_differs_has_facts_of_its_own(path: str, value: Any) -> None:
    usual = spec_facts(_asking())
    assert usual == _anew(_asking())
    other = spec_facts(_asking(path, value))
    assert other is not usual
    assert repr(other) == repr(_anew(_asking(path, value)))


@pytest.mark.parametrize(
    "around",
    [
        {"ignition": "{}"},
        {"sidecars": "[]"},
        {"run_strategy": "WaitAsReceiver"},
        {"volumes_strategy": "Migration"},
        {"tracking": "Enabled"},
        {"user": 0},
        {"user": 107},
        {"hotplugged": True},
    ],
)
def test_what_is_around_the_spec_counts(around: dict[str, Any]) -> None:
    usual = spec_facts(_asking())
    assert usual.asks != spec_facts(_asking(**around)).asks == asks_of(_asking(**around))


@pytest.mark.parametrize(("path", "value"), OWN)
def test_what_each_vm_has_of_its_own_does_not_count(path: str, value: Any) -> None:
    assert spec_facts(_asking(path, value)) is spec_facts(_asking())
    assert _anew(_asking(path, value)) == _anew(_asking())


def test_a_spec_that_nobody_can_write_out_has_its_facts() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"x": deep}
    asking = Asking(WireVMSpec(networks=None, node_selector={"x": "y"}, utility_volumes=[deep]))
    assert ("utility_volumes", "") in spec_facts(asking).asks
    while deep:  # one by one: taken apart at once, it would be too deep as well
        deep = deep.pop("x")
