"""A fresh cluster answers nothing without noting what has to be read for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from exporter.domain.features.indexes import TAKES
from exporter.domain.identity import POOL
from exporter.store.cluster import Cluster
from exporter.store.kinds.node import Node
from exporter.store.kinds.pod import Pod
from exporter.store.reader import ClusterView, Reading
from reconcile.fresh import FreshCluster
from tests.all_of import each_of
from tests.evaluation import api_kinds

ASKED: dict[str, Callable[[Cluster], Any]] = {
    "get": lambda cluster: cluster.get(Node, "", "n"),
    "all": lambda cluster: tuple(cluster.all(Node)),
    "within": lambda cluster: cluster.within(Pod, "ns"),
    "has": lambda cluster: cluster.has(Node),
    "count": lambda cluster: cluster.count(Node),
    "sharing": lambda cluster: cluster.sharing(TAKES, ""),
    "first": lambda cluster: cluster.first(TAKES, ""),
    "some": lambda cluster: cluster.some(TAKES, "", 2),
    "shared_by": lambda cluster: cluster.shared_by(TAKES, ""),
    "keys": lambda cluster: tuple(cluster.keys(TAKES)),
    "dependents": lambda cluster: cluster.dependents(POOL, "ns/pool"),
    "depending": lambda cluster: cluster.depending(POOL, "ns/pool"),
}
# What follows from what is asked besides, says which indexes and kinds there are, or writes.
OTHERS = {"derived", "keys_of", "kinds", "names", "namespaces", "put", "remove"}


def fresh() -> FreshCluster:
    return FreshCluster(api_kinds().values(), (TAKES, POOL))


@each_of("name", ASKED)
def test_what_was_not_read_is_a_need_and_not_an_absence(name: str) -> None:
    cluster = fresh()
    assert not ASKED[name](cluster)
    assert [need.kind for need in cluster.take_needs()] != []


def test_there_is_no_other_way_to_ask() -> None:
    methods = {name for name, _ in inspect.getmembers(Cluster, inspect.isfunction) if not name.startswith("_")}
    assert methods == ASKED.keys() | OTHERS


def test_a_check_that_asks_whether_there_are_two_needs_all_that_there_may_be() -> None:
    cluster = fresh()
    assert ClusterView(cluster, Reading("test", (Node.KIND,), (TAKES,))).some(TAKES, "", 2) == ()
    assert [need.kind for need in cluster.take_needs()] == ["Node"]
