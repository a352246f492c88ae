"""The state of each feature gate in each release of KubeVirt, as in `pkg/virt-config` of its sources at the tags.

A: Alpha. B: Beta. GA: always on. DEP: deprecated, works where it is listed. DISC: discontinued, nothing asks for it any
more. U: known and without a state, works where it is listed. -: no such gate. No gate changes its state within a minor.
The last column is of commit d923fdb815, some weeks after v1.9.0.
"""

from __future__ import annotations

STATES = """
gate                                1.0  1.1  1.2  1.3  1.4  1.5  1.6  1.7  1.8  1.9  1.10
AlignCPUs                           -    -    U    U    U    A    A    A    A    A    A
AutoResourceLimitsGate              -    U    U    U    U    GA   GA   GA   GA   GA   GA
BochsDisplayForEFIGuests            -    U    U    U    GA   GA   GA   GA   GA   GA   GA
CPUManager                          U    U    U    U    U    A    A    A    A    A    A
CPUNodeDiscovery                    U    GA   GA   GA   GA   GA   GA   GA   GA   GA   GA
ClusterProfiler                     U    U    U    U    U    A    GA   GA   GA   GA   GA
CommonInstancetypesDeploymentGate   -    U    U    U    GA   GA   GA   GA   GA   GA   GA
ConfigurableHypervisor              -    -    -    -    -    -    -    -    A    A    A
ContainerPathVolumes                -    -    -    -    -    -    -    -    A    A    A
CrossArchitectureVirtualization     -    -    -    -    -    -    -    -    -    A    A
DecentralizedLiveMigration          -    -    -    -    -    -    A    A    A    A    B
DeclarativeHotplugVolumes           -    -    -    -    -    -    A    A    A    B    B
DisableCustomSELinuxPolicy          U    U    U    U    U    GA   GA   GA   GA   GA   GA
DisableMDEVConfiguration            U    U    U    U    U    A    A    A    DEP  DEP  DEP
DockerSELinuxMCSWorkaround          U    U    U    U    DEP  DEP  DEP  DEP  DEP  DEP  DEP
DownwardMetrics                     U    U    U    U    U    A    A    A    A    A    A
DynamicPodInterfaceNaming           -    -    -    -    U    GA   GA   GA   GA   GA   GA
EnableVirtioFsConfigVolumes         -    -    -    -    -    A    A    A    GA   GA   GA
EnableVirtioFsStorageVolumes        -    -    -    -    -    A    A    A    A    A    A
ExpandDisks                         U    U    U    U    U    A    A    A    A    GA   GA
ExperimentalIgnitionSupport         U    U    U    U    U    A    A    A    A    A    A
ExperimentalVirtiofsSupport         U    U    U    U    U    DEP  DEP  DEP  DISC DISC DISC
ExternalNetResourceInjection        -    -    -    -    -    -    -    -    B    B    B
FirmwareAutoSelection               -    -    -    -    -    -    -    -    -    A    A
GPU                                 U    U    U    U    GA   GA   GA   GA   GA   GA   GA
GPUsWithDRA                         -    -    -    -    -    -    A    A    A    B    B
GraceIOVirtualization               -    -    -    -    -    -    -    -    -    A    A
HostDevices                         U    U    U    U    U    A    A    A    A    A    A
HostDevicesWithDRA                  -    -    -    -    -    -    A    A    A    B    B
HostDisk                            U    U    U    U    U    A    A    A    A    A    A
HotplugNICs                         U    U    U    U    GA   GA   GA   GA   GA   GA   GA
HotplugVolumes                      U    U    U    U    U    A    A    A    A    DEP  DEP
HypervStrictCheck                   U    U    U    U    U    A    A    A    A    A    A
IOMMUFD                             -    -    -    -    -    -    -    -    -    A    A
ImageVolume                         -    -    -    -    -    -    A    B    B    B    B
IncrementalBackup                   -    -    -    -    -    -    -    A    A    A    A
InstancetypeReferencePolicy         -    -    -    -    U    B    GA   GA   GA   GA   GA
KubevirtSeccompProfile              U    U    U    U    U    A    A    B    B    B    B
LibvirtHooksServerAndClient         -    -    -    -    -    -    -    -    A    B    GA
LiveMigration                       GA   GA   GA   GA   GA   GA   GA   GA   GA   GA   GA
LiveUpdateNADRef                    -    -    -    -    -    -    -    -    B    GA   GA
Macvtap                             U    U    DEP  DISC DISC DISC DISC DISC DISC DISC DISC
MigrationDowntimeTuning             -    -    -    -    -    -    -    -    -    -    A
MigrationPriorityQueue              -    -    -    -    -    -    -    A    B    GA   GA
MigrationStallDetection             -    -    -    -    -    -    -    -    -    A    A
MultiArchitecture                   U    U    U    U    U    A    A    A    DEP  DEP  DEP
NUMA                                U    U    U    U    GA   GA   GA   GA   GA   GA   GA
NetworkBindingPlugins               -    U    U    U    U    GA   GA   GA   GA   GA   GA
NetworkDevicesWithDRA               -    -    -    -    -    -    -    -    -    A    A
NodeRestriction                     -    -    -    U    U    A    B    B    B    B    B
NonRoot                             GA   GA   GA   GA   GA   GA   GA   GA   GA   GA   GA
NonRootExperimental                 GA   GA   -    -    -    -    -    -    -    -    -
OCIExport                           -    -    -    -    -    -    -    -    -    A    A
ObjectGraph                         -    -    -    -    -    -    U    U    U    A    A
OptOutRoleAggregation               -    -    -    -    -    -    -    -    A    B    B
PCINUMAAwareTopology                -    -    -    -    -    -    -    -    A    A    A
PSA                                 GA   GA   GA   GA   GA   GA   GA   GA   GA   GA   GA
PanicDevices                        -    -    -    -    -    -    A    B    B    GA   GA
Passt                               U    U    DEP  DISC DISC DISC DISC DISC DISC DISC DISC
PasstBinding                        -    -    -    -    -    -    -    -    B    B    B
PasstIPStackMigration               -    -    -    -    -    -    A    A    DISC DISC DISC
PersistentReservation               U    U    U    U    U    A    A    A    A    GA   GA
Plugins                             -    -    -    -    -    -    -    -    -    A    A
PodSecondaryInterfaceNamingUpgrade  -    -    -    -    -    -    -    -    B    B    B
PortRangesSpec                      -    -    -    -    -    -    -    -    -    A    A
RebootPolicy                        -    -    -    -    -    -    -    -    A    B    B
ReservedOverheadMemlock             -    -    -    -    -    -    -    -    A    A    A
Root                                U    U    U    U    U    A    A    A    A    A    A
SRIOVLiveMigration                  GA   GA   GA   GA   GA   GA   GA   GA   GA   GA   GA
SecureExecution                     -    -    -    -    -    -    U    B    B    GA   GA
Sidecar                             U    U    U    U    U    A    A    A    A    A    A
Snapshot                            U    U    U    U    U    A    B    B    B    B    B
Template                            -    -    -    -    -    -    -    -    A    B    B
UtilityVolumes                      -    -    -    -    -    -    -    -    A    A    A
VGPULiveMigration                   -    -    -    -    -    -    -    -    -    A    A
VMExport                            U    U    U    U    U    A    B    B    B    GA   GA
VMLiveUpdateFeatures                U    U    U    U    U    GA   GA   GA   GA   GA   GA
VMPersistentState                   U    U    U    U    U    A    GA   GA   GA   GA   GA
VMStatsCollector                    -    -    -    -    -    -    -    -    -    A    A
VSOCK                               U    U    U    U    U    A    A    A    A    A    A
VideoConfig                         -    -    -    -    -    -    A    B    B    GA   GA
VmiMemoryOverheadReport             -    -    -    -    -    -    -    -    A    B    GA
VolumeMigration                     -    -    -    U    U    GA   GA   GA   GA   GA   GA
VolumesUpdateStrategy               -    -    -    U    U    GA   GA   GA   GA   GA   GA
WorkloadEncryptionSEV               U    U    U    U    U    A    A    A    A    B    B
WorkloadEncryptionTDX               -    -    -    -    -    -    -    A    A    A    A
"""

# What differs from its release in a pre-release; for one that is not here the last one before it counts.
PRE_RELEASES: dict[str, dict[str, str]] = {
    "v1.3.0-alpha.0": {"DEP": "Macvtap Passt", "-": "NodeRestriction VolumeMigration"},
    "v1.3.0-beta.0": {"-": "NodeRestriction VolumeMigration", "DEP": "Passt"},
    "v1.3.0-rc.0": {},
    "v1.3.0-rc.1": {},
    "v1.3.0-rc.2": {},
    "v1.4.0-alpha.0": {
        "U": ("BochsDisplayForEFIGuests CommonInstancetypesDeploymentGate DockerSELinuxMCSWorkaround GPU HotplugNICs"),
        "-": "DynamicPodInterfaceNaming InstancetypeReferencePolicy",
    },
    "v1.4.0-alpha.1": {"U": "BochsDisplayForEFIGuests", "-": "DynamicPodInterfaceNaming InstancetypeReferencePolicy"},
    "v1.4.0-rc.0": {},
    "v1.4.0-rc.1": {},
    "v1.4.0-rc.2": {},
    "v1.5.0-alpha.0": {
        "U": (
            "AlignCPUs AutoResourceLimitsGate CPUManager ClusterProfiler DisableCustomSELinuxPolicy "
            "DisableMDEVConfiguration DownwardMetrics ExpandDisks ExperimentalIgnitionSupport "
            "ExperimentalVirtiofsSupport HostDevices HostDisk HotplugVolumes HypervStrictCheck "
            "InstancetypeReferencePolicy KubevirtSeccompProfile MultiArchitecture NodeRestriction "
            "PersistentReservation Root Sidecar Snapshot VMExport VMPersistentState VSOCK VolumeMigration "
            "VolumesUpdateStrategy WorkloadEncryptionSEV"
        ),
        "-": "EnableVirtioFsConfigVolumes EnableVirtioFsStorageVolumes",
    },
    "v1.5.0-beta.0": {
        "U": (
            "AlignCPUs AutoResourceLimitsGate CPUManager ClusterProfiler DisableCustomSELinuxPolicy "
            "DisableMDEVConfiguration DownwardMetrics EnableVirtioFsConfigVolumes EnableVirtioFsStorageVolumes "
            "ExpandDisks ExperimentalIgnitionSupport HostDevices HostDisk HotplugVolumes HypervStrictCheck "
            "InstancetypeReferencePolicy KubevirtSeccompProfile MultiArchitecture NodeRestriction "
            "PersistentReservation Root Sidecar Snapshot VMExport VMPersistentState VSOCK VolumeMigration "
            "VolumesUpdateStrategy WorkloadEncryptionSEV"
        )
    },
    "v1.5.0-rc.0": {"A": "InstancetypeReferencePolicy"},
    "v1.5.0-rc.1": {"A": "InstancetypeReferencePolicy"},
    "v1.5.0-rc.2": {},
    "v1.6.0-alpha.0": {
        "-": (
            "DecentralizedLiveMigration DeclarativeHotplugVolumes GPUsWithDRA HostDevicesWithDRA ImageVolume "
            "ObjectGraph PanicDevices PasstIPStackMigration SecureExecution VideoConfig"
        ),
        "A": "NodeRestriction",
    },
    "v1.6.0-beta.0": {
        "-": (
            "DeclarativeHotplugVolumes GPUsWithDRA HostDevicesWithDRA ObjectGraph PanicDevices "
            "PasstIPStackMigration SecureExecution VideoConfig"
        ),
        "A": "NodeRestriction",
    },
    "v1.6.0-rc.0": {},
    "v1.6.0-rc.1": {},
    "v1.7.0-alpha.0": {
        "A": "ImageVolume KubevirtSeccompProfile PanicDevices VideoConfig",
        "-": "IncrementalBackup MigrationPriorityQueue WorkloadEncryptionTDX",
        "U": "SecureExecution",
    },
    "v1.7.0-beta.0": {
        "A": "ImageVolume KubevirtSeccompProfile PanicDevices VideoConfig",
        "-": "MigrationPriorityQueue WorkloadEncryptionTDX",
        "U": "SecureExecution",
    },
    "v1.7.0-rc.0": {},
    "v1.7.0-rc.1": {},
    "v1.8.0-alpha.0": {
        "-": (
            "ConfigurableHypervisor ContainerPathVolumes ExternalNetResourceInjection LibvirtHooksServerAndClient "
            "LiveUpdateNADRef OptOutRoleAggregation PCINUMAAwareTopology PasstBinding "
            "PodSecondaryInterfaceNamingUpgrade RebootPolicy ReservedOverheadMemlock Template "
            "VmiMemoryOverheadReport"
        ),
        "A": "DisableMDEVConfiguration MigrationPriorityQueue PasstIPStackMigration",
    },
    "v1.8.0-beta.0": {
        "-": (
            "ContainerPathVolumes ExternalNetResourceInjection LiveUpdateNADRef OptOutRoleAggregation "
            "PCINUMAAwareTopology PasstBinding PodSecondaryInterfaceNamingUpgrade RebootPolicy "
            "ReservedOverheadMemlock Template VmiMemoryOverheadReport"
        ),
        "A": "PasstIPStackMigration",
    },
    "v1.8.0-rc.0": {},
    "v1.8.0-rc.1": {},
    "v1.9.0-alpha.0": {
        "-": (
            "CrossArchitectureVirtualization FirmwareAutoSelection GraceIOVirtualization IOMMUFD "
            "MigrationStallDetection NetworkDevicesWithDRA OCIExport Plugins PortRangesSpec VMStatsCollector"
        ),
        "A": (
            "DeclarativeHotplugVolumes GPUsWithDRA HostDevicesWithDRA HotplugVolumes LibvirtHooksServerAndClient "
            "OptOutRoleAggregation PersistentReservation RebootPolicy Template VmiMemoryOverheadReport "
            "WorkloadEncryptionSEV"
        ),
        "B": "MigrationPriorityQueue SecureExecution VideoConfig",
        "U": "ObjectGraph",
    },
    "v1.9.0-beta.0": {
        "-": (
            "CrossArchitectureVirtualization FirmwareAutoSelection GraceIOVirtualization IOMMUFD "
            "MigrationStallDetection NetworkDevicesWithDRA OCIExport Plugins PortRangesSpec VMStatsCollector"
        ),
        "A": (
            "DeclarativeHotplugVolumes GPUsWithDRA HostDevicesWithDRA HotplugVolumes LibvirtHooksServerAndClient "
            "OptOutRoleAggregation PersistentReservation RebootPolicy Template VmiMemoryOverheadReport "
            "WorkloadEncryptionSEV"
        ),
        "B": "MigrationPriorityQueue SecureExecution VideoConfig",
    },
    "v1.9.0-rc.0": {"A": "GPUsWithDRA HostDevicesWithDRA"},
    "v1.9.0-rc.1": {},
    "v1.9.0-rc.2": {},
}
