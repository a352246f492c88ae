"""The scheduler's message, taken apart."""

from __future__ import annotations

import pytest

from exporter.domain.drains.departure.hanging import hindrance, ruled_out

# As Kubernetes 1.30 to 1.36 write it.
MESSAGES = {
    "0/5 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 4 Insufficient memory. preemption: 0/5"
    " nodes are available: 5 No preemption victims found for incoming pod.": ("Resource", "memory", 4),
    "0/3 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 2 node(s)"
    " didn't match Pod's node affinity/selector. no new claims to deallocate, preemption: 0/3 nodes are available: 3"
    " Preemption is not helpful for scheduling.": ("Selector", "", 2),
    "0/4 nodes are available: 1 node(s) were unschedulable, 3 Insufficient nvidia.com/GA102.": (
        "Device",
        "nvidia.com/GA102",
        3,
    ),
    "0/3 nodes are available: 1 node(s) were unschedulable, 2 node(s) had volume node affinity conflict.": (
        "Volume",
        "",
        2,
    ),
    "0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.": ("AntiAffinity", "", 2),
    "0/3 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 2 node(s) didn't match pod topology"
    " spread constraints.": ("Spread", "", 2),
    "0/3 nodes are available: 3 node(s) were unschedulable.": ("Cordoned", "", 2),
    "0/2 nodes are available: 1 node(s) didn't match pod anti-affinity rules, 1 Insufficient hugepages-2Mi.": (
        "Resource",
        "hugepages-2Mi",
        1,
    ),
    "0/2 nodes are available: 2 something that nobody knows.": ("Other", "", 2),
}


@pytest.mark.parametrize(("message", "first"), MESSAGES.items(), ids=str)
def test_what_rules_out_most(message: str, first: tuple[str, str, int]) -> None:
    found = hindrance(message)
    assert found is not None
    assert (found.kind, found.lacking, found.nodes) == first


def test_each_condition_with_its_nodes() -> None:
    message = next(iter(MESSAGES))
    assert [tuple(each) for each in ruled_out(message)] == [
        (4, "Insufficient memory"),
        (1, "node(s) didn't match pod anti-affinity rules"),
    ]


@pytest.mark.parametrize(
    "message", ["", "no nodes available to schedule pods", "0/1 nodes", "0/1 nodes are available: x"]
)
def test_another_form_says_nothing(message: str) -> None:
    assert ruled_out(message) == ()
    assert hindrance(message) is None


def test_only_the_source_is_in_the_way() -> None:
    assert hindrance("0/1 nodes are available: 1 node(s) didn't match pod anti-affinity rules.") is None
