"""Where the stand-in for a scheduler puts the pods of KubeVirt's tests."""

from __future__ import annotations

from typing import Any

import pytest

from tests.all_of import each_of
from tests.kubevirt.orders import Orders, World
from tests.kubevirt.scheduler import place
from tests.manifests import Object

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TAINT = {"key": "away", "value": "yes", "effect": "NoSchedule"}
DB = {"matchLabels": {"app": "db"}}


def node(name: str, *taints: Object, **labels: str) -> Object:
    return {"metadata": {"name": name, "labels": labels}, "spec": {"taints": list(taints)}}


def pod(labels: dict[str, str] | None = None, on: str | None = None, phase: str = "Running", **spec: Any) -> Object:
    meta = {"namespace": "e", "name": "p", "labels": labels or {}, "annotations": {"kubevirt.io/domain": "db"}}
    where = {"nodeName": on} if on else {}
    return {"metadata": meta, "spec": {**spec, **where}, "status": {"phase": phase}}


def near(operator: str, *values: str) -> Object:
    expression = {"key": "zone", "operator": operator, "values": list(values)}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}}


def named(name: str) -> Object:
    field = {"key": "metadata.name", "operator": "In", "values": [name]}
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": [field]}]}}}


def apart(**selector: Any) -> Object:
    return {"podAntiAffinity": {REQUIRED: [{"labelSelector": selector, "topologyKey": "kubernetes.io/hostname"}]}}


NODES = (node("n1", zone="a"), node("n2", zone="b"), node("n3", TAINT, disk="ssd"))


@each_of(
    ("wanted", "found"),
    [
        ({}, "n1"),
        ({"nodeSelector": {"zone": "b"}}, "n2"),
        ({"nodeSelector": {"disk": "ssd"}}, None),
        ({"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "away", "operator": "Exists"}]}, "n3"),
        ({"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "away", "value": "yes"}]}, "n3"),
        ({"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "away", "value": "no"}]}, None),
        ({"nodeSelector": {"disk": "ssd"}, "tolerations": [{"operator": "Exists"}]}, "n3"),
        ({"affinity": near("In", "b")}, "n2"),
        ({"affinity": near("NotIn", "a")}, "n2"),
        ({"affinity": near("DoesNotExist")}, None),
        ({"affinity": named("n2")}, "n2"),
    ],
)
def test_a_pod_goes_where_it_may(wanted: Object, found: str | None) -> None:
    assert place(pod(**wanted), World(NODES, (), (), Orders())) == found


@pytest.mark.parametrize(("phase", "found"), [("Running", "n2"), ("Succeeded", "n1")])
def test_a_pod_keeps_away_from_those_that_it_must_not_be_with_while_they_live(phase: str, found: str) -> None:
    there = (pod({"app": "db"}, "n1", phase), pod({"app": "web"}, "n2"), pod({"app": "web"}, "n2"))
    assert place(pod(affinity=apart(**DB)), World(NODES, there, (), Orders())) == found


def test_the_emptiest_node_is_taken_and_none_that_is_dead() -> None:
    there = (pod(on="n1"), pod(on="n1"), pod(on="n2"))
    assert place(pod(), World(NODES, there, (), Orders())) == "n2"
    assert place(pod(), World(NODES, there, (), Orders(dead={"n2"}))) == "n1"


def test_an_order_keeps_the_target_of_a_migration_from_every_node_and_no_other_pod() -> None:
    world = World(NODES, (), (), Orders(unplaced={("e", "db")}))
    assert place(pod({"kubevirt.io/migrationJobUID": "1"}), world) is None
    assert place(pod(), world) == "n1"
