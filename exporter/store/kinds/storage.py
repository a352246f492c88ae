"""StorageClasses: which there are, and which is the default."""

from __future__ import annotations

from msgspec import field

from ...facts.placement import Placement, WireNodeTerm, placed_by
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


def _storage_class(wire: _StorageClass) -> StorageClass:
    notes = wire.metadata.annotations or _Annotations()
    return StorageClass(*identity(wire.metadata), default="true" in (notes.default, notes.default_for_vms))


STORAGE_CLASS = ApiKind(
    StorageClass,
    Reach.CLUSTER,
    group="storage.k8s.io",
    plural="storageclasses",
    wire=_StorageClass,
    reduce=_storage_class,
    namespaced=False,
)
StorageClass.KIND = STORAGE_CLASS


# PersistentVolumes: from which nodes what a PersistentVolumeClaim is bound to can be used.
#
# One that can be used from every node has no record, nor has one that is bound to nothing.


class _Claim(Wire, frozen=True, gc=False):
    namespace: str | None = None
    name: str | None = None


class _Required(Wire, frozen=True, gc=False):
    node_selector_terms: list[WireNodeTerm | None] | None = None


class _NodeAffinity(Wire, frozen=True, gc=False):
    required: _Required | None = None


class _Spec(Wire, frozen=True, gc=False):
    claim_ref: _Claim | None = None
    node_affinity: _NodeAffinity | None = None


class _PersistentVolume(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()
    spec: _Spec | None = None


class PersistentVolume(Record, frozen=True, gc=False):
    """A cluster-wide object: its namespace is empty."""

    pvc: str  # `namespace/name` of the PersistentVolumeClaim that it is bound to
    placement: Placement  # where it can be used; volumes with the same share one


def _persistent_volume(wire: _PersistentVolume) -> PersistentVolume | None:
    spec = wire.spec or _Spec()
    claim, affinity = spec.claim_ref, spec.node_affinity
    terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else None
    if claim is None or not claim.name or not terms:
        return None
    return PersistentVolume(
        *identity(wire.metadata), pvc=f"{claim.namespace or ''}/{claim.name}", placement=placed_by(terms)
    )


PERSISTENT_VOLUME = ApiKind(
    PersistentVolume,
    Reach.CLUSTER,
    plural="persistentvolumes",
    wire=_PersistentVolume,
    reduce=_persistent_volume,
    namespaced=False,
)
PersistentVolume.KIND = PERSISTENT_VOLUME
