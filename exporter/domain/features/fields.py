"""The field of KubeVirt's API by which a VM or VMI asks for a feature; `spec` is that of the VMI or of a template.

Where several ask for the same, the one that is written most.
"""

from __future__ import annotations

_DEVICES = "spec.domain.devices"
_INTERFACES = f"{_DEVICES}.interfaces[]"
_PERSISTENT = f"{_DEVICES}.tpm.persistent or spec.domain.firmware.bootloader.efi.persistent"
_NAMED = f"{_DEVICES}.gpus[].deviceName or hostDevices[].deviceName"

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
    "default_network_interface": f"no {_DEVICES}.interfaces",
    "downward_metrics": f"{_DEVICES}.downwardMetrics or spec.volumes[].downwardMetrics",
    "empty_cdrom": f"{_DEVICES}.disks[].cdrom",
    "emulated_machines": "spec.domain.machine.type",
    "ext_net_inject": "annotation k8s.v1.cni.cncf.io/resourceName of the NAD",
    "gpu": f"{_DEVICES}.gpus",
    "gpu_dra": f"{_DEVICES}.gpus[].claimName",
    "grace_io": _NAMED,
    "host_devices": f"{_DEVICES}.hostDevices",
    "host_disk": "spec.volumes[].hostDisk",
    "hostdev_dra": f"{_DEVICES}.hostDevices[].claimName",
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
    "panic_devices": f"{_DEVICES}.panicDevices",
    "passt_binding": f"{_INTERFACES}.passtBinding",
    "passt_legacy": f"{_INTERFACES}.passt",
    "permitted_host_devices": _NAMED,
    "persistent_reservation": f"{_DEVICES}.disks[].lun.reservation",
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
    "vgpu_migration": f"{_DEVICES}.gpus[].deviceName",
    "video": f"{_DEVICES}.video",
    "virtiofs_config": f"{_DEVICES}.filesystems[].virtiofs",
    "virtiofs_storage": f"{_DEVICES}.filesystems[].virtiofs",
    "vm_state_storage_class": _PERSISTENT,
    "volume_migration": "updateVolumesStrategy of the VM",
    "vsock": f"{_DEVICES}.autoattachVSOCK",
}
