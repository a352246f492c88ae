"""Which namespaces there are, for what is asked of one."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...store.cluster import Cluster
from ...store.kinds.namespace import Namespace
from ...store.source import unseen
from ...views.nearest import meant, shortened
from .filters import UsageError

__all__ = ["namespaces_of", "refuse_unknown"]


def namespaces_of(cluster: Cluster, *, dump: bool = False) -> set[str] | None:
    """The names of all that there are; None where that can't be known. Those of a dump without Namespaces are those of
    its objects.
    """
    of_objects = {each for kind in cluster.kinds() for each in cluster.namespaces(kind) if each}
    if unseen(cluster, (Namespace,)):
        return of_objects if dump else None
    return of_objects | {each.name for each in cluster.all(Namespace)}


def refuse_unknown(asked: Iterable[str], known: Collection[str] | None) -> None:
    """Raises UsageError for the first that is not there."""
    for each in asked:
        if known is not None and each not in known:
            raise UsageError(f"no namespace is called {shortened(each)!r}; {meant(each, known, 'namespaces')}")
