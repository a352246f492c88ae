"""What the spec of an instancetype or a preference says, of a live object and of one kept in a ControllerRevision.

A spec is kept as canonical text, which all records share whose specs are equal, and is decoded when it is asked for.
Fields as in staging/src/kubevirt.io/api/instancetype/v1beta1/types.go of kubevirt/kubevirt.
"""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern
from typing import Any

import msgspec
from msgspec import field

from .nesting import cut
from .quantity import amount
from .record import Wire
from .text_cache import remembered
from .vm_spec import WireCPUFeature, WireDevice, WireNUMA

Quantity = str | int | float | None


class _GuestCPU(Wire, frozen=True, gc=False):
    guest: int | None = None
    model: str | None = None
    max_sockets: int | None = None
    dedicated_cpu_placement: bool | None = field(name="dedicatedCPUPlacement", default=None)  # not as in a VM's spec
    isolate_emulator_thread: bool | None = None
    numa: WireNUMA | None = None
    realtime: dict[str, Any] | None = None


class _GuestMemory(Wire, frozen=True, gc=False):
    guest: Quantity = None
    max_guest: Quantity = None
    hugepages: dict[str, Any] | None = None
    overcommit_percent: Any = None


class _IOThreads(Wire, frozen=True, gc=False):
    supplemental_pool_thread_count: int | None = None


class Instancetype(Wire, frozen=True):
    """What an instancetype gives a VM."""

    cpu: _GuestCPU = _GuestCPU()
    memory: _GuestMemory = _GuestMemory()
    gpus: list[WireDevice | None] | None = None
    host_devices: list[WireDevice | None] | None = None
    io_threads_policy: str | None = None
    io_threads: _IOThreads | None = None
    launch_security: dict[str, Any] | None = None
    node_selector: dict[str, Any] | None = None
    scheduler_name: str | None = None
    annotations: dict[str, Any] | None = None


class _SpreadOptions(Wire, frozen=True, gc=False):
    across: str | None = None
    ratio: int | None = None


class _PreferredCPU(Wire, frozen=True, gc=False):
    preferred_cpu_topology: str | None = field(name="preferredCPUTopology", default=None)
    spread_options: _SpreadOptions | None = None
    preferred_cpu_features: list[WireCPUFeature | None] | None = field(name="preferredCPUFeatures", default=None)


class _PreferredEFI(Wire, frozen=True, gc=False):
    persistent: bool | None = None
    secure_boot: bool | None = None


class _PreferredFirmware(Wire, frozen=True, gc=False):
    preferred_use_efi: bool | None = None
    preferred_use_secure_boot: bool | None = None
    preferred_efi: _PreferredEFI | None = None


class _PreferredTPM(Wire, frozen=True, gc=False):
    enabled: bool | None = None
    persistent: bool | None = None


class _PreferredDevices(Wire, frozen=True, gc=False):
    preferred_tpm: _PreferredTPM | None = field(name="preferredTPM", default=None)
    preferred_autoattach_pod_interface: bool | None = None
    preferred_video_type: str | None = None
    preferred_interface_masquerade: Any = None


class _PreferredFeatures(Wire, frozen=True, gc=False):
    preferred_hyperv: dict[str, Any] | None = None


class _PreferredMachine(Wire, frozen=True, gc=False):
    preferred_machine_type: str | None = None


class _CPURequirement(Wire, frozen=True, gc=False):
    guest: int | None = None


class _MemoryRequirement(Wire, frozen=True, gc=False):
    guest: Quantity = None


class _Requirements(Wire, frozen=True, gc=False):
    cpu: _CPURequirement | None = None
    memory: _MemoryRequirement | None = None
    architecture: str | None = None


class Preference(Wire, frozen=True):
    """What a preference sets where the VM leaves it open, and what it requires."""

    cpu: _PreferredCPU | None = None
    firmware: _PreferredFirmware | None = None
    devices: _PreferredDevices | None = None
    features: _PreferredFeatures | None = None
    machine: _PreferredMachine | None = None
    preferred_architecture: str | None = None
    preferred_launch_security: dict[str, Any] | None = None
    prefer_spread_socket_to_core_ratio: int | None = None
    requirements: _Requirements | None = None
    annotations: dict[str, Any] | None = None


def features_alone(features: list[WireCPUFeature | None] | None) -> _PreferredCPU | None:
    """The CPU's part of a preference that says nothing else of it."""
    return _PreferredCPU(preferred_cpu_features=features) if features else None


_LONGEST = 64 << 10  # characters of a spec in which is looked for what is as good as absent: more has nobody
_SHARED = 16 << 10  # characters of a text that is kept once for all: Python 3.12 never frees those
_TREE = msgspec.json.Decoder(Any)
_INSTANCETYPE = msgspec.json.Decoder(Instancetype)
_PREFERENCE = msgspec.json.Decoder(Preference)


def canonical(raw: msgspec.Raw | bytes) -> str:
    """The text of a spec, the same for specs that KubeVirt takes for equal: null, empty lists and
    zeros that KubeVirt leaves out are as good as absent, and fields have no order.

    Raises msgspec.DecodeError for what is not JSON.
    """
    return _canonical(bytes(raw))


@remembered()
def _canonical(raw: bytes) -> str:
    if raw in (b"", b"null"):
        return ""
    try:
        return _sorted(raw)
    except RecursionError:
        return _sorted(cut(raw).text)


def _sorted(raw: bytes) -> str:
    tree = _TREE.decode(raw)
    text = msgspec.json.encode(_pruned(tree) if len(raw) <= _LONGEST else tree, order="sorted").decode()
    return intern(text) if len(text) <= _SHARED else text


_ZEROS = {"overcommitPercent": 0, "preferSpreadSocketToCoreRatio": 0, "schedulerName": ""}  # as good as absent


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _pruned(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each is not None and each != [] and each != _ZEROS.get(key)}
    return [_pruned(each) for each in value] if isinstance(value, list) else value


@remembered()
def instancetype(text: str) -> Instancetype:
    """Raises ValueError, of which msgspec.DecodeError is one, where a field has another type than KubeVirt's."""
    made = _INSTANCETYPE.decode(text or "{}")
    amount(made.memory.guest)
    return made


@remembered()
def preference(text: str) -> Preference:
    """Raises ValueError, of which msgspec.DecodeError is one, where a field has another type than KubeVirt's."""
    made = _PREFERENCE.decode(text or "{}")
    if made.requirements is not None and made.requirements.memory is not None:
        amount(made.requirements.memory.guest)
    return made


@remembered()
def tree(text: str) -> Mapping[str, Any]:
    """A canonical text as maps and lists; not to be changed."""
    made = _TREE.decode(text or "{}")
    return made if isinstance(made, dict) else {}
