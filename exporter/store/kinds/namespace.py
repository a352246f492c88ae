"""Namespaces: whether one is being deleted, and which networks it asks for by its labels."""

from __future__ import annotations

from sys import intern

from ...facts.record import Record, Ref, Wire, WireMeta, identity
from ..kind import ApiKind, Reach

PRIMARY = "k8s.ovn.org/primary-user-defined-network"
"""The label, of any value, without which a namespace gets no primary network; it can't be added later."""


class _Meta(WireMeta, frozen=True, gc=False):
    labels: dict[str, str | None] | None = None


class _Namespace(Wire, frozen=True, gc=False):
    metadata: _Meta = _Meta()


class Namespace(Record, frozen=True, gc=False):
    """A Namespace object; as a record its `namespace` is its own name, so that it is in its own partition."""

    terminating: bool
    label_pairs: tuple[tuple[str, str], ...]

    @property
    def labels(self) -> dict[str, str]:
        return dict(self.label_pairs)

    @property
    def wants_primary(self) -> bool:
        """Whether OVN-Kubernetes gives its pods a primary network of the namespace, or else none at all."""
        return any(key == PRIMARY for key, _ in self.label_pairs)

    @property
    def ref(self) -> Ref:
        return Ref("Namespace", "", self.name, self.uid)


def _reduce(wire: _Namespace) -> Namespace:
    _, name, uid, rv = identity(wire.metadata)
    pairs = tuple((intern(key), intern(value or "")) for key, value in sorted((wire.metadata.labels or {}).items()))
    terminating = wire.metadata.deletion_timestamp is not None
    return Namespace(intern(name), name, uid, rv, terminating=terminating, label_pairs=pairs)


KIND = ApiKind(Namespace, Reach.NAMESPACE, plural="namespaces", wire=_Namespace, reduce=_reduce, namespaced=False)
Namespace.KIND = KIND
