"""Kinds: their record type, how the API serves them, and which partitions an object affects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from ..facts.record import Record

R = TypeVar("R", bound=Record)


class Reach(Enum):
    """The partitions that a change of one object affects, beside those that share an index key."""

    OWN = "its own partition"
    NAMESPACE = "every partition of its namespace"
    CLUSTER = "everything"


@dataclass(frozen=True, eq=False)
class Kind(Generic[R]):
    """What checks may read, identified by its record type."""

    record: type[R]
    reach: Reach = Reach.OWN

    @property
    def name(self) -> str:
        return self.record.__name__

    def __repr__(self) -> str:
        return f"Kind({self.name})"


@dataclass(frozen=True, eq=False, repr=False)
class ApiKind(Kind[R]):
    """A kind that the API server serves.

    `reduce` turns a decoded object into its record, or None if checks need nothing of it; it raises ValueError for
    undecodable content. `versions` are in order of preference. `optional`: a healthy cluster may not serve the kind.
    `dispensable`: then there are no objects of it, so checks have an answer without. `namespaced`: its objects have a
    namespace. `selectors` are list and watch parameters.
    """

    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    plural: str = ""
    wire: type[Any] = object
    reduce: Callable[[Any], R | None] = lambda _: None
    optional: bool = False
    dispensable: bool = False
    namespaced: bool = True
    selectors: tuple[tuple[str, str], ...] = ()

    @property
    def resource(self) -> str:
        """The name for RBAC and `kubectl`, such as `ipamclaims.k8s.cni.cncf.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def base(self, version: str) -> str:
        """The URL path of its group and version."""
        return f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
