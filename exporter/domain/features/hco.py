"""Where the HyperConverged object sets what stands in a KubeVirt object that it owns.

The HyperConverged Cluster Operator (HCO) writes the KubeVirt object from it and reverts a direct edit of that
(controllers/handlers/kubevirt.go of kubevirt/hyperconverged-cluster-operator). What has no field there can be put in by
the JSON patch in an annotation; a gate that HCO disables can't, since KubeVirt refuses one that is in both lists.
"""

from __future__ import annotations

from msgspec import Struct

HYPERCONVERGED = "kubevirt-hyperconverged"
"""The name of the object, beside KubeVirt in its namespace."""

REVERTED = "HCO reverts a direct edit of KubeVirt."

_PATCH = "the annotation kubevirt.kubevirt.io/jsonpatch"
_ENABLED, _DISABLED = "state Enabled (true in v1beta1)", "state Disabled (false in v1beta1)"
_PASST = "the annotation hco.kubevirt.io/deployPasstNetworkBinding"
_HCO = "HCO itself"
_AIE = "the annotation hco.kubevirt.io/deployAIE"


class Way(Struct, frozen=True, gc=False):
    """The place in HyperConverged, and what to write there to have a gate on or off; empty where nothing does that.

    `name` is the entry's in a list of gates, where the place is one; `gate` whether it is for a gate.
    """

    place: str
    on: str
    off: str
    name: str = ""
    gate: bool = True

    def sentence(self, on: bool | None) -> str:
        """What to do to have it on, off, or as one likes."""
        if on is None and self.place == _PATCH and self.gate:
            return f"If {_PATCH} of HyperConverged {HYPERCONVERGED} lists it, correct that; else HCO does so by itself."
        written = "" if on is None else self.on if on else self.off
        if on is not None and not written:
            return f"HyperConverged {HYPERCONVERGED} has no way to have it {'on' if on else 'off'}."
        if self.place == _HCO:
            return (
                f"HyperConverged {HYPERCONVERGED} always has it on: if it is off, find out why HCO does not reconcile."
            )
        entry = f'entry "{self.name}" of {self.place}' if self.name else self.place
        return f"In HyperConverged {HYPERCONVERGED}, {entry} decides it{f': {written}' if written else ''}."

    def brief(self, on: bool | None) -> str:
        """The same in a few words, without the value; empty where it takes more than these."""
        written = "" if on is None else self.on if on else self.off
        if self.place in (_PATCH, _HCO) or (on is not None and not written):
            return ""
        if self.name:
            act = "Change" if on is None else "Enable" if written == _ENABLED else "Disable"
            return f"{act} {self.name} in {self.place} of HyperConverged."
        return f"Change {self.place} of HyperConverged."


def _gate(name: str) -> Way:
    return Way("spec.featureGates", _ENABLED, _DISABLED, name)


def _instead(name: str) -> Way:
    """A gate that is on in the place of another."""
    return Way("spec.featureGates", _DISABLED, _ENABLED, name)


def _section(path: str, on: str, off: str = "") -> Way:
    return Way(path, on, off)


_AIE_GATES = ("GraceIOVirtualization", "IOMMUFD", "PCINUMAAwareTopology")
_ALWAYS = ("CPUManager", "HostDevices", "HypervStrictCheck", "KubevirtSeccompProfile", "Snapshot")

_GATES = {
    "AlignCPUs": _gate("alignCPUs"),
    "ContainerPathVolumes": _gate("containerPathVolumes"),
    "DecentralizedLiveMigration": _gate("decentralizedLiveMigration"),
    "DeclarativeHotplugVolumes": _gate("declarativeHotplugVolumes"),
    "DownwardMetrics": _gate("downwardMetrics"),
    "HotplugVolumes": _instead("declarativeHotplugVolumes"),
    "IncrementalBackup": _gate("incrementalBackup"),
    "ObjectGraph": _gate("objectGraph"),
    "Template": _gate("template"),
    "UtilityVolumes": _gate("incrementalBackup"),
    "DisableMDEVConfiguration": _section("spec.virtualization.mediatedDevicesConfiguration.enabled", "false", "true"),
    "PersistentReservation": _section("spec.storage.persistentReservationConfiguration.enabled", "true", "false"),
    "ConfigurableHypervisor": _section("spec.virtualization.hypervisors", "any entry", "no entry"),
    "OptOutRoleAggregation": _section("spec.virtualization.roleAggregationStrategy", "any value", "no value"),
    "PasstBinding": _section(_PASST, '"true"', "leave it out"),
    "ExternalNetResourceInjection": _section("the network resources injector", "deploy it", "do not deploy it"),
    "SecureExecution": _section("the presence of an s390x node for workloads", "have one", "have none"),
    **dict.fromkeys(_AIE_GATES, _section(_AIE, '"true"', "leave it out")),
    **dict.fromkeys(_ALWAYS, _section(_HCO, "always")),
}


def _other_gate(name: str) -> Way:
    return _section(
        _PATCH,
        f"add {name} to featureGates, and remove it from disabledFeatureGates if it is there",
        f"remove {name} from featureGates",
    )


_SETTINGS = {
    "autoCPULimitNamespaceLabelSelector": "spec.virtualization.autoCPULimitNamespaceLabelSelector",
    "changedBlockTrackingLabelSelectors": "spec.virtualization.changedBlockTrackingLabelSelectors",
    "commonInstancetypesDeployment": "spec.workloadSources.commonInstancetypesDeployment",
    "cpuModel": "spec.virtualization.virtualMachineOptions.defaultCPUModel",
    "defaultRuntimeClass": "spec.virtualization.virtualMachineOptions.defaultRuntimeClass",
    "developerConfiguration.cpuAllocationRatio": "spec.virtualization.vmiCPUAllocationRatio",
    "developerConfiguration.memoryOvercommit": ("spec.virtualization.higherWorkloadDensity.memoryOvercommitPercentage"),
    "evictionStrategy": "spec.virtualization.evictionStrategy",
    "hypervisors": "spec.virtualization.hypervisors",
    "instancetype": "spec.workloadSources.instancetypeConfig",
    "ksmConfiguration": "spec.virtualization.ksmConfiguration",
    "liveUpdateConfiguration": "spec.virtualization.liveUpdateConfiguration",
    "mediatedDevicesConfiguration": "spec.virtualization.mediatedDevicesConfiguration",
    "migrations": "spec.virtualization.liveMigrationConfig",
    "network.binding": "spec.networking.networkBinding",
    "obsoleteCPUModels": "spec.virtualization.obsoleteCPUModels",
    "permittedHostDevices": "spec.virtualization.permittedHostDevices",
    "persistentReservationConfiguration": "spec.storage.persistentReservationConfiguration",
    "roleAggregationStrategy": "spec.virtualization.roleAggregationStrategy",
    "vmStateStorageClass": "spec.storage.vmStateStorageClass",
}


def _setting(path: str) -> Way:
    return Way(path, "", "", gate=False)


def way_of_gate(gate: str) -> Way:
    return _GATES.get(gate) or _other_gate(gate)


def way_of_setting(path: str) -> Way:
    """Of a path below spec.configuration of KubeVirt, such as network.binding."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        if found := _SETTINGS.get(".".join(parts[:length])):
            return _setting(found)
    return _setting(_PATCH)
