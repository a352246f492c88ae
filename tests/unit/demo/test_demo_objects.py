"""The builders of objects refuse what no cluster can hold."""

from collections.abc import Callable
from typing import Any

import pytest

from demo.fleet import objects, pods, surroundings
from tests.all_of import each_of

EARLY, LATE = "2026-05-04T08:12:31Z", "2026-06-03T16:20:00Z"


@each_of(
    ("build", "why"),
    [
        (lambda: objects.new("Pod", "", "a"), "needs a namespace"),
        (lambda: objects.new("Node", "ns", "a"), "has no namespace"),
        (lambda: objects.vm("ns", "a", {}, deleting=LATE), "no finalizer holds it"),
        (lambda: objects.vm("ns", "a", {}, created=LATE, deleting=EARLY, finalizers=["x"]), "before"),
        (lambda: objects.vmi("ns", "a", {}), "Running on no node"),
        (lambda: objects.vmi_spec({"a": "pod", "b": "pod"}), "at most one network"),
        (lambda: objects.vmi_spec({"a": "pod", "b": "blue"}, primary=["b"]), "at most one network"),
        (lambda: objects.migration("ns", "a", "db", phase="Succeeded", failure="no"), "succeeded, and failed"),
        (lambda: pods.pod("ns", "a"), "runs on no node"),
        (lambda: pods.pod("ns", "a", node="n", phase="Pending", unschedulable="full"), "can't be scheduled"),
        (lambda: surroundings.node("a", room={}, taints=["a:Never"]), "no taint"),
        (lambda: surroundings.pdb("ns", "a", {}, min_available=1, max_unavailable=1), "minAvailable and max"),
        (lambda: surroundings.pdb("ns", "a", {}, allowed=1, healthy=2, refused="SyncFailed"), "and none"),
        (lambda: surroundings.pdb("ns", "a", {}, allowed=1), "1 healthy pods of 1"),
        (lambda: surroundings.pdb("ns", "a", {}, observed=2), "has 1"),
    ],
)
def test_a_state_that_no_cluster_can_be_in(build: Callable[[], Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        build()


def test_what_is_not_given_is_left_out() -> None:
    assert objects.vmi("ns", "a", objects.vmi_spec(), node="node01") == {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "a", "namespace": "ns"},
        "spec": {"domain": {"devices": {}}},
        "status": {"phase": "Running", "nodeName": "node01"},
    }


def test_a_pod_that_is_being_deleted_needs_no_finalizer() -> None:
    made = pods.pod("ns", "a", node="node01", deleting=LATE)
    assert made["metadata"]["deletionTimestamp"] == LATE
