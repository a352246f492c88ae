"""What a feature rule declares: how a VM asks for something, who has to allow that, and where a refusal bites."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from .vm_spec import WireCPU, WireDevices, WireDomain, WireVMSpec

if TYPE_CHECKING:  # who makes a ground stands above
    from ..domain.features.configuration import Effective
    from ..store.kinds.storage import StorageClass

__all__ = ["IGNITION", "SIDECARS", "Asking", "Ground", "Migrates", "Request", "Rule", "Severities", "Stage", "once"]

# The field of KubeVirt's API by which a VM or VMI asks for a feature; `spec` is that of the VMI or of a template.
#
# Where several ask for the same, the one that is written most.

_DEVICE_FIELDS = "spec.domain.devices"
_INTERFACES = f"{_DEVICE_FIELDS}.interfaces[]"
_PERSISTENT = f"{_DEVICE_FIELDS}.tpm.persistent or spec.domain.firmware.bootloader.efi.persistent"
_NAMED = f"{_DEVICE_FIELDS}.gpus[].deviceName or hostDevices[].deviceName"

FIELDS = {
    "align_cpus": "spec.domain.cpu.isolateEmulatorThread",
    "binding_plugin": f"{_INTERFACES}.binding",
    "bridge_on_pod_network": f"{_INTERFACES}.bridge",
    "cbt": "status.changedBlockTracking",
    "container_path": "spec.volumes[].containerPath",
    "cpu_manager": "spec.domain.cpu.dedicatedCpuPlacement",
    "cross_arch": "spec.architecture",
    "decentralized_migration": "runStrategy WaitAsReceiver of the VM",
    "declarative_hotplug": "hotpluggable in spec.volumes[]",
    "default_network_interface": f"no {_DEVICE_FIELDS}.interfaces",
    "downward_metrics": f"{_DEVICE_FIELDS}.downwardMetrics or spec.volumes[].downwardMetrics",
    "empty_cdrom": f"{_DEVICE_FIELDS}.disks[].cdrom",
    "emulated_machines": "spec.domain.machine.type",
    "ext_net_inject": "annotation k8s.v1.cni.cncf.io/resourceName of the NAD",
    "gpu": f"{_DEVICE_FIELDS}.gpus",
    "gpu_dra": f"{_DEVICE_FIELDS}.gpus[].claimName",
    "grace_io": _NAMED,
    "host_devices": f"{_DEVICE_FIELDS}.hostDevices",
    "host_disk": "spec.volumes[].hostDisk",
    "hostdev_dra": f"{_DEVICE_FIELDS}.hostDevices[].claimName",
    "hotplug_volumes": "status.volumeStatus[].hotplugVolume",
    "hyperv_strict": "spec.domain.features.hyperv",
    "ignition": "annotation kubevirt.io/ignitiondata",
    "image_volume": "spec.volumes[].containerDisk or spec.domain.firmware.kernelBoot.container",
    "interface_binding": _INTERFACES,
    "macvtap": f"{_INTERFACES}.macvtap",
    "multi_arch": "spec.architecture",
    "net_dra": "spec.networks[].resourceClaim",
    "network_binding": f"{_INTERFACES}.binding.name",
    "numa": "spec.domain.cpu.numa",
    "obsolete_cpu_models": "spec.domain.cpu.model",
    "panic_devices": f"{_DEVICE_FIELDS}.panicDevices",
    "passt_binding": f"{_INTERFACES}.passtBinding",
    "passt_legacy": f"{_INTERFACES}.passt",
    "permitted_host_devices": _NAMED,
    "persistent_reservation": f"{_DEVICE_FIELDS}.disks[].lun.reservation",
    "persistent_state": _PERSISTENT,
    "port_ranges": f"{_INTERFACES}.ports[]",
    "reboot_policy": "spec.domain.rebootPolicy",
    "reserved_overhead": "spec.domain.memory.reservedOverhead",
    "root": "status.runtimeUser",
    "secure_execution": "spec.domain.launchSecurity",
    "sev": "spec.domain.launchSecurity.sev or snp",
    "sidecar": "annotation hooks.kubevirt.io/hookSidecars",
    "slirp": f"{_INTERFACES}.slirp",
    "tdx": "spec.domain.launchSecurity.tdx",
    "utility_volumes": "spec.utilityVolumes",
    "vgpu_migration": f"{_DEVICE_FIELDS}.gpus[].deviceName",
    "video": f"{_DEVICE_FIELDS}.video",
    "virtiofs_config": f"{_DEVICE_FIELDS}.filesystems[].virtiofs",
    "virtiofs_storage": f"{_DEVICE_FIELDS}.filesystems[].virtiofs",
    "vm_state_storage_class": _PERSISTENT,
    "volume_migration": "updateVolumesStrategy of the VM",
    "vsock": f"{_DEVICE_FIELDS}.autoattachVSOCK",
}


IGNITION, SIDECARS = "kubevirt.io/ignitiondata", "hooks.kubevirt.io/hookSidecars"

Request = tuple[str, str]
"""What a VM or VMI asks for: the id of a rule, and which device, binding or the like; empty where the rule says all."""


class Stage(StrEnum):
    """Where a refusal bites."""

    ADMISSION = "admission"  # KubeVirt's webhook refuses every create and edit of the VM, and every new VMI
    EDIT = "edit"  # the same but for the VMI: the VM starts
    CREATION = "creation"  # only a create is refused: old VMs can be edited, and fail when they start
    POD = "pod"  # virt-controller cannot render the launcher pod
    SCHEDULING = "scheduling"  # no node takes the launcher pod, or none brings it up
    LIVE = "live"  # ignored without a word
    OBJECT = "object"  # the create of another object, or a call of the API, is refused


class Migrates(StrEnum):
    """What a live migration of a VMI that was started before does."""

    YES = "yes"
    UNSCHEDULABLE = "unschedulable"
    UNRENDERED = "unrendered"  # its target pod cannot be rendered
    NEVER = "never"  # such a VMI is not live-migratable anyway
    DEGRADED = "degraded"
    UNKNOWN = "unknown"


class Severities(msgspec.Struct, frozen=True):
    """Of a stopped VM, of one that should run, of a running VMI that is live-migratable and of one that is not, and of
    a pending VMI. None is a state that cannot occur, or that nobody needs to know of.
    """

    halted: str | None = "info"
    blocked: str | None = "critical"
    migratable: str | None = "warning"
    running: str | None = "warning"
    pending: str | None = "critical"


class Asking:
    """What rules see of a VM or VMI: `spec` is that of its VMIs, the rest as far as the object has it."""

    __slots__ = (
        "cpu",
        "devices",
        "domain",
        "hotplugged",
        "ignition",
        "interfaces",
        "run_strategy",
        "sidecars",
        "spec",
        "tracking",
        "user",
        "volumes",
        "volumes_strategy",
    )

    def __init__(
        self,
        spec: WireVMSpec,
        *,
        ignition: object = None,
        sidecars: object = None,
        run_strategy: str = "",
        volumes_strategy: str = "",
        tracking: str = "",
        user: int | None = None,
        hotplugged: bool = False,
    ) -> None:
        """`ignition` and `sidecars` are its annotations. `volumes_strategy` is a VM's updateVolumesStrategy, `tracking`
        the state of changedBlockTracking in its status; `user` is whom a VMI's launcher runs as, and `hotplugged`
        whether it has hotplugged volumes.
        """
        self.spec = spec
        self.domain = spec.domain or _DOMAIN
        self.devices = self.domain.devices or _DEVICES
        self.cpu = self.domain.cpu or _CPU
        self.interfaces = [each for each in self.devices.interfaces or () if each is not None]
        self.volumes = [each for each in spec.volumes or () if each is not None]
        self.ignition, self.sidecars = bool(ignition), bool(sidecars)
        self.run_strategy, self.volumes_strategy, self.tracking = run_strategy, volumes_strategy, tracking
        self.user, self.hotplugged = user, hotplugged


_DOMAIN, _DEVICES, _CPU = WireDomain(), WireDevices(), WireCPU()


class Ground(msgspec.Struct, frozen=True):
    """What decides whether a request is allowed. `storage` is None for who does not look at StorageClasses; `injected`
    says whether the network resources injector is installed, and is None for who does not look at webhooks.
    """

    configuration: Effective
    storage: tuple[StorageClass, ...] | None = None
    injected: bool | None = None


def once(asked: bool) -> Iterable[str]:
    """The parameters of a request that has none."""
    return ("",) if asked else ()


def _none(_: Asking) -> Iterable[str]:
    return ()


def _nowhere(_: str) -> Iterable[str]:
    return ()


def _by_gate(_ground: Ground, _parameter: str) -> str:
    return ""


_USUAL = Severities()


@dataclass(frozen=True, eq=False)
class Rule:
    """One feature. `asked` yields the parameters of the requests that a spec makes, empty text for a plain one.

    It is allowed where the feature gate is on, and where `refused` says nothing; what that says is why not.
    `message` is part of what KubeVirt answers, where it does, in all releases and cases. `decides` names the gates
    and the settings that `refused` looks at, `allows` is the change that allows it, with {} for the parameters that are
    refused, where more is needed than one gate, and `value` what a parameter is, such as a device, where one may be
    allowed and another not. With `plain` no setting decides in the gate's place. With `compares` it is only a
    mismatch where VM and VMI differ in it. A rule that is `inverted` is about a gate that asks for something while it
    is on, be it of nodes; then `refused` says what is missing. `since` and `until` are the first and the last release
    (major, minor) in which it is checked. `nodes` gives what a node has to offer for a parameter, as `label KEY=VALUE`
    or `resource NAME`; of a rule with a gate, while that is on. `common` is what nearly every VM asks for. A rule with
    `storage` looks at StorageClasses.
    """

    id: str
    title: str
    asked: Callable[[Asking], Iterable[str]] = _none
    gate: str = ""
    stage: Stage | Callable[[Effective], Stage] = Stage.ADMISSION
    migrates: Migrates = Migrates.YES
    message: str = ""
    refused: Callable[[Ground, str], str] = _by_gate
    decides: tuple[str, ...] = ()
    allows: str = ""
    value: str = ""
    since: tuple[int, int] = (0, 0)
    until: tuple[int, int] = (1_000_000, 0)
    severities: Severities = _USUAL
    nodes: Callable[[str], Iterable[str]] = _nowhere
    plain: bool = False
    inverted: bool = False
    compares: bool = False
    common: bool = False
    storage: bool = False

    @property
    def phrase(self) -> str:
        """The feature in words, and the field of the API by which it is asked for."""
        field = FIELDS.get(self.id, "")
        return f"{self.title} ({field})" if field else self.title

    def phrase_of(self, kind: str) -> str:
        """The same with the field as an object of a kind has it: the spec of a VMI is in the template of others."""
        return self.phrase if kind == "VirtualMachineInstance" else self.phrase.replace("spec.", "spec.template.spec.")

    def why(self, ground: Ground, parameter: str) -> str:
        """Why it is not allowed; empty where it is."""
        configuration = ground.configuration
        if not self.counts_in(configuration):
            return ""
        off = self.gate and not (configuration.gates if self.plain else configuration).on(self.gate)
        if off:
            return "" if self.inverted else configuration.gates.off(self.gate)
        return self.refused(ground, parameter)

    def counts_in(self, configuration: Effective) -> bool:
        """Whether its release looks at it."""
        return self.since <= configuration.version.release <= self.until

    def bites(self, configuration: Effective) -> Stage:
        """Where a refusal bites under this configuration."""
        return self.stage if isinstance(self.stage, Stage) else self.stage(configuration)

    def on(self, configuration: Effective) -> bool:
        """Whether what it asks of nodes is asked at all."""
        return not self.gate or configuration.on(self.gate)
