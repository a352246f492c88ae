"""Fixtures of tests against KubeVirt's own control plane: one for all tests, a namespace for each.

Without the binaries they fail, with what to install, as those of tests/cluster do. They skip only where the VM
allows no network namespace.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import Tools, binary
from tests.cluster.exporter import STEADY, Exporter, grant
from tests.kubevirt.control_plane import ControlPlane
from tests.kubevirt.network import why_not
from tests.kubevirt.settings import Settings, settings_of
from tests.kubevirt.stage import Stage
from tests.marking import mark

__all__ = ["binary"]

HERE = Path(__file__).parent

MakeStage = Callable[[], Stage]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark(items, HERE, pytest.mark.kubevirt, why_not)
    items.sort(key=lambda item: item.path != HERE / "test_quiet.py")  # takes ten minutes: the others run alongside


@pytest.fixture(scope="session")
def kubevirt(binary: Tools) -> Iterator[ControlPlane]:
    """One for all tests, with KubeVirt deployed."""
    control_plane = ControlPlane(binary)
    try:
        control_plane.start()
        yield control_plane
    finally:
        control_plane.stop()


@pytest.fixture
def make_stage(kubevirt: ControlPlane) -> Iterator[MakeStage]:
    """`make_stage()`: a new namespace, and what a test does there; cleared at the end."""
    with contextlib.ExitStack() as ends:

        def make() -> Stage:
            name = f"test-{uuid.uuid4().hex[:10]}"
            kubevirt.admin.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
            stage = Stage(kubevirt, name)
            ends.callback(stage.clear)
            return stage

        yield make


@pytest.fixture
def stage(make_stage: MakeStage) -> Stage:
    return make_stage()


@pytest.fixture
def settings(kubevirt: ControlPlane) -> Iterator[Settings]:
    """Of the KubeVirt object; those of before come back at the end."""
    with settings_of(kubevirt.admin) as changed:
        yield changed


@pytest.fixture(scope="module")
def exporter(kubevirt: ControlPlane) -> Iterator[Exporter]:
    """One that reports at once what others wait with."""
    grant(kubevirt.admin)
    with Exporter(kubevirt.kubeconfig("steward-exporter"), STEADY, graces=0) as running:
        yield running.wait_ready()


@pytest.fixture(scope="module")
def patient(kubevirt: ControlPlane) -> Iterator[Exporter]:
    """One that waits as long as those of users do."""
    grant(kubevirt.admin)
    with Exporter(kubevirt.kubeconfig("steward-exporter"), STEADY) as running:
        yield running.wait_ready()
