"""Which feature gates are on: a function of the version and of the two lists in the KubeVirt object.

As `IsEnabled` in `pkg/virt-config/featuregate/feature-gates.go` of kubevirt/kubevirt, and what was in its place before
v1.9.0-beta.0. Names are case-sensitive. What a few gates need beside that is in `configuration`.

`STATES` has the state of each feature gate in each release of KubeVirt, as in `pkg/virt-config` of its sources at the
tags.

A: Alpha. B: Beta. GA: always on. DEP: deprecated, works where it is listed. DISC: discontinued, nothing asks for it any
more. U: known and without a state, works where it is listed. -: no such gate. No gate changes its state within a minor.
The last column is of commit d923fdb815, some weeks after v1.9.0.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from ...facts.versions import Version, begins_like, parse
from ...store.kinds.kube_virt import KubeVirt

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


STAGES = {"A": "Alpha", "B": "Beta", "GA": "GA", "DEP": "Deprecated", "DISC": "Discontinued", "U": "Alpha"}
"""The words for states; one that has none is as good as Alpha."""

_DISABLING = Version(1, 9, 0, 1, 0)  # v1.9.0-beta.0: from here on Beta is on, and a gate can be disabled
_DISCONTINUING = (1, 2)  # up to here a gate that is discontinued was off although listed
_LIKE = 0.7
_LONGEST = 64  # characters of a name that are compared with others


def _columns() -> dict[tuple[int, int], dict[str, str]]:
    rows = [line.split() for line in STATES.split("\n") if line]
    releases = [parse(f"{release}.0") for release in rows[0][1:]]
    return {
        version.release: {row[0]: row[place + 1] for row in rows[1:]}
        for place, version in enumerate(releases)
        if version is not None
    }


_COLUMNS = _columns()
_PRE_RELEASES = {tag: each for each in map(parse, PRE_RELEASES) if each is not None for tag in (each.tag,)}
NEWEST = max(_COLUMNS)
"""The newest release whose gates are known, from a commit before it."""
NAMES = frozenset(_COLUMNS[NEWEST])
"""Of every gate that any release has."""


def next_release(version: Version) -> tuple[int, int] | None:
    """The release after that of a version; None where none is known."""
    return min((release for release in _COLUMNS if release > version.release), default=None)


@lru_cache(maxsize=32)
def states_of(version: Version) -> Mapping[str, str]:
    """The state of every gate that any release has: a key of `STAGES`, or - for one that this release does not have.

    A release that is newer or older than all that are known has the states of the next one to it.
    """
    known = max((release for release in _COLUMNS if release <= version.release), default=min(_COLUMNS))
    states = dict(_COLUMNS[known])
    if known == version.release and version.patch == 0:
        before = [(each, tag) for tag, each in _PRE_RELEASES.items() if each.release == known and each <= version]
        tag = max(before)[1] if before and not _released(version) else ""
        for state, names in PRE_RELEASES.get(tag, {}).items():
            states |= dict.fromkeys(names.split(), state)
    return states


def _released(version: Version) -> bool:
    return version >= Version(version.major, version.minor, version.patch)


class Gates(Struct, frozen=True, gc=False):
    """The feature gates of one version with `featureGates` and `disabledFeatureGates` as they are written."""

    version: Version
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()

    @property
    def newer(self) -> bool:
        """Whether the version is newer than all releases whose gates are known for sure."""
        return self.version.release >= NEWEST

    @property
    def names(self) -> tuple[str, ...]:
        """Those that the version knows, sorted."""
        return tuple(sorted(name for name, state in states_of(self.version).items() if state != "-"))

    @property
    def disabling(self) -> bool:
        """Whether Beta is on in this version, and `disabledFeatureGates` has an effect."""
        return self.version >= _DISABLING

    def state(self, gate: str) -> str:
        return states_of(self.version).get(gate, "-")

    def stage(self, gate: str) -> str:
        """Alpha, Beta, GA, Deprecated or Discontinued; empty for a gate that the version does not know."""
        return STAGES.get(self.state(gate), "")

    def known(self, gate: str) -> bool:
        return self.state(gate) != "-"

    def on(self, gate: str) -> bool:
        return self.source(gate) in ("always", "listed", "default")

    def source(self, gate: str) -> str:
        """Why it is on: always, listed or default. Why it is off: disabled, or off."""
        state = self.state(gate)
        if state == "GA":
            return "always"
        if not self.disabling:
            discontinued = state == "DISC" and self.version.release <= _DISCONTINUING
            return "listed" if gate in self.enabled and not discontinued else "off"
        if state != "-" and gate in self.enabled:
            return "listed"
        if state == "B":
            return "disabled" if gate in self.disabled else "default"
        return "off"

    def off(self, gate: str) -> str:
        """That a gate is off, in words: with the unknown name that stands in its place, where one is like it."""
        written = self.written(gate)
        return f"feature gate {gate} is off" + (f': featureGates has the unknown name "{written}"' if written else "")

    def written(self, gate: str) -> str:
        """The unknown name in `featureGates` that is like a gate; empty where that is listed, or nothing is like it."""
        return _written(self, gate)[:_LONGEST]

    def nearest(self, gate: str) -> str:
        """The gate of this version whose name is most like it; empty where none is."""
        names = {name.lower(): name for name in self.names}
        word = gate[:_LONGEST].strip().lower()
        return next((names[each] for each in difflib.get_close_matches(word, names, 1, _LIKE)), "")


@lru_cache(maxsize=256)
def _written(gates: Gates, gate: str) -> str:
    unknown = (each for each in gates.enabled if not gates.known(each))
    return next((each for each in unknown if gates.nearest(each) == gate), "") if gate not in gates.enabled else ""


# By which release of upstream an installation is understood; else why nobody knows, and what to set.

ASSUME = "assumeUpstreamVersion"
"""The setting of the exporter with which a version that is none of upstream is taken for one."""

OLDEST = Version(0, 59)
"""The first release whose gates are known."""

_KNOWN_SINCE = f"which is older than {OLDEST}, the first whose feature gates are known"


def version_of(kubevirt: KubeVirt, version: str | None = None) -> Version | str:
    """Of an object, or of another version that it would have. A sentence where nobody knows."""
    text = kubevirt.upstream if version is None else version
    if not text:
        return f"{kubevirt.ref} has no version in its status yet"
    known = parse(text)
    if known is None or not (known.release <= NEWEST or begins_like(text)):
        return (
            f'{kubevirt.ref} is of version "{text[:60]}", which is not an upstream release; {_advice(kubevirt, text)}'
        )
    if known < OLDEST:
        return f"{kubevirt.ref} is of {known}, {_KNOWN_SINCE}"
    if known.release > NEWEST:
        newest = ".".join(map(str, NEWEST))
        return (
            f"{kubevirt.ref} is of {known}, and the feature gates of nothing newer than {newest} are known; "
            f"{ASSUME}: v{newest}.0 has it evaluated as that"
        )
    if known.between:
        return (
            f"{kubevirt.ref} is of {known}, whose feature gates are in no release; to have it evaluated as the tag "
            f"before it, set {ASSUME}: {known.tag}"
        )
    return known


def _advice(kubevirt: KubeVirt, text: str) -> str:
    """What to set for a version that is none of upstream."""
    like, made = begins_like(text), parse(kubevirt.built)
    if like is not None and made is not None and like.release != made.release:
        return f"its virt-operator was built of {made}; if all of it was, set {ASSUME}: {made.tag}"
    if like is None or like.release > NEWEST:
        return f"set {ASSUME} to the release that it is built of, such as v1.8.4"
    if like < OLDEST:
        return f"it may be built of {like.tag}, {_KNOWN_SINCE}"
    return f"if it is built of {like.tag}, set {ASSUME}: {like.tag}"
