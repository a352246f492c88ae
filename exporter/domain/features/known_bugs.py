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
        """The release that fixes it; empty where the version is not known to have the bug."""
        patch = self.fixed.get(version.release)
        if patch is None or not self.since.get(version.release, 0) <= version.patch < patch:
            return ""
        return f"v{version.major}.{version.minor}.{patch}"

    def address(self, version: Version) -> str:
        return f"https://github.com/kubevirt/kubevirt/pull/{self.proof[version.release]}"


KNOWN_BUGS = (
    KnownBug(
        "vsock_block_hotplug",
        "after a block volume is plugged in, the guest's VSOCK device can stop working",
        {(1, 6): 4, (1, 7): 1},
        {(1, 6): 16661, (1, 7): 16649},
        "Do not plug block volumes into the running VM.",
        asks=("vsock",),
    ),
    KnownBug(
        "hostdev_block_hotplug",
        "after a block volume is plugged in, the VM might not restart",
        {(1, 7): 4, (1, 8): 3},
        {(1, 7): 17740, (1, 8): 17738},
        "Do not plug block volumes into the running VM.",
        asks=("host_devices", "gpu"),
    ),
    KnownBug(
        "vfio_locked_memory",
        'a VM with several passed-through devices can fail to start with "cannot limit locked memory"',
        {(1, 8): 3},
        {(1, 8): 17863},
        "Give the VM at most one device.",
        asks=("host_devices", "gpu"),
    ),
    KnownBug(
        "persistent_reservation_health",
        "the health of the device for persistent reservations might not be updated on nodes",
        {(1, 7): 2},
        {(1, 7): 16380},
        "Check the node's allocatable devices before you rely on them.",
        asks=("persistent_reservation",),
    ),
    KnownBug(  # persistent-state-for-NAME is a volume's name, which takes 63 characters
        "state_volume_name",
        "the name of the state volume contains the VM's name and can be too long for a volume",
        {(1, 6): 5, (1, 7): 3, (1, 8): 2},
        {(1, 6): 17412, (1, 7): 17404, (1, 8): 17396},
        "Do not rename or recreate this VM. Give new VMs with persistent state names of at most 42 characters.",
        asks=("persistent_state",),
        long_name=42,
    ),
    KnownBug(
        "dra_shared_claim",
        "several devices of one resource claim can be rendered wrongly in the launcher pod",
        {(1, 8): 3},
        {(1, 8): 17745},
        "Use a separate claim for each device.",
        asks=("gpu_dra", "hostdev_dra"),
    ),
    KnownBug(
        "nad_update_without_interfaces",
        "a VM without interfaces and networks can't start",
        {(1, 8): 2},
        {(1, 8): 17373},
        "Remove LiveUpdateNADRef from featureGates.",
        gate="LiveUpdateNADRef",
    ),
    KnownBug(
        "decentralized_source_stays",
        "the source VM can't be deleted after a decentralized live migration has failed",
        {(1, 6): 1},
        {(1, 6): 15492},
        "Do not use decentralized live migration.",
        gate="DecentralizedLiveMigration",
    ),
    KnownBug(
        "decentralized_cancel",
        "a running decentralized live migration can't be canceled properly",
        {(1, 6): 2},
        {(1, 6): 15682},
        "Do not cancel a decentralized live migration. Wait until it ends.",
        gate="DecentralizedLiveMigration",
    ),
    KnownBug(
        "decentralized_limit",
        "the limit of migrations is not kept accurately with decentralized live migrations",
        {(1, 6): 4},
        {(1, 6): 16074},
        "Run only a few decentralized live migrations at a time.",
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
        "Do not use decentralized live migration for VMs that need Hyper-V enlightenments.",
        gate="DecentralizedLiveMigration",
    ),
    KnownBug(
        "decentralized_then_compute",
        "a live migration after a decentralized one is not reported as succeeded",
        {(1, 6): 5, (1, 7): 3, (1, 8): 2},
        {(1, 6): 17348, (1, 7): 17347, (1, 8): 17346},
        "Check the VMI's status for the node on which the VMI runs.",
        gate="DecentralizedLiveMigration",
    ),
    KnownBug(
        "decentralized_ipv6",
        "live migration to another namespace does not work on clusters with IPv6",
        {(1, 7): 4, (1, 8): 3},
        {(1, 7): 17776, (1, 8): 17765},
        "On a cluster with IPv6, do not use decentralized live migration.",
        gate="DecentralizedLiveMigration",
    ),
)


@lru_cache(maxsize=16)  # every VM of a cluster asks for the same
def bugs_in(version: Version) -> tuple[KnownBug, ...]:
    """Those that a version is known to have."""
    return tuple(bug for bug in KNOWN_BUGS if bug.fixed_in(version))
