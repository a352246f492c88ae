"""What a VM's instancetype and preference add to its spec, by whichever way KubeVirt finds them."""

from __future__ import annotations

from typing import Any

from exporter.checks import all_checks
from exporter.domain.instancetypes.conflicts import differing
from exporter.domain.instancetypes.resolving import Contributions, contributions
from exporter.facts.matching import MatcherRole
from exporter.facts.specs import canonical
from exporter.facts.times import Since
from exporter.store.kinds.kube_virt import KubeVirt
from exporter.store.kinds.virtual_machine import VirtualMachine
from tests.evaluation import Evaluation
from tests.rows import full

Row = dict[str, Any]
GIVES = {
    "cpu": {
        "guest": 2,
        "maxSockets": 4,
        "model": "host-passthrough",
        "dedicatedCPUPlacement": True,
        "isolateEmulatorThread": True,
        "numa": {"guestMappingPassthrough": {}},
        "realtime": {"mask": "0-1"},
    },
    "memory": {"guest": "2Gi", "maxGuest": "8Gi", "hugepages": {"pageSize": "1Gi"}},
    "gpus": [{"name": "gpu", "deviceName": "nvidia.com/T4"}],
    "hostDevices": [{"name": "nic", "deviceName": "example.org/nic"}],
    "ioThreadsPolicy": "auto",
    "ioThreads": {"supplementalPoolThreadCount": 2},
    "launchSecurity": {"sev": {}},
    "nodeSelector": {"zone": "a"},
    "schedulerName": "other",
    "annotations": {"hooks.kubevirt.io/hookSidecars": "[]"},
}
PREFERS = {
    "cpu": {"preferredCPUTopology": "spread", "spreadOptions": {"across": "CoresThreads", "ratio": 2}},
    "devices": {
        "preferredTPM": {"enabled": True, "persistent": True},
        "preferredPanicDeviceModel": "isa",
        "preferredVideoType": "virtio",
    },
    "firmware": {"preferredEfi": {"persistent": True, "secureBoot": False}, "preferredUseEfi": True},
    "features": {"preferredHyperv": {"relaxed": {}}},
    "machine": {"preferredMachineType": "pc-q35-rhel9.6.0"},
    "preferredArchitecture": "amd64",
    "preferredLaunchSecurity": {"tdx": {}},
    "preferSpreadSocketToCoreRatio": 4,
    "annotations": {"kubevirt.io/ignitiondata": "{}"},
}
BOTH: list[Row] = [
    {"kind": "VirtualMachineClusterInstancetype", "name": "large", "spec": GIVES},
    {"kind": "VirtualMachinePreference", "name": "linux", "spec": PREFERS},
]
USES: Row = {
    "kind": "VirtualMachine",
    "name": "db",
    "uid": "u1",
    "instancetype": {"name": "large"},
    "preference": {"name": "linux", "kind": "virtualmachinepreferences"},
}


def added(*rows: Row, version: str = "v1.7.1") -> Contributions:
    evaluation = Evaluation(all_checks())
    for row in (*rows, {"kind": "KubeVirt", "name": "kubevirt", "version": version}):
        evaluation.seen(full(row))
    cluster = evaluation.engine.cluster
    vm, kubevirt = cluster.get(VirtualMachine, "ns", "db"), next(iter(cluster.all(KubeVirt)))
    assert vm is not None
    return contributions(vm, cluster.get, kubevirt)


def stash(name: str, spec: Row, version: str = "v1beta1") -> Row:
    meta = {"name": "large", "uid": "t0", "generation": 1}
    of = {"apiVersion": f"instancetype.kubevirt.io/{version}", "kind": "VirtualMachineClusterInstancetype"}
    return {"kind": "ControllerRevision", "name": name, "owner": "u1", "of": {**of, "metadata": meta, "spec": spec}}


def test_all_that_both_can_request_is_there() -> None:
    found = added(*BOTH, USES)
    gives, prefers = found.instancetype, found.preference
    assert gives is not None
    assert prefers is not None
    assert found.unresolved == ()
    cpu, memory = gives.cpu, gives.memory
    assert (cpu.guest, cpu.max_sockets, cpu.model, cpu.dedicated_cpu_placement) == (2, 4, "host-passthrough", True)
    assert (cpu.isolate_emulator_thread, cpu.realtime) == (True, {"mask": "0-1"})
    assert cpu.numa is not None
    assert cpu.numa.guest_mapping_passthrough == {}
    assert (memory.guest, memory.max_guest, memory.hugepages) == ("2Gi", "8Gi", {"pageSize": "1Gi"})
    named = [each.device_name for each in (*(gives.gpus or ()), *(gives.host_devices or ())) if each is not None]
    assert named == ["nvidia.com/T4", "example.org/nic"]
    assert (gives.io_threads_policy, gives.launch_security, gives.scheduler_name) == ("auto", {"sev": {}}, "other")
    assert gives.io_threads is not None
    assert gives.io_threads.supplemental_pool_thread_count == 2
    assert (gives.node_selector, gives.annotations) == ({"zone": "a"}, GIVES["annotations"])
    devices, firmware = prefers.devices, prefers.firmware
    assert devices is not None
    assert devices.preferred_tpm is not None
    assert (devices.preferred_tpm.enabled, devices.preferred_tpm.persistent) == (True, True)
    assert firmware is not None
    assert firmware.preferred_efi is not None
    assert (firmware.preferred_efi.persistent, firmware.preferred_efi.secure_boot) == (True, False)
    assert firmware.preferred_use_efi is True
    assert prefers.features is not None
    assert prefers.features.preferred_hyperv == {"relaxed": {}}
    assert prefers.machine is not None
    assert prefers.machine.preferred_machine_type == "pc-q35-rhel9.6.0"
    assert (prefers.preferred_architecture, prefers.preferred_launch_security) == ("amd64", {"tdx": {}})
    assert prefers.annotations == PREFERS["annotations"]


def test_the_copy_counts_and_not_the_live_object() -> None:
    pinned = USES | {"instancetype": {"name": "large", "revisionName": "rev"}}
    found = added(*BOTH, stash("rev", {"cpu": {"guest": 7}, "memory": {"guest": "1Gi"}}), pinned)
    assert found.instancetype is not None
    assert found.instancetype.cpu.guest == 7


def test_what_kubevirt_can_not_find_is_unresolved() -> None:
    assert added(USES).unresolved == (MatcherRole.INSTANCETYPE, MatcherRole.PREFERENCE)
    old = stash("rev", {"cpu": {"guest": 7}, "memory": {"guest": "1Gi"}}, "v1alpha2")
    pinned = USES | {"instancetype": {"name": "large", "revisionName": "rev"}}
    assert added(*BOTH, old, pinned, version="v1.7.1").unresolved == (MatcherRole.INSTANCETYPE,)
    assert added(*BOTH, old, pinned, version="v1.6.0").unresolved == ()


def test_a_vm_without_either_gets_nothing() -> None:
    assert added({"kind": "VirtualMachine", "name": "db"}) == Contributions(None, None, ())


def test_fields_that_differ_are_named() -> None:
    before = canonical(b'{"cpu": {"guest": 1, "numa": {}}, "memory": {"guest": "1024Mi"}, "gpus": [{"name": "a"}]}')
    after = canonical(b'{"memory": {"guest": "1Gi", "maxGuest": "2Gi"}, "gpus": null, "cpu": {"guest": 2}}')
    assert differing(before, after) == ("cpu.guest", "cpu.numa", "gpus", "memory.maxGuest")
    assert differing(before, before) == ()
    assert differing(canonical(b'{"nodeSelector": {}}'), canonical(b"{}")) == ()


def test_what_kubevirt_takes_for_equal_is_equal() -> None:
    assert canonical(b'{"b": null, "a": [], "schedulerName": "", "c": {"d": 1, "a": 2}}') == (
        canonical(b'{"c": {"a": 2, "d": 1}}')
    )
    assert canonical(b'{"firmware": {"preferredEfi": {}}}') != canonical(b'{"firmware": {}}')


def test_a_missing_pin_whose_copy_the_status_still_names_says_so() -> None:
    evaluation = Evaluation(all_checks())
    pinned = USES | {"instancetype": {"name": "large", "revisionName": "gone"}, "instancetypeRef": "rev"}
    for row in (*BOTH, stash("rev", GIVES), pinned, {"kind": "KubeVirt", "name": "kubevirt"}):
        evaluation.seen(full(row))
    evaluation.evaluate()

    (found,) = [each for each in evaluation.engine.findings() if each.reason == "RevisionMissing"]
    assert "If the ControllerRevision in its status fits" in found.next
    assert found.evidence["statusRevision"] == "rev"


def test_a_broken_reference_is_as_old_as_kubevirt_reports_it() -> None:
    evaluation = Evaluation(all_checks())
    vm = full(USES | {"failure": "FailedFindInstancetype"})
    vm["status"]["conditions"][0]["lastTransitionTime"] = "2026-06-01T00:00:00Z"
    evaluation.seen(vm)
    evaluation.evaluate()

    sources = {f.evidence["role"]: f.since_source for f in evaluation.engine.findings() if f.reason == "ObjectMissing"}
    assert sources == {"instancetype": Since.CONDITION, "preference": Since.FIRST_SEEN}
