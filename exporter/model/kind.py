"""A kind: what is kept of it, how the API serves it, and how far one of its objects reaches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

from .record import Record

__all__ = ["ApiKind", "Kind", "Reach"]

R = TypeVar("R", bound=Record)


class Reach(Enum):
    """Whose evaluation a change of one object may alter, beyond what joins tell."""

    OWN = "its own partition"
    NAMESPACE = "every partition of its namespace"
    CLUSTER = "everything"


@dataclass(frozen=True, eq=False)
class Kind(Generic[R]):
    """What checks may read, by the type of its records."""

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

    `reduce` turns a decoded object into its record, or None where checks need nothing of it; it raises
    ValueError on content that can't be read. `versions` are in the order of preference. `optional` says that a
    healthy cluster may not serve it, and `dispensable` that it then has none of it, so that checks answer without.
    `selectors` are list and watch parameters.
    """

    group: str = ""
    versions: tuple[str, ...] = ("v1",)
    plural: str = ""
    wire: type[Any] = object
    reduce: Callable[[Any], R | None] = lambda _: None
    optional: bool = False
    dispensable: bool = False
    selectors: tuple[tuple[str, str], ...] = ()

    @property
    def resource(self) -> str:
        """The name that RBAC and `kubectl` know, such as `ipamclaims.k8s.cni.cncf.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def base(self, version: str) -> str:
        """The URL path of its group and version."""
        return f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
