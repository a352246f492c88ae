"""Features of disks, filesystems and volumes; messages as in pkg/virt-api/webhooks of kubevirt/kubevirt."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter

from ..rule import Asking, Ground, Migrates, Rule, Severities, Stage, once
from ..vm_spec import WireVolume

_INFO = Severities(halted=None, blocked=None, migratable="info", running="info", pending=None)


def _shared(vm: Asking) -> Iterable[WireVolume]:
    """The volumes that are shared with the guest as filesystems."""
    if not vm.devices.filesystems:
        return ()
    names = {each.name for each in vm.devices.filesystems if each is not None}
    return [each for each in vm.volumes if each.name in names]


def _of_volume(field: str) -> Callable[[Asking], bool]:
    get = attrgetter(field)

    def there(vm: Asking) -> bool:
        return any(get(each) is not None for each in vm.volumes)

    return there


_METRICS_DISK, _HOST_DISK = _of_volume("downward_metrics"), _of_volume("host_disk")
_CONTAINER_DISK = _of_volume("container_disk")


def _downward_metrics(vm: Asking) -> Iterable[str]:
    return once(vm.devices.downward_metrics is not None or _METRICS_DISK(vm))


def _host_disk(vm: Asking) -> Iterable[str]:
    return once(_HOST_DISK(vm))


def _images(vm: Asking) -> Iterable[str]:
    boot = vm.domain.firmware.kernel_boot if vm.domain.firmware is not None else None
    return once(_CONTAINER_DISK(vm) or (boot is not None and boot.container is not None))


def _reservation(vm: Asking) -> Iterable[str]:
    for each in vm.devices.disks or ():
        if each is not None and each.lun is not None and each.lun.reservation is True:
            return ("",)
    return ()


def _virtiofs_storage(vm: Asking) -> Iterable[str]:
    volumes = _shared(vm)
    return once(any(each.persistent_volume_claim is not None or each.data_volume is not None for each in volumes))


def _virtiofs_config(vm: Asking) -> Iterable[str]:
    kept = ((v.config_map, v.secret, v.service_account, v.downward_api) for v in _shared(vm))
    return once(any(part is not None for parts in kept for part in parts))


def _container_path(vm: Asking) -> Iterable[str]:
    return once(any(each.container_path is not None for each in _shared(vm)))


def _empty_cdrom(vm: Asking) -> Iterable[str]:
    drives = {each.name for each in vm.devices.disks or () if each is not None and each.cdrom is not None}
    return once(bool(drives and drives - {each.name for each in vm.volumes}))


def _utility_volumes(vm: Asking) -> Iterable[str]:
    return once(bool(vm.spec.utility_volumes))


def _hotplugged(vm: Asking) -> Iterable[str]:
    return once(vm.hotplugged)


def _strategy(vm: Asking) -> Iterable[str]:
    return (vm.volumes_strategy,) if vm.volumes_strategy else ()


def _tracking(vm: Asking) -> Iterable[str]:
    return once(vm.tracking in _TRACKED)


def _plugged(vm: Asking) -> Iterable[str]:
    """The volumes that can be plugged and unplugged while it runs."""
    sources = [(each.name, each.persistent_volume_claim or each.data_volume) for each in vm.volumes]
    names = [name or "" for name, source in sources if isinstance(source, dict) and source.get("hotpluggable") is True]
    return (",".join(sorted(names)),) if names else ()


def _not_plugged(ground: Ground, names: str) -> str:
    if ground.configuration.declarative_hotplug:
        return ""
    return f"volumes of the VM's template are not plugged while it runs ({names})"


def _not_migrated(ground: Ground, strategy: str) -> str:
    if strategy != "Migration" or ground.configuration.on("VolumeMigration"):
        return ""
    return ground.configuration.gates.off("VolumeMigration")


# All but those in which nobody wants it, or it is being switched off.
_TRACKED = ("PendingRestart", "Initializing", "Enabled", "IncrementalBackupFeatureGateDisabled")
_METRICS = "DownwardMetrics feature gate is not enabled"

RULES = (
    Rule(
        "downward_metrics", "metrics of the host in the guest", _downward_metrics, "DownwardMetrics", message=_METRICS
    ),
    Rule(
        "host_disk",
        "disks on the node's filesystem",
        _host_disk,
        "HostDisk",
        migrates=Migrates.NEVER,
        message="HostDisk feature gate is not enabled",
    ),
    Rule("image_volume", "container disks", _images, "ImageVolume", stage=Stage.POD, since=(1, 6), inverted=True),
    Rule(
        # Without the gate virt-handler runs without the helper that the guest's reservations go through.
        "persistent_reservation",
        "SCSI persistent reservations",
        _reservation,
        "PersistentReservation",
        migrates=Migrates.UNSCHEDULABLE,
        message="is not enabled in kubevirt",
        severities=Severities(migratable="critical", running="critical"),
        nodes=lambda _: ("resource devices.kubevirt.io/pr-helper",),
    ),
    Rule(
        "virtiofs_storage",
        "PVCs shared as filesystems",
        _virtiofs_storage,
        "EnableVirtioFsStorageVolumes",
        since=(1, 5),  # before, nobody asks at admission
        message="virtiofs feature gate is not enabled for PVC",
    ),
    Rule(
        "virtiofs_config",
        "ConfigMaps, Secrets and the like shared as filesystems",
        _virtiofs_config,
        "EnableVirtioFsConfigVolumes",
        since=(1, 5),
        message="virtiofs is not allowed: virtiofs feature gate is not enabled for config volumes",
    ),
    Rule(
        "container_path",
        "paths of the launcher's containers shared as filesystems",
        _container_path,
        "ContainerPathVolumes",
        stage=Stage.POD,
        migrates=Migrates.UNKNOWN,
        message="ContainerPathVolumesDisabled",
        since=(1, 8),
    ),
    Rule(
        "empty_cdrom",
        "CD-ROM drives without a disk",
        _empty_cdrom,
        "DeclarativeHotplugVolumes",
        plain=True,  # whether HotplugVolumes is on as well does not matter here
        migrates=Migrates.UNKNOWN,
        message="DeclarativeHotplugVolumes feature gate not enabled, cannot define an empty CD-ROM disk",
        since=(1, 6),
    ),
    Rule(
        "utility_volumes",
        "utility volumes",
        _utility_volumes,
        "UtilityVolumes",
        stage=Stage.OBJECT,
        message="UtilityVolumes feature gate is not enabled",
        since=(1, 8),
        severities=Severities(halted=None, blocked=None, pending=None),
    ),
    Rule(
        "declarative_hotplug",
        "volumes plugged by an edit of the VM",
        _plugged,
        stage=Stage.LIVE,
        refused=_not_plugged,
        decides=("DeclarativeHotplugVolumes", "HotplugVolumes"),
        allows="Add DeclarativeHotplugVolumes to featureGates of KubeVirt, and remove HotplugVolumes.",
        value="volumes",
        compares=True,
        severities=_INFO,
        since=(1, 6),
    ),
    Rule(
        "hotplug_volumes",
        "volumes plugged by addvolume",
        _hotplugged,
        stage=Stage.OBJECT,
        refused=lambda ground, _: (
            ""
            if ground.configuration.gates.on("HotplugVolumes")
            or ground.configuration.gates.on("DeclarativeHotplugVolumes")
            else "neither HotplugVolumes nor DeclarativeHotplugVolumes is on"
        ),
        decides=("HotplugVolumes", "DeclarativeHotplugVolumes"),
        allows="Add HotplugVolumes to featureGates of KubeVirt.",
        message="HotplugVolumes feature gate is not enabled",
        severities=_INFO,
    ),
    Rule(
        "volume_migration",
        "updateVolumesStrategy",
        _strategy,
        "VolumesUpdateStrategy",
        stage=Stage.EDIT,
        refused=_not_migrated,
        decides=("VolumeMigration",),
        value="strategy",
        since=(1, 3),
        message="VolumesUpdateStrategy feature gate is not enabled",
    ),
    Rule(
        "cbt",
        "changed block tracking",
        _tracking,
        "IncrementalBackup",
        stage=Stage.LIVE,
        since=(1, 7),
        severities=Severities(halted="info", blocked="info", pending=None),
    ),
)
