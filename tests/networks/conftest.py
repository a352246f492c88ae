"""Fixtures of tests against the controllers of networks: both for all tests, a namespace for each.

They skip where the controllers' programs were not built: see binaries.py. Without etcd and kube-apiserver they fail, as
those of tests/cluster do.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import Tools, binary
from tests.cluster.exporter import STEADY, Exporter, grant
from tests.marking import mark
from tests.networks.binaries import why_not
from tests.networks.control_plane import ControlPlane
from tests.networks.findings import Findings
from tests.networks.stage import Stage

__all__ = ["binary"]

HERE = Path(__file__).parent

MakeStage = Callable[[], Stage]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark(items, HERE, pytest.mark.networks, why_not)


@pytest.fixture(scope="session")
def shared_plane(binary: Tools) -> Iterator[ControlPlane]:
    plane = ControlPlane(binary)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


@pytest.fixture
def plane(shared_plane: ControlPlane) -> ControlPlane:
    """One for all tests, with both controllers running, whatever the test before did to them."""
    shared_plane.heal()
    return shared_plane


@pytest.fixture
def make_stage(plane: ControlPlane) -> Iterator[MakeStage]:
    """`make_stage()`: a new namespace, and what happens there; cleared at the end."""
    with contextlib.ExitStack() as ends:

        def make(**labels: str) -> Stage:
            name = f"test-{uuid.uuid4().hex[:10]}"
            meta = {"name": name, "labels": labels}
            plane.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
            stage = Stage(plane, name)
            ends.callback(stage.clear)
            return stage

        yield make


@pytest.fixture
def stage(make_stage: MakeStage) -> Stage:
    return make_stage()


@pytest.fixture(scope="session")
def eager(shared_plane: ControlPlane) -> Iterator[Exporter]:
    """An exporter that reports at once what others wait with."""
    grant(shared_plane.admin)
    with Exporter(shared_plane.server.kubeconfig("steward-exporter"), STEADY, graces=0) as running:
        yield running.wait_ready()


@pytest.fixture(scope="session")
def patient(shared_plane: ControlPlane) -> Iterator[Exporter]:
    """An exporter with the graces of the product."""
    grant(shared_plane.admin)
    with Exporter(shared_plane.server.kubeconfig("steward-exporter"), STEADY) as running:
        yield running.wait_ready()


@pytest.fixture
def findings(eager: Exporter, stage: Stage) -> Findings:
    """What is found of the stage, without graces."""
    return Findings(eager, stage.namespace)
