"""Which nodes are meant: by name, by label, or all that are cordoned or being drained."""

from __future__ import annotations

from collections.abc import Iterable

from ...store.cluster import Cluster
from ...store.kinds.node import Node
from ...store.selector import Selector
from ..nearest import meant, shortened
from .view import draining


class NoSuchNodeError(Exception):
    """The text is one sentence."""


def chosen(cluster: Cluster, names: Iterable[str], by: Selector | None = None, *, cordoned: bool = False) -> list[str]:
    """The names of all that are meant in one way or another, each once. Raises NoSuchNodeError."""
    found = dict.fromkeys(names)
    for name in found:
        if cluster.get(Node, "", name) is None:
            raise NoSuchNodeError(_unknown(cluster, name))
    if by is not None:
        found |= dict.fromkeys(sorted(each.name for each in cluster.all(Node) if by.matches(each.labels)))
        if not found:
            raise NoSuchNodeError(f"no node has the labels {by}")
    if cordoned:
        found |= dict.fromkeys(draining(cluster))
    return list(found)


def _unknown(cluster: Cluster, name: str) -> str:
    names = (each.name for each in cluster.all(Node))
    return f"no node is called {shortened(name)!r}; {meant(name, names, 'nodes')}"
