"""StorageClasses: which there are, and which is the default."""

from __future__ import annotations

from msgspec import field

from ...facts.record import Record, Wire, WireMeta, identity
from ..kind import ApiKind, Reach


class _Annotations(Wire, frozen=True, gc=False):
    default: str | None = field(name="storageclass.kubernetes.io/is-default-class", default=None)
    default_for_vms: str | None = field(name="storageclass.kubevirt.io/is-default-virt-class", default=None)


class _Meta(WireMeta, frozen=True, gc=False):
    annotations: _Annotations | None = None


class _StorageClass(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()


class StorageClass(Record, frozen=True, gc=False):
    """A cluster-wide object: its namespace is empty."""

    default: bool  # for VMs or for all


def _reduce(wire: _StorageClass) -> StorageClass:
    notes = wire.metadata.annotations or _Annotations()
    return StorageClass(*identity(wire.metadata), default="true" in (notes.default, notes.default_for_vms))


KIND = ApiKind(
    StorageClass,
    Reach.CLUSTER,
    group="storage.k8s.io",
    plural="storageclasses",
    wire=_StorageClass,
    reduce=_reduce,
    namespaced=False,
)
StorageClass.KIND = KIND
