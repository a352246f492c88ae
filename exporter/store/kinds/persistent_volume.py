"""PersistentVolumes: from which nodes what a PersistentVolumeClaim is bound to can be used.

One that can be used from every node has no record, nor has one that is bound to nothing.
"""

from __future__ import annotations

from ...facts.placement import Placement, WireNodeTerm, placed_by
from ...facts.record import Record, Wire, WireMeta, identity
from ..kind import ApiKind, Reach


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


def _reduce(wire: _PersistentVolume) -> PersistentVolume | None:
    spec = wire.spec or _Spec()
    claim, affinity = spec.claim_ref, spec.node_affinity
    terms = affinity.required.node_selector_terms if affinity is not None and affinity.required is not None else None
    if claim is None or not claim.name or not terms:
        return None
    return PersistentVolume(
        *identity(wire.metadata), pvc=f"{claim.namespace or ''}/{claim.name}", placement=placed_by(terms)
    )


KIND = ApiKind(
    PersistentVolume,
    Reach.CLUSTER,
    plural="persistentvolumes",
    wire=_PersistentVolume,
    reduce=_reduce,
    namespaced=False,
)
PersistentVolume.KIND = KIND
