"""Instancetypes and preferences, of a namespace or of the whole cluster: what all four kinds keep of an object."""

from __future__ import annotations

from sys import intern
from typing import Any

import msgspec
from msgspec import field

from ...facts import specs
from ...facts.record import Record, Wire, WireMeta, epoch, identity
from ..kind import ApiKind

_VERSIONS = ("v1", "v1beta1", "v1alpha2", "v1alpha1")


class _Labels(Wire, frozen=True, gc=False):
    deprecated: str | None = field(name="instancetype.kubevirt.io/deprecated", default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    labels: _Labels | None = None
    generation: int | None = None


class _Wire(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()
    spec: msgspec.Raw = msgspec.Raw()


class Kept(Record, frozen=True, gc=False):
    """An object by which VMs are made what they are."""

    deleting: float | None
    generation: int
    deprecated: bool
    spec: str  # canonical text (specs.py)


class Sizing(Kept, frozen=True, gc=False):
    """An instancetype."""

    @property
    def gives(self) -> specs.Instancetype:
        return specs.instancetype(self.spec)


class Tuning(Kept, frozen=True, gc=False):
    """A preference."""

    @property
    def prefers(self) -> specs.Preference:
        return specs.preference(self.spec)


def _facts(wire: _Wire) -> tuple[str, str, str, int, float | None, int, bool, str]:
    meta = wire.metadata
    return (
        *identity(meta),
        epoch(meta.deletion_timestamp),
        meta.generation or 0,
        bool(meta.labels and meta.labels.deprecated == "true"),
        specs.canonical(wire.spec),
    )


def sizing_kind(record: type[Any], plural: str, *, namespaced: bool) -> ApiKind[Any]:
    def reduce(wire: _Wire) -> Any:
        made = record(*_facts(wire))
        specs.instancetype(made.spec)  # raises where a field has another type, which makes the object undecodable
        return made

    return _kind(record, plural, reduce, namespaced)


def tuning_kind(record: type[Any], plural: str, *, namespaced: bool) -> ApiKind[Any]:
    def reduce(wire: _Wire) -> Any:
        made = record(*_facts(wire))
        specs.preference(made.spec)
        return made

    return _kind(record, plural, reduce, namespaced)


def _kind(record: type[Any], plural: str, reduce: Any, namespaced: bool) -> ApiKind[Any]:
    return ApiKind(
        record,
        group="instancetype.kubevirt.io",
        versions=_VERSIONS,
        plural=intern(plural),
        wire=_Wire,
        reduce=reduce,
        optional=True,
        namespaced=namespaced,
    )


# VirtualMachineInstancetypes: instancetypes of one namespace.


class VirtualMachineInstancetype(Sizing, frozen=True, gc=False):
    pass


INSTANCETYPE = sizing_kind(VirtualMachineInstancetype, "virtualmachineinstancetypes", namespaced=True)
VirtualMachineInstancetype.KIND = INSTANCETYPE


# VirtualMachineClusterInstancetypes: instancetypes of the whole cluster.


class VirtualMachineClusterInstancetype(Sizing, frozen=True, gc=False):
    pass


CLUSTER_INSTANCETYPE = sizing_kind(
    VirtualMachineClusterInstancetype, "virtualmachineclusterinstancetypes", namespaced=False
)
VirtualMachineClusterInstancetype.KIND = CLUSTER_INSTANCETYPE


# VirtualMachinePreferences: preferences of one namespace.


class VirtualMachinePreference(Tuning, frozen=True, gc=False):
    pass


PREFERENCE = tuning_kind(VirtualMachinePreference, "virtualmachinepreferences", namespaced=True)
VirtualMachinePreference.KIND = PREFERENCE


# VirtualMachineClusterPreferences: preferences of the whole cluster.


class VirtualMachineClusterPreference(Tuning, frozen=True, gc=False):
    pass


CLUSTER_PREFERENCE = tuning_kind(VirtualMachineClusterPreference, "virtualmachineclusterpreferences", namespaced=False)
VirtualMachineClusterPreference.KIND = CLUSTER_PREFERENCE


# The kinds of instancetypes and preferences, for what reads all of them.

INSTANCETYPES: tuple[ApiKind[Any], ...] = (INSTANCETYPE, CLUSTER_INSTANCETYPE, PREFERENCE, CLUSTER_PREFERENCE)
"""Of each the kind of one namespace, then that of the cluster."""

CLUSTER_WIDE = INSTANCETYPES[1::2]
RESOURCES = {kind.name: kind.resource for kind in INSTANCETYPES}


# VirtualMachineInstancePresets: the deprecated way to fill in VMIs by their labels.


class _Preset(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()


class VirtualMachineInstancePreset(Record, frozen=True, gc=False):
    pass


def _reduce(wire: _Preset) -> VirtualMachineInstancePreset:
    return VirtualMachineInstancePreset(*identity(wire.metadata))


KIND = ApiKind(
    VirtualMachineInstancePreset,
    group="kubevirt.io",
    versions=("v1", "v1alpha3"),
    plural="virtualmachineinstancepresets",
    wire=_Preset,
    reduce=_reduce,
    optional=True,
    dispensable=True,
)
VirtualMachineInstancePreset.KIND = KIND
