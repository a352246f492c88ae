"""What the releases of KubeVirt differ in, as far as tests are about it; features.yaml has it of features.

Marked with `needs(TRAIT)` a test is skipped where KubeVirt has no such thing, and with `lacks(TRAIT)` where it has.
Where just the expectation differs, `TRAIT.here` says which one holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.kubevirt.installation import VERSION

__all__ = [
    *(
        "DECENTRALIZED",
        "EVACUATE_CANCEL",
        "EVICTION_REQUESTED",
        "MISSING_SIZE_TAKEN",
        "OLD_SIZES_GONE",
        "PERSISTENT_STATE",
        "POOLS_BETA",
        "RELEASE",
        "SERIAL",
    ),
    *("UUID_OF_ITS_OWN", "UUID_WRITTEN", "Release", "Trait", "lacks", "needs", "release"),
]

Release = tuple[int, ...]


def release(text: str) -> Release:
    """Major and minor: v1.7.0 gives (1, 7)."""
    return _version(text)[:2]


def _version(text: str) -> Release:
    return tuple(map(int, text.removeprefix("v").split(".")))


RELEASE = release(VERSION)


@dataclass(frozen=True)
class Trait:
    """What KubeVirt does from some version on."""

    what: str
    source: str  # the file of kubevirt/kubevirt that shows it
    since: tuple[str, ...]  # the first version; before it the first of an older release that has it by backport

    @property
    def here(self) -> bool:
        """Whether the KubeVirt of these tests does it."""
        now, firsts = _version(VERSION), [*map(_version, self.since)]
        backported = any(first <= now and first[:2] == RELEASE for first in firsts)
        return now >= max(firsts) or backported

    def __str__(self) -> str:
        return f"KubeVirt {self.what} from {' and '.join(self.since)} on ({self.source}), and this is {VERSION}"


def needs(trait: Trait) -> pytest.MarkDecorator:
    """A test of what KubeVirt does."""
    return pytest.mark.skipif(not trait.here, reason=str(trait))


def lacks(trait: Trait) -> pytest.MarkDecorator:
    """A test of what is where KubeVirt does not do it."""
    return pytest.mark.skipif(trait.here, reason=str(trait))


EVICTION_REQUESTED = Trait(
    "gives a VMI that is requested to leave its node the condition EvictionRequested",
    "pkg/virt-controller/watch/vmi/lifecycle.go",
    since=("1.7.0",),
)
EVACUATE_CANCEL = Trait("serves evacuate/cancel", "pkg/virt-api/api.go", since=("1.7.0",))
MISSING_SIZE_TAKEN = Trait(
    "takes and changes VMs whose instancetype, preference or revision is missing, and reports it in their status,",
    "pkg/instancetype/webhooks/vm/admitter.go, pkg/instancetype/controller/vm/controller.go",
    since=("1.6.0",),
)
OLD_SIZES_GONE = Trait(
    "decodes no revision of an instancetype or preference but those of v1beta1",
    "pkg/instancetype/compatibility/compatibility.go",
    since=("1.7.0",),
)
PERSISTENT_STATE = Trait(
    "takes VMs with a persistent TPM or EFI without a feature gate",
    "pkg/virt-config/featuregate/active.go",
    since=("1.6.0",),
)
UUID_OF_ITS_OWN = Trait(
    "gives a new VM a random firmware UUID",
    "pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go",
    since=("1.6.0",),
)
UUID_WRITTEN = Trait(
    "writes the firmware UUID into the spec of a VM that has none",
    "pkg/virt-controller/watch/vm/firmware.go",
    since=("1.6.0",),
)
SERIAL = Trait(
    "gives a new VM a random serial",
    "pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go",
    since=("1.5.3", "1.6.1"),
)
POOLS_BETA = Trait(
    "serves pools as v1beta1, and not as v1alpha1 alone,",
    "pkg/virt-operator/resource/generate/components/crds.go",
    since=("1.7.0",),
)
DECENTRALIZED = Trait(
    "migrates VMs between namespaces and clusters",
    "pkg/virt-controller/watch/migration/decentralized.go",
    since=("1.7.0",),
)
