"""Bugs of KubeVirt's releases that concern a feature which is used, as data.

`fixed` has the first patch release with the fix, by release branch, and `proof` the pull request whose merge the
release notes in that tag's annotation list (kubevirt/kubevirt, v1.6.1 to v1.8.4). Only branches that got the fix by a
backport are there: nothing is said of others, of which the notes do not tell whether they have the bug. `since` is the
first patch release with the bug, where it came with a backport.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

from ...facts.versions import Version

_Release = tuple[int, int]


@dataclass(frozen=True)
class KnownBug:
    """A bug that concerns VMIs that ask for one of the features `asks`, or the cluster where the gate `gate` is on."""

    id: str
    what: str
    fixed: dict[_Release, int]
    proof: dict[_Release, int]
    instead: str  # the way around
    asks: tuple[str, ...] = ()
    gate: str = ""
    long_name: int = 0  # only VMIs whose name is longer
    since: dict[_Release, int] = field(default_factory=dict)

    def fixed_in(self, version: Version) -> str:
        """The release that mends it; empty where the version is not known to have the bug."""
        patch = self.fixed.get(version.release)
        if patch is None or not self.since.get(version.release, 0) <= version.patch < patch:
            return ""
        return f"v{version.major}.{version.minor}.{patch}"

    def address(self, version: Version) -> str:
        return f"https://github.com/kubevirt/kubevirt/pull/{self.proof[version.release]}"


KNOWN_BUGS = (
    KnownBug(
        "vsock_block_hotplug",
        "after a block volume is plugged in, the guest's VSOCK device may stop working",
        {(1, 6): 4, (1, 7): 1},
        {(1, 6): 16661, (1, 7): 16649},
        "Plug no block volumes into it while it runs.",
        asks=("vsock",),
    ),
    KnownBug(
        "hostdev_block_hotplug",
        "after a block volume is plugged in, the VM may fail to restart",
        {(1, 7): 4, (1, 8): 3},
        {(1, 7): 17740, (1, 8): 17738},
        "Plug no block volumes into it while it runs.",
        asks=("host_devices", "gpu"),
    ),
    KnownBug(
        "vfio_locked_memory",
        'a VM with several passed-through devices may fail to start with "cannot limit locked memory"',
        {(1, 8): 3},
        {(1, 8): 17863},
        "Give it one device at most.",
        asks=("host_devices", "gpu"),
    ),
    KnownBug(
        "persistent_reservation_health",
        "the health of the device for persistent reservations may not be updated on nodes",
        {(1, 7): 2},
        {(1, 7): 16380},
        "Look at the node's allocatable devices before you rely on them.",
        asks=("persistent_reservation",),
    ),
    KnownBug(  # persistent-state-for-NAME is a volume's name, which takes 63 characters
        "state_volume_name",
        "the name of the volume with its state has the VM's name in it, and may be too long for a volume",
        {(1, 6): 5, (1, 7): 3, (1, 8): 2},
        {(1, 6): 17412, (1, 7): 17404, (1, 8): 17396},
        "Give VMs with persistent state names of at most 42 characters.",
        asks=("persistent_state",),
        long_name=42,
    ),
    KnownBug(
        "dra_shared_claim",
        "several devices of one resource claim may be rendered wrongly in the launcher pod",
        {(1, 8): 3},
        {(1, 8): 17745},
        "Use a claim of its own for each device.",
        asks=("gpu_dra", "hostdev_dra"),
    ),
    KnownBug(
        "nad_update_without_interfaces",
        "a VM without interfaces and networks can't start",
        {(1, 8): 2},
        {(1, 8): 17373},
        "Take LiveUpdateNADRef out of featureGates.",
        gate="LiveUpdateNADRef",
    ),
    KnownBug(
        "decentralized_source_stays",
        "the source VM can't be deleted after a decentralized live migration has failed",
        {(1, 6): 1},
        {(1, 6): 15492},
        "Make no decentralized live migrations.",
        gate="DecentralizedLiveMigration",
    ),
    KnownBug(
        "decentralized_cancel",
        "a decentralized live migration that is under way can't be cancelled properly",
        {(1, 6): 2},
        {(1, 6): 15682},
        "Let decentralized live migrations end by themselves.",
        gate="DecentralizedLiveMigration",
    ),
    KnownBug(
        "decentralized_limit",
        "the limit of migrations is not kept accurately with decentralized live migrations",
        {(1, 6): 4},
        {(1, 6): 16074},
        "Make few decentralized live migrations at once.",
        gate="DecentralizedLiveMigration",
    ),
    KnownBug(
        "decentralized_volume_modes",
        "a decentralized live migration between volumes with different volumeModes does not complete",
        {(1, 6): 5, (1, 7): 1},
        {(1, 6): 17108, (1, 7): 16715},
        "Use target volumes with the volumeMode of the source.",
        gate="DecentralizedLiveMigration",
    ),
    KnownBug(
        "decentralized_enlightenment",
        "a VM that requires enlightenment can't be live migrated after a decentralized live migration",
        {(1, 6): 5, (1, 7): 3},
        {(1, 6): 17196, (1, 7): 17007},
        "Make no decentralized live migrations of VMs that need Hyper-V enlightenments.",
        gate="DecentralizedLiveMigration",
    ),
    KnownBug(
        "decentralized_then_compute",
        "a live migration after a decentralized one is not reported as succeeded",
        {(1, 6): 5, (1, 7): 3, (1, 8): 2},
        {(1, 6): 17348, (1, 7): 17347, (1, 8): 17346},
        "See in the VMI's status on which node it runs.",
        gate="DecentralizedLiveMigration",
    ),
    KnownBug(
        "decentralized_ipv6",
        "live migration to another namespace does not work on clusters with IPv6",
        {(1, 7): 4, (1, 8): 3},
        {(1, 7): 17776, (1, 8): 17765},
        "On such a cluster make no decentralized live migrations.",
        gate="DecentralizedLiveMigration",
    ),
)


@lru_cache(maxsize=16)  # every VM of a cluster asks for the same
def bugs_in(version: Version) -> tuple[KnownBug, ...]:
    """Those that a version is known to have."""
    return tuple(bug for bug in KNOWN_BUGS if bug.fixed_in(version))
