"""Which nodes are meant: by name, by label, or all that are cordoned or being drained."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...store.cluster import Cluster
from ...store.kinds.node import Node
from ...store.selector import Requirement, Selector
from ..nearest import meant, shortened
from .view import draining

__all__ = ["NoSuchNodeError", "chosen", "selector"]

_TERM = re.compile(r"(!?)([A-Za-z0-9][A-Za-z0-9._/-]*)(?:(==|=|!=)([A-Za-z0-9._-]*))?")


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


def selector(text: str) -> Selector:
    """From `key=value,other!=value,key,!key`, as kubectl has it. Raises ValueError for text that is none."""
    return Selector(tuple(_requirement(each.strip(), text) for each in text.split(",")))


def _requirement(term: str, text: str) -> Requirement:
    match = _TERM.fullmatch(term)
    if match is None or (match[1] and match[3]):
        raise ValueError(f"{text!r} is no selector; write it as zone=a,!gpu")
    if match[3]:
        return Requirement(match[2], "NotIn" if match[3] == "!=" else "In", (match[4],))
    return Requirement(match[2], "DoesNotExist" if match[1] else "Exists")
