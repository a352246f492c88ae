"""The evacuations of a node that nobody drains any more, called off as a whole on KubeVirt's own control plane."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.cluster.sidecar import steward
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.installation import NODES
from tests.kubevirt.releases import EVACUATE_CANCEL, needs
from tests.kubevirt.repairs import request_to_leave
from tests.kubevirt.stage import Stage
from tests.waiting import wait_until

HERE, LEFT, _ = NODES
GRACE = 180  # seconds: a request counts as left behind after two minutes
NAMES = ("a", "b", "c")


class Person:
    def __init__(self, kubevirt: ControlPlane, folder: Path) -> None:
        self._kubeconfig, self._folder = kubevirt.kubeconfig(), folder

    def calls_off(self, node: str, *more: str, share: float = 0.05) -> subprocess.CompletedProcess[str]:
        """`share` of all VMs may be touched within a day."""
        config = self._folder / "reconcile.yaml"
        config.write_text(json.dumps({"budgets": {"fleetShare": share}}), encoding="utf-8")
        own = ("--kubeconfig", str(self._kubeconfig), "--ledger", str(self._folder / "ledger"), "--config", str(config))
        return steward("reconcile", "clean", "--requests", node, *own, *more)


@pytest.fixture
def person(kubevirt: ControlPlane, tmp_path: Path) -> Person:
    return Person(kubevirt, tmp_path)


@needs(EVACUATE_CANCEL)
def test_all_requests_for_a_node_are_cancelled_unless_it_is_cordoned(stage: Stage, person: Person) -> None:
    with stage.only_on(HERE):
        for name in NAMES:
            stage.running(name, eviction="LiveMigrate")
    for name in NAMES:
        request_to_leave(stage, LEFT, name)

    stage.cordon(LEFT)
    refused = person.calls_off(LEFT, "--yes")
    assert refused.returncode == 1
    assert f"node {LEFT} is cordoned: a drain might wait for its VMIs to leave" in refused.stderr
    assert [stage.evacuation(name) for name in NAMES] == [LEFT] * 3
    stage.uncordon(LEFT)

    early = person.calls_off(LEFT, "--yes")
    assert early.returncode == 1
    assert "is reported after 120s" in early.stdout
    assert [stage.evacuation(name) for name in NAMES] == [LEFT] * 3

    one = wait_until(lambda: _due(person.calls_off(LEFT, "--yes")), GRACE, "the requests are due", every=5.0)
    assert one.returncode == 1
    assert "refused, budget_fleet: 1 of 3 VMs were touched within the last day" in one.stderr
    # Requests are due by when each was written: the call before may have cancelled the first of them.
    assert re.search(r"stopped; 2 of [23] are unchanged", one.stderr)
    assert sorted(stage.evacuation(name) for name in NAMES) == ["", LEFT, LEFT]

    done = person.calls_off(LEFT, "--yes", share=1.0)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("request cancelled, attempt ") == 2
    assert [stage.evacuation(name) for name in NAMES] == [""] * 3
    none = person.calls_off(LEFT, "--yes")
    assert (none.returncode, none.stdout) == (0, f"No VMI has an evacuation request for {LEFT}.\n")


def _due(ended: subprocess.CompletedProcess[str]) -> subprocess.CompletedProcess[str] | None:
    return None if "is reported after" in ended.stdout else ended


def test_a_node_that_does_not_exist_is_no_uncordoned_one(person: Person) -> None:
    refused = person.calls_off("gone", "--yes")
    assert refused.returncode == 2
    assert "node gone doesn't exist" in refused.stderr
