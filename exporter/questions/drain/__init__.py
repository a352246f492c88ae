"""Preview of a drain: the departure of each VM on the nodes, and which other nodes have room for it.

Pure: nothing is evicted and nothing is written. Whether a VM leaves is evaluated by `model/departure` alone.
"""

from __future__ import annotations

from collections.abc import Generator

from ...engine.engine import Engine
from ...facts.selector import selector_in
from ...store.cluster import Cluster
from ...store.kinds.node import Node
from ...store.source import Source
from ..asked import DrainQuery
from ..question import Question, UnaskableError
from .probing import probed, unsafe, unsettled
from .report import LEAVES, STAYS, TITLES, Drain, NodeReport, VMReport, exit_code
from .view import CHECK, INDEXES, KINDS, READER, chosen_nodes, draining, node_names, steps

__all__ = [
    "CHECK",
    "INDEXES",
    "KINDS",
    "LEAVES",
    "QUESTION",
    "READER",
    "STAYS",
    "TITLES",
    "Drain",
    "NodeReport",
    "VMReport",
    "chosen_nodes",
    "draining",
    "exit_code",
    "node_names",
    "nodes_seen",
    "probed",
    "steps",
    "unsafe",
    "unsettled",
]


def nodes_seen(cluster: Cluster) -> bool:
    source = cluster.get(Source, "", Node.__name__)
    return source is not None and source.readable


def _answered(engine: Engine, _: None, asked: DrainQuery) -> Generator[None, None, Drain]:
    """Where the nodes can't be seen, none is missing: the answer says that."""
    try:
        by = selector_in(asked.selector) if asked.selector else None
    except ValueError as error:
        raise UnaskableError(str(error)) from error
    cluster, wanted = engine.cluster, list[str]()
    if nodes_seen(cluster):
        wanted = chosen_nodes(cluster, asked.node, by, cordoned=asked.all_cordoned or not any(asked))
    return (yield from steps(cluster, wanted, list(engine.findings()), engine.generation))


QUESTION = Question("drain", DrainQuery, Drain, _answered, READER)
