"""Namespaces: whether one is being deleted."""

from __future__ import annotations

from sys import intern

from ..kind import ApiKind, Reach
from ..record import Record, Ref, Wire, WireMeta, identity

__all__ = ["KIND", "Namespace"]


class _Namespace(Wire, frozen=True, gc=False):
    metadata: WireMeta = WireMeta()


class Namespace(Record, frozen=True, gc=False):
    """A Namespace object; as a record its `namespace` is its own name, so that it is in its own partition."""

    terminating: bool

    @property
    def ref(self) -> Ref:
        return Ref("Namespace", "", self.name, self.uid)


def _reduce(wire: _Namespace) -> Namespace:
    _, name, uid, rv = identity(wire.metadata)
    return Namespace(intern(name), name, uid, rv, terminating=wire.metadata.deletion_timestamp is not None)


KIND = ApiKind(Namespace, Reach.NAMESPACE, plural="namespaces", wire=_Namespace, reduce=_reduce, namespaced=False)
Namespace.KIND = KIND
